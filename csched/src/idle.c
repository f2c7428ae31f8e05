/* Why workers were idle: the attempts of a piece of work, followed from stage to stage in the order of time.  At each moment
 * the idle workers are given, one each, to what kept them so: first to tasks that were on their way, then to those that
 * had to wait for resources or a pause, those queued behind others, those that waited for inputs, those not submitted yet;
 * the rest was for want of tasks. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "pages.h"

enum { A_LOCK = 4096, NOT_SUBMITTED = 0, PACKED, WAITS, READY, SENT, RUNS, OVER, STATES };

typedef struct {
    uint64_t at;
    uint32_t worker;
    uint16_t state; /* the one that it comes to */
    uint8_t fresh; /* it was in no state before */
    uint8_t held;
} change_t;

typedef struct {
    uint32_t sent, running; /* attempts in its queue, and those that it runs */
    bool known; /* it had a task */
} queued_t;

typedef struct {
    uint64_t of_state[STATES]; /* attempts */
    uint64_t held; /* of those that are ready */
    queued_t *queues; /* of the workers */
    uint64_t running; /* workers that run one */
    uint64_t to_come; /* workers that run none, and have one in their queue */
    uint64_t behind; /* attempts in the queues of workers that run one */
    uint64_t known; /* workers that have a task at some time */
    uint64_t workers; /* that are there */
} moment_t;

typedef struct { /* the time that is left to be added up */
    uint64_t now, ended;
    const csched_workers_t *workers; /* the next change of their number */
    uint32_t changes;
} span_t;

static int earlier(const void *first, const void *second)
{
    const change_t *a = first, *b = second;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->state != b->state ? a->state - b->state : (a->worker > b->worker) - (a->worker < b->worker);
}

/* Returns the end of what it wrote: a change to each state, or to those after `ready` of a later attempt. */
static change_t *add_changes(change_t *change, const csched_spell_t *spell)
{
    const uint64_t times[] = {spell->packed,     spell->submitted, spell->ready,
                              spell->dispatched, spell->received,  spell->returned};
    uint64_t at = 0;
    for (uint16_t state = spell->again ? READY : PACKED; state <= OVER; state++) {
        uint64_t time = times[state - PACKED];
        at = time > at ? time : at; /* the clock of a worker elsewhere is estimated */
        *change++ = (change_t){.at = at,
                               .worker = spell->worker,
                               .state = state,
                               .fresh = spell->again && state == READY,
                               .held = spell->held != 0};
    }
    return change;
}

/* Adds a worker to the sums, or takes it out. */
static void account_queue(moment_t *m, const queued_t *queue, uint64_t sign)
{
    if (queue->running) {
        m->running += sign;
        m->behind += sign * queue->sent;
    } else if (queue->sent) {
        m->to_come += sign;
    }
}

static void apply(moment_t *m, const change_t *change)
{
    m->of_state[change->state - 1] -= !change->fresh;
    m->of_state[change->state]++;
    m->held += (uint64_t)(change->held && change->state == READY) - (change->held && change->state == SENT);
    if (change->state <= READY)
        return;
    queued_t *queue = &m->queues[change->worker];
    account_queue(m, queue, UINT64_MAX);
    queue->sent += (uint32_t)(change->state == SENT) - (change->state == RUNS);
    queue->running += (uint32_t)(change->state == RUNS) - (change->state == OVER);
    account_queue(m, queue, 1);
}

/* Takes at most `most` of the idle workers. */
static uint64_t take(uint64_t *idle, uint64_t most)
{
    uint64_t taken = *idle < most ? *idle : most;
    *idle -= taken;
    return taken;
}

static void add_idle(const moment_t *m, uint64_t time, uint64_t *sums)
{
    uint64_t rest = m->workers > m->running ? m->workers - m->running : 0;
    sums[CSCHED_IDLE_DELIVERY] += time * take(&rest, m->to_come + m->of_state[READY] - m->held);
    sums[CSCHED_IDLE_HELD] += time * take(&rest, m->held);
    sums[CSCHED_IDLE_IMBALANCE] += time * take(&rest, m->behind);
    sums[CSCHED_IDLE_CHAIN] += time * take(&rest, m->of_state[WAITS]);
    uint64_t packed = m->of_state[PACKED];
    sums[packed ? CSCHED_IDLE_PACKING : CSCHED_IDLE_SUBMISSION] +=
        time * take(&rest, packed + m->of_state[NOT_SUBMITTED]);
    sums[CSCHED_IDLE_UNUSED] += time * take(&rest, m->workers > m->known ? m->workers - m->known : 0);
    sums[m->running == 1 && !m->behind ? CSCHED_IDLE_LAST : CSCHED_IDLE_IMBALANCE] += time * rest;
}

static uint32_t most_workers(const csched_spell_t *spells, uint64_t count)
{
    uint32_t most = 0;
    for (uint64_t i = 0; i < count; i++)
        most = spells[i].worker >= most ? spells[i].worker + 1 : most;
    return most;
}

static void begin(moment_t *m, const csched_spell_t *spells, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        queued_t *queue = &m->queues[spells[i].worker];
        m->of_state[NOT_SUBMITTED] += !spells[i].again;
        m->known += !queue->known;
        queue->known = true;
    }
}

/* Adds up the time from `now` to `until`, in which workers may come and go. */
static void add_time(span_t *span, moment_t *m, uint64_t until, uint64_t *idle)
{
    until = until < span->ended ? until : span->ended;
    while (span->now < until) {
        while (span->changes && span->workers->at <= span->now) {
            m->workers = span->workers++->count;
            span->changes--;
        }
        uint64_t next = span->changes && span->workers->at < until ? span->workers->at : until;
        add_idle(m, next - span->now, idle);
        span->now = next;
    }
}

CSCHED_EXPORT int csched_idle_of(const csched_spell_t *spells, uint64_t count, const csched_workers_t *workers,
                                 uint32_t changes, uint64_t began, uint64_t ended, uint64_t *idle)
{
    moment_t moment = {.queues = calloc(most_workers(spells, count) + 1, sizeof *moment.queues)};
    change_t *steps = malloc((count * OVER + 1) * sizeof *steps), *end = steps;
    memset(idle, 0, CSCHED_IDLE_REASONS * sizeof *idle);
    if (moment.queues && steps) {
        span_t span = {began, ended, workers, changes};
        begin(&moment, spells, count);
        for (uint64_t i = 0; i < count; i++)
            end = add_changes(end, &spells[i]);
        qsort(steps, (size_t)(end - steps), sizeof *steps, earlier);
        for (const change_t *step = steps; step < end; step++) {
            add_time(&span, &moment, step->at, idle);
            apply(&moment, step);
        }
        add_time(&span, &moment, ended, idle);
    }
    int result = moment.queues && steps ? CSCHED_OK : CSCHED_ENOMEM;
    free(moment.queues);
    free(steps);
    return result;
}

/* Copies the attempts of the piece of work with this number; returns how many, or an error. */
static int read_attempts(csched_t *s, uint32_t number, csched_spell_t *spells)
{
    uint32_t count = 0;
    for (int more = 1; more > 0; count += (uint32_t)more) {
        uint32_t left = ATTEMPTS_MOST - count;
        pthread_mutex_lock(&s->lock);
        more = attempts_read(&s->attempts, number, count, left < A_LOCK ? left : A_LOCK, spells + count);
        pthread_mutex_unlock(&s->lock);
        if (more < 0)
            return more;
    }
    return (int)count;
}

CSCHED_EXPORT int csched_idle(csched_t *s, uint64_t began, uint64_t ended, uint64_t *idle)
{
    csched_workers_t workers[CHANGES_KEPT + 1];
    pthread_mutex_lock(&s->lock);
    uint32_t number = s->accounts.number;
    bool present = s->accounts.work.sums.began == began;
    uint32_t changes = account_changes(&s->accounts, began, workers);
    pthread_mutex_unlock(&s->lock);
    if (!present || !changes)
        return CSCHED_ESTALE;
    csched_spell_t *spells = pages_open(ATTEMPTS_MOST * sizeof *spells);
    int result = spells ? read_attempts(s, number, spells) : CSCHED_ENOMEM;
    if (result >= 0)
        result = csched_idle_of(spells, (uint64_t)result, workers, changes, began, ended, idle);
    pages_close(spells, ATTEMPTS_MOST * sizeof *spells);
    return result;
}
