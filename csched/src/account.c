#include "account.h"

#include <stdlib.h>
#include <string.h>

#include "blob.h"
#include "internal.h"
#include "pages.h"
#include "growth.h"

enum { TICKET_SERIAL = 32, MOVED_MOST = 1 << 20 /* functions whose bytes are counted */ };

static uint32_t serial_of(uint64_t ticket)
{
    return (uint32_t)(ticket >> TICKET_SERIAL);
}

void accounts_close(accounts_t *accounts)
{
    for (uint32_t i = 0; i < accounts->page_count; i++)
        free(accounts->waiting[i]);
    free(accounts->waiting);
    pages_close(accounts->ended, CHAINS_ENDED * sizeof *accounts->ended);
    free(accounts->moved);
    free(accounts->runs);
    *accounts = (accounts_t){0};
}

int account_open(accounts_t *accounts, uint32_t run)
{
    if (run >= accounts->run_count) {
        account_t *grown = rows_grow(accounts->runs, accounts->run_count, run + 1, sizeof *grown);
        if (!grown)
            return CSCHED_ENOMEM;
        accounts->runs = grown;
        memset(grown + accounts->run_count, 0, (run + 1 - accounts->run_count) * sizeof *grown);
        accounts->run_count = run + 1;
    }
    accounts->runs[run] = (account_t){0};
    return CSCHED_OK;
}

/* -- capacity */

static uint64_t capacity_at(const accounts_t *accounts, uint64_t time)
{
    return accounts->capacity + (time > accounts->since ? (time - accounts->since) * accounts->ready : 0);
}

void account_worker(accounts_t *accounts, int change, uint64_t now)
{
    accounts->capacity = capacity_at(accounts, now);
    accounts->since = now > accounts->since ? now : accounts->since;
    accounts->ready += (uint32_t)change;
    accounts->changes[accounts->changed++ % CHANGES_KEPT] = (csched_workers_t){accounts->since, accounts->ready, 0};
}

uint32_t account_changes(const accounts_t *accounts, uint64_t since, csched_workers_t *changes)
{
    uint64_t number = accounts->changed, oldest = number > CHANGES_KEPT ? number - CHANGES_KEPT : 0;
    uint32_t count = 0;
    while (number > oldest && accounts->changes[(number - 1) % CHANGES_KEPT].at > since)
        number--;
    if (number > oldest)
        number--; /* the one before */
    else if (oldest)
        return 0;
    else
        changes[count++] = (csched_workers_t){since, 0, 0};
    for (; number < accounts->changed; number++)
        changes[count++] = accounts->changes[number % CHANGES_KEPT];
    return count;
}

/* -- tasks */

static void begin(const accounts_t *accounts, account_t *account, const task_t *task)
{
    *account = (account_t){.sums = {.began = task->submitted, .ended = task->submitted},
                           .capacity_before = capacity_at(accounts, task->submitted),
                           .spent_before = accounts->spent};
}

void account_submitted(accounts_t *accounts, const task_t *task)
{
    if (accounts->begins || !accounts->number) {
        accounts->begins = false;
        accounts->number++;
        accounts->serial = serial_of(task->ticket);
        begin(accounts, &accounts->work, task);
    }
    if (task->run < accounts->run_count && !accounts->runs[task->run].sums.began)
        begin(accounts, &accounts->runs[task->run], task);
}

typedef struct { /* what a worker did with a task */
    uint64_t busy, handling, wasted; /* nanoseconds */
    uint64_t ended;
} share_t;

static void add_share(const accounts_t *accounts, account_t *account, const share_t *share, const task_t *task)
{
    csched_account_t *sums = &account->sums;
    sums->busy += share->busy;
    sums->handling += share->handling;
    sums->wasted += share->wasted;
    sums->tasks += task->count;
    sums->chunks += task->count > 1 ? task->count : 0;
    sums->asked += task->flags & FLAG_DEMANDS ? task->count : 0;
    if (share->busy > sums->longest) {
        sums->longest = share->busy;
        sums->longest_ticket = task->ticket;
    }
    if (share->ended > sums->ended) {
        sums->ended = share->ended;
        sums->capacity = capacity_at(accounts, share->ended) - account->capacity_before;
    }
    sums->others = accounts->spent - account->spent_before; /* its own part is taken off when it is read */
}

static void add_everywhere(accounts_t *accounts, const share_t *share, const task_t *task)
{
    accounts->spent += share->busy + share->handling;
    add_share(accounts, &accounts->work, share, task);
    if (task->run < accounts->run_count)
        add_share(accounts, &accounts->runs[task->run], share, task);
}

/* -- bytes */

static moved_t *moved_by(accounts_t *accounts, uint32_t function)
{
    if (function >= accounts->moved_count) {
        uint32_t count = function + function / 2 + 16;
        moved_t *grown = function < MOVED_MOST ? realloc(accounts->moved, count * sizeof *grown) : NULL;
        if (!grown)
            return NULL; /* without memory nothing is told of this function */
        memset(grown + accounts->moved_count, 0, (count - accounts->moved_count) * sizeof *grown);
        accounts->moved = grown;
        accounts->moved_count = count;
    }
    moved_t *moved = &accounts->moved[function];
    if (moved->number != accounts->number)
        *moved = (moved_t){.number = accounts->number};
    return moved;
}

static void add_moved(accounts_t *accounts, uint32_t run, uint32_t function, uint64_t sent, uint64_t received)
{
    moved_t *moved = moved_by(accounts, function);
    if (moved) {
        moved->sent += sent;
        moved->received += received;
    }
    csched_account_t *sums[] = {&accounts->work.sums, run < accounts->run_count ? &accounts->runs[run].sums : NULL};
    for (uint32_t i = 0; i < 2 && sums[i]; i++) {
        sums[i]->sent += sent;
        sums[i]->received += received;
    }
}

static void note_worker(const accounts_t *accounts, worker_time_t *worker, uint64_t first, uint64_t last)
{
    if (worker->number != accounts->number)
        *worker = (worker_time_t){.number = accounts->number, .first = first};
    worker->last = last;
}

/* -- chains */

static chain_t *waiting_at(const accounts_t *accounts, uint64_t ticket)
{
    uint32_t slot = ticket_slot(ticket), page = slot / TABLE_PAGE;
    if (page >= accounts->page_count || !accounts->waiting[page])
        return NULL;
    return &accounts->waiting[page][slot % TABLE_PAGE];
}

/* The chain of a task that waits for inputs, empty at first; NULL: no memory. */
static chain_t *waiting_for(accounts_t *accounts, const task_t *task)
{
    uint32_t page = ticket_slot(task->ticket) / TABLE_PAGE;
    if (page >= accounts->page_count) {
        chain_t **grown = realloc(accounts->waiting, (page + 1) * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + accounts->page_count, 0, (page + 1 - accounts->page_count) * sizeof *grown);
        accounts->waiting = grown;
        accounts->page_count = page + 1;
    }
    if (!accounts->waiting[page] && !(accounts->waiting[page] = calloc(TABLE_PAGE, sizeof(chain_t))))
        return NULL;
    chain_t *chain = waiting_at(accounts, task->ticket);
    if (chain->ticket != task->ticket)
        *chain = (chain_t){.ticket = task->ticket, .function = task->function, .run = task->run};
    return chain;
}

static chain_t *ended_at(const accounts_t *accounts, uint64_t ticket)
{
    chain_t *chain = accounts->ended ? &accounts->ended[serial_of(ticket) % CHAINS_ENDED] : NULL;
    return chain && chain->ticket == ticket ? chain : NULL;
}

/* Whether it was submitted in the present piece of work; serial numbers have 31 bits and begin again. */
static bool of_this_work(const accounts_t *accounts, uint64_t ticket)
{
    return ((serial_of(ticket) - accounts->serial) & INT32_MAX) < INT32_MAX / 2;
}

/* The chain of a task goes on from that of an input, if it is the longest so far. */
static void follow(chain_t *chain, const chain_t *input)
{
    if (input->ns > chain->ns) {
        chain->ns = input->ns;
        chain->tasks = input->tasks;
        chain->before = input->ticket;
    }
    if (input->run == chain->run && input->run_ns > chain->run_ns) {
        chain->run_ns = input->run_ns;
        chain->run_tasks = input->run_tasks;
    }
}

static void note_gap(accounts_t *accounts, uint32_t run)
{
    accounts->work.sums.partial = 1;
    if (run < accounts->run_count)
        accounts->runs[run].sums.partial = 1;
}

void account_input(accounts_t *accounts, const task_t *task, uint64_t from)
{
    if (!of_this_work(accounts, from))
        return;
    const chain_t *input = ended_at(accounts, from);
    chain_t *chain = input ? waiting_for(accounts, task) : NULL;
    if (chain)
        follow(chain, input);
    else
        note_gap(accounts, task->run);
}

static void lengthen(csched_account_t *sums, uint64_t ns, uint32_t tasks, uint64_t ticket)
{
    if (ns <= sums->span)
        return;
    sums->span = ns;
    sums->span_tasks = tasks;
    sums->span_ticket = ticket;
}

static void tell_chain(accounts_t *accounts, const chain_t *chain)
{
    lengthen(&accounts->work.sums, chain->ns, chain->tasks, chain->ticket);
    if (chain->run < accounts->run_count)
        lengthen(&accounts->runs[chain->run].sums, chain->run_ns, chain->run_tasks, chain->ticket);
}

static void add_own(chain_t *chain, uint64_t ran)
{
    chain->ran = ran;
    chain->ns += ran;
    chain->run_ns += ran;
    chain->tasks++;
    chain->run_tasks++;
}

static void end_chain(accounts_t *accounts, const task_t *task, uint64_t ran)
{
    if (!accounts->ended && !(accounts->ended = pages_open(CHAINS_ENDED * sizeof *accounts->ended)))
        return; /* without memory no chain is known, only the longest task */
    const chain_t *inputs = waiting_at(accounts, task->ticket);
    chain_t *chain = &accounts->ended[serial_of(task->ticket) % CHAINS_ENDED];
    if (inputs && inputs->ticket == task->ticket)
        *chain = *inputs;
    else
        *chain = (chain_t){.ticket = task->ticket, .function = task->function, .run = task->run};
    add_own(chain, ran);
    tell_chain(accounts, chain);
}

void account_late_input(accounts_t *accounts, const task_t *task, uint64_t ticket, uint64_t from)
{
    if (task && task->state != TASK_DONE) {
        account_input(accounts, task, from);
        return;
    }
    if (!of_this_work(accounts, from))
        return;
    const chain_t *input = ended_at(accounts, from);
    chain_t *chain = ended_at(accounts, ticket);
    if (!input || !chain) {
        note_gap(accounts, chain ? chain->run : UINT32_MAX);
        return;
    }
    chain->ns -= chain->ran;
    chain->run_ns -= chain->ran;
    chain->tasks--;
    chain->run_tasks--;
    follow(chain, input);
    add_own(chain, chain->ran);
    tell_chain(accounts, chain);
}

void account_ended(accounts_t *accounts, const task_t *task, const result_entry_t *entry, worker_time_t *worker)
{
    const share_t share = {.busy = ns_between(entry->started, entry->finished),
                           .handling = ns_between(entry->received, entry->started) +
                                       ns_between(entry->finished, entry->returned),
                           .ended = entry->returned};
    note_worker(accounts, worker, entry->received, entry->returned);
    end_chain(accounts, task, share.busy);
    add_everywhere(accounts, &share, task);
    add_moved(accounts, task->run, task->function, task->payload ? task->payload->size : 0,
              entry->payload.region == REGION_NONE ? 0 : entry->payload.size);
}

void account_wasted(accounts_t *accounts, const task_t *task, uint64_t received, uint64_t ended, worker_time_t *worker)
{
    uint64_t ran = received ? ns_between(received, ended) : 0;
    const share_t share = {.busy = ran, .wasted = ran, .ended = ended};
    if (received)
        note_worker(accounts, worker, received, ended);
    add_everywhere(accounts, &share, task);
}

void account_element_wasted(accounts_t *accounts, const task_t *task, uint64_t ran)
{
    if (of_this_work(accounts, task->ticket))
        accounts->work.sums.wasted += ran;
    if (task->run < accounts->run_count)
        accounts->runs[task->run].sums.wasted += ran;
}

/* -- for views */

CSCHED_EXPORT int csched_account_begin(csched_t *s)
{
    pthread_mutex_lock(&s->lock);
    if (!u64_relaxed(&s->outstanding))
        s->accounts.begins = true;
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}

/* Idle time of the workers before their first task and after their last. A worker that came later waited less. */
static void add_ends(const csched_t *s, csched_account_t *sums)
{
    for (uint32_t i = 0; i < s->worker_count; i++) {
        const worker_t *worker = s->workers[i];
        if (worker->state != WORKER_READY)
            continue;
        uint64_t from = worker->ready_at > sums->began ? worker->ready_at : sums->began;
        if (worker->time.number != s->accounts.number) {
            sums->unused += ns_between(from, sums->ended);
            continue;
        }
        sums->head += ns_between(from, worker->time.first);
        sums->tail += ns_between(worker->time.last, sums->ended);
    }
}

CSCHED_EXPORT int csched_account(csched_t *s, int64_t run, csched_account_t *account)
{
    pthread_mutex_lock(&s->lock);
    accounts_t *accounts = &s->accounts;
    int rc = run == CSCHED_EVERY_RUN || (run >= 0 && run < accounts->run_count) ? CSCHED_OK : CSCHED_EINVAL;
    if (!rc) {
        *account = run == CSCHED_EVERY_RUN ? accounts->work.sums : accounts->runs[run].sums;
        account->others = ns_between(account->busy + account->handling, account->others);
        if (run == CSCHED_EVERY_RUN)
            add_ends(s, account);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int csched_account_moved(csched_t *s, uint32_t function, uint64_t *sent, uint64_t *received)
{
    pthread_mutex_lock(&s->lock);
    const accounts_t *accounts = &s->accounts;
    const moved_t *moved = function < accounts->moved_count ? &accounts->moved[function] : NULL;
    bool known = moved && moved->number == accounts->number;
    *sent = known ? moved->sent : 0;
    *received = known ? moved->received : 0;
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_account_add(csched_t *s, uint32_t run, uint32_t function, uint64_t sent, uint64_t received)
{
    pthread_mutex_lock(&s->lock);
    add_moved(&s->accounts, run, function, sent, received);
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_account_chain(csched_t *s, uint64_t ticket, uint32_t most, uint64_t *tickets,
                                       uint32_t *functions)
{
    uint32_t n = 0;
    pthread_mutex_lock(&s->lock);
    const chain_t *chain = ended_at(&s->accounts, ticket);
    for (; chain && n < most; n++) {
        tickets[n] = chain->ticket;
        functions[n] = chain->function;
        chain = chain->before ? ended_at(&s->accounts, chain->before) : NULL;
    }
    pthread_mutex_unlock(&s->lock);
    return (int)n;
}
