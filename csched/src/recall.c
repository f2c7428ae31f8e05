/* Recall: tasks come back from the windows of workers that have not begun them, to be sent elsewhere. */
#include "recall.h"

#include "internal.h"
#include "task.h"
#include "window.h"

enum { NEWCOMER = 2, MOST_AT_ONCE = 16 };
enum { LOOK_NS = 500 };    /* to see what a worker does */
enum { SILENT_TIMES = 16 }; /* times config.window_ns: mostly longer than a busy machine delays a process */

uint64_t worker_running_ns(const csched_t *s, uint32_t index)
{
    if (!s->loads[index].held || s->workers[index]->state != WORKER_READY)
        return 0;
    const segment_t *segment = s->workers[index]->segment;
    if (!u64_acquire(&segment->claim_ticket)) /* partner: claim in worker.c; without one `since` is an older task's */
        return 0;
    uint64_t since = u64_relaxed(&segment->claim_since);
    return since && s->now > since ? s->now - since : 0;
}

static void look_at_running(csched_t *s)
{
    for (uint32_t i = 0; i < s->worker_count; i++)
        s->loads[i].running_ns = worker_running_ns(s, i);
}

uint32_t recall_newest(csched_t *s, uint32_t index, uint32_t most, uint32_t below)
{
    worker_t *worker = s->workers[index];
    uint32_t taken = 0;
    for (uint32_t i = worker->held_count; i-- > 0 && taken < most;) {
        uint32_t slot = held_at(worker, i)->slot;
        if (slot == NO_TASK)
            continue;
        task_t *task = task_at(s, slot);
        if (task->priority >= below || !window_revoke(s, task, slot))
            break; /* older ones have a higher priority, or have begun */
        ready_return(&s->graph, slot);
        taken++;
    }
    return taken;
}

static bool is_idle(const load_t *load)
{
    return load->window && !load->held;
}

static uint32_t idle_count(const csched_t *s)
{
    uint32_t idle = 0;
    for (uint32_t i = 0; i < s->worker_count; i++)
        idle += is_idle(&s->loads[i]);
    return idle;
}

/* Whether a worker has nothing while another one has several. */
static bool a_worker_idles(const csched_t *s)
{
    bool idle = false, more = false;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        idle |= is_idle(&s->loads[i]);
        more |= s->loads[i].held >= 2;
    }
    return idle && more;
}

uint32_t idle_worker(const csched_t *s, uint32_t warm)
{
    uint32_t found = NO_CHOICE;
    if (warm < s->worker_count && is_idle(&s->loads[warm]))
        return warm;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        if (!is_idle(&s->loads[i]))
            continue;
        if (s->loads[i].awake)
            return i;
        found = found == NO_CHOICE ? i : found;
    }
    return found;
}

/* Takes back the newest task with an allocation that the worker has not begun. */
static bool recall_one(csched_t *s, worker_t *worker)
{
    for (uint32_t i = worker->held_count; i-- > 0;) {
        uint32_t slot = held_at(worker, i)->slot;
        task_t *task = slot != NO_TASK ? task_at(s, slot) : NULL;
        if (!task || !(task->flags & FLAG_ALLOCATED) || !window_revoke(s, task, slot))
            continue;
        ready_return(&s->graph, slot);
        return true;
    }
    return false;
}

/* A task with an allocation should run soon, since others wait for the resources that it holds.  It goes to an idle
 * worker if there is one, whatever the policy says; else into a window, like any other task.  When a worker becomes idle
 * before the task has begun, the task moves there: by stealing, or by allocation_recall under policies that do not steal. */
static bool allocation_recall(csched_t *s)
{
    uint32_t idle = idle_count(s), recalled = 0;
    for (uint32_t i = 0; i < s->worker_count && recalled < idle; i++)
        recalled += s->loads[i].held >= 2 && recall_one(s, s->workers[i]);
    return recalled > 0;
}

bool recall_for_idle(csched_t *s)
{
    theft_t theft;
    if (!s->policy->steal)
        return s->graph.resources.allocations && a_worker_idles(s) && allocation_recall(s);
    if (!a_worker_idles(s))
        return false;
    look_at_running(s);
    s->policy_state.next = idle_worker(s, NO_CHOICE);
    return s->policy->steal(s->loads, s->worker_count, &theft) &&
           recall_newest(s, theft.from, theft.count, UINT32_MAX) > 0;
}

/* The oldest task that waits in this worker's window behind another one; NULL: there is none. */
static task_t *oldest_behind(csched_t *s, worker_t *worker)
{
    bool first = true;
    for (uint32_t i = 0; i < worker->held_count; i++) {
        uint32_t slot = held_at(worker, i)->slot;
        if (slot != NO_TASK && !first)
            return task_at(s, slot);
        first &= slot == NO_TASK;
    }
    return NULL;
}

/* Takes back the oldest task that waits behind a long one, or one of unknown length; returns its slot, or NO_TASK. */
static uint32_t take_oldest(csched_t *s)
{
    uint32_t found = NO_CHOICE;
    task_t *oldest = NULL;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        load_t *load = &s->loads[i];
        if (load->held < 2 || !load->window || present_ns(load) <= STEAL_NS)
            continue;
        task_t *task = oldest_behind(s, s->workers[i]);
        if (task && (!oldest || task->ticket < oldest->ticket)) {
            found = i;
            oldest = task;
        }
    }
    if (found == NO_CHOICE)
        return NO_TASK;
    uint32_t slot = ticket_slot(oldest->ticket);
    return window_revoke(s, oldest, slot) ? slot : NO_TASK;
}

/* Tasks begin in the order in which they became ready, but for guesses of how long one takes: a worker that holds nothing
 * gets those that wait behind a long one, or one of unknown length, before later ones. What runs is looked at now and then, since each look costs a
 * cache miss. */
void recall_from_behind(csched_t *s)
{
    uint32_t taken[MOST_AT_ONCE], count = 0;
    if (!s->policy->steal || !a_worker_idles(s))
        return;
    if (s->now - s->looked_at > STEAL_NS + LOOK_NS * s->worker_count) {
        s->looked_at = s->now;
        look_at_running(s);
    }
    uint32_t idle = idle_count(s);
    while (count < idle && count < MOST_AT_ONCE && (taken[count] = take_oldest(s)) != NO_TASK)
        count++;
    if (count)
        s->policy_state.next = idle_worker(s, NO_CHOICE);
    while (count)
        ready_return(&s->graph, taken[--count]);
}

static uint64_t first_sent(csched_t *s, worker_t *worker)
{
    for (uint32_t i = 0; i < worker->held_count; i++)
        if (held_at(worker, i)->slot != NO_TASK)
            return task_at(s, held_at(worker, i)->slot)->dispatched;
    return UINT64_MAX;
}

/* True if the worker has tasks, runs none, and begins none: it is stopped, or another thread has its interpreter. */
static bool is_silent(csched_t *s, uint32_t index)
{
    worker_t *worker = s->workers[index];
    if (worker->state != WORKER_READY || worker->lane || !s->loads[index].held ||
        u64_acquire(&worker->segment->claim_ticket)) /* partner: claim in worker.c */
        return false;
    uint64_t since = first_sent(s, worker);
    since = worker->last_result > since ? worker->last_result : since;
    return s->now > since && s->now - since > SILENT_TIMES * s->config.window_ns;
}

/* True if the worker has moved past the revoked entries, or has claimed or slept since. */
static bool shows_life(worker_t *worker)
{
    const segment_t *segment = worker->segment;
    return u64_relaxed(&segment->claim_ticket) || u32_relaxed(&segment->tasks.sleeping) ||
           u64_relaxed(&segment->tasks.head) != worker->silent_at;
}

static bool another_idles(const csched_t *s, uint32_t index)
{
    for (uint32_t i = 0; i < s->worker_count; i++)
        if (i != index && is_idle(&s->loads[i]))
            return true;
    return false;
}

/* Under every policy: tasks that a worker does not begin go to an idle one, and it gets none until it shows life. */
static void look_at_silent(csched_t *s)
{
    for (uint32_t i = 0; i < s->worker_count; i++) {
        worker_t *worker = s->workers[i];
        if (worker->silent && worker->state == WORKER_READY && shows_life(worker)) {
            worker->silent = false;
            if (!worker->retiring && !s->loads[i].window)
                s->loads[i].window = NEWCOMER;
        } else if (is_silent(s, i) && another_idles(s, i)) {
            worker->silent = true;
            worker->silent_at = u64_relaxed(&worker->segment->tasks.head);
            s->loads[i].window = 0;
            recall_newest(s, i, UINT32_MAX, UINT32_MAX);
        }
    }
}

/* A stuck worker gets no more tasks until it has a result: ready tasks go to any worker with room first. */
void recall_tick(csched_t *s)
{
    look_at_silent(s);
    if (!s->policy->steal && !s->graph.ready.mixed)
        return;
    look_at_running(s);
    for (uint32_t i = 0; i < s->worker_count; i++) {
        if (!s->loads[i].window || !is_stuck(&s->loads[i], 4 * s->config.window_ns))
            continue;
        recall_newest(s, i, UINT32_MAX, UINT32_MAX);
        if (s->loads[i].held) /* else its task is over and drained: no result would reopen its window */
            s->loads[i].window = s->loads[i].held;
    }
}
