/* Dispatch: sends ready tasks to workers by the policy, and takes tasks back from windows.
 *
 * A task of a higher priority does not wait behind lower ones that have not begun: they are taken back first.
 */
#include "allocations.h"
#include "dispatch.h"
#include "doorbell.h"
#include "internal.h"
#include "task.h"
#include "window.h"

enum { INPUTS_LOOKED_AT = 8, FEW = 2, NEWCOMER = 2 };
enum { REFERENCE_MIN = 4096 }; /* bytes of a lane's result that may stand for one that has stayed there */
enum { LOOK_AHEAD = 32, MOST_PASSED = 64 };
enum { LOOK_NS = 500 }; /* to see what a worker does */
enum { MOST_AT_ONCE = 16 };
enum { SILENT_TIMES = 16 }; /* times config.window_ns: mostly longer than a busy machine delays a process */
#define CHOOSE_AGAIN (NO_CHOICE - 1)

/* The lane that made an input and may have it still. */
static uint32_t lane_of(const csched_t *s, const inputs_t *inputs, uint32_t i)
{
    uint32_t worker = inputs->of[i].worker;
    return inputs->of[i].blob->size >= REFERENCE_MIN && worker < s->worker_count && s->workers[worker]->lane
               ? worker
               : NO_CHOICE;
}

/* The worker whose arena holds the largest input, or the lane that made it, or NO_CHOICE. */
static uint32_t warm_at(const csched_t *s, const task_t *task)
{
    const inputs_t *inputs = task->inputs;
    const blob_t *largest = NULL;
    uint32_t lane = NO_CHOICE;
    for (uint32_t i = 0; inputs && i < inputs->count && i < INPUTS_LOOKED_AT; i++) {
        const blob_t *blob = inputs->of[i].blob;
        if (!blob)
            continue;
        lane = lane == NO_CHOICE ? lane_of(s, inputs, i) : lane;
        if (blob->region != REGION_INLINE && (!largest || blob->size > largest->size))
            largest = blob;
    }
    if (largest && largest->region != REGION_KERNEL)
        return s->regions[largest->region].worker;
    return lane == NO_CHOICE && inputs && inputs->warm ? inputs->warm - 1 : lane;
}

/* Time since the worker began its current task: a hint from shared memory, any value is safe. */
static uint64_t running_ns(const csched_t *s, uint32_t index)
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
        s->loads[i].running_ns = running_ns(s, i);
}

/* Takes back the newest tasks of a worker that have not begun, at most `most`, of a priority below `below`. */
static uint32_t take_back(csched_t *s, uint32_t index, uint32_t most, uint32_t below)
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
        ready_push_front(&s->graph, slot);
        taken++;
    }
    return taken;
}

static bool a_worker_idles(const csched_t *s)
{
    bool idle = false, more = false;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        idle |= s->loads[i].window && !s->loads[i].held;
        more |= s->loads[i].held >= 2;
    }
    return idle && more;
}

/* A task with an allocation should run soon, since others wait for the resources that it holds.  It goes to an idle
 * worker if there is one, whatever the policy says; else into a window, like any other task.  When a worker becomes idle
 * before the task has begun, the task moves there: by stealing, or by allocation_recall under policies that do not steal. */

static bool is_idle(const load_t *load)
{
    return load->window && !load->held;
}

static uint32_t idle_worker(const csched_t *s, uint32_t warm)
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
        ready_push_front(&s->graph, slot);
        return true;
    }
    return false;
}

static bool allocation_recall(csched_t *s)
{
    uint32_t idle = 0, recalled = 0;
    for (uint32_t i = 0; i < s->worker_count; i++)
        idle += is_idle(&s->loads[i]);
    for (uint32_t i = 0; i < s->worker_count && recalled < idle; i++)
        recalled += s->loads[i].held >= 2 && recall_one(s, s->workers[i]);
    return recalled > 0;
}

static bool steal(csched_t *s)
{
    theft_t theft;
    if (!s->policy->steal)
        return s->graph.resources.allocations && a_worker_idles(s) && allocation_recall(s);
    if (!a_worker_idles(s))
        return false;
    look_at_running(s);
    s->policy_state.next = idle_worker(s, NO_CHOICE);
    return s->policy->steal(s->loads, s->worker_count, &theft) && take_back(s, theft.from, theft.count, UINT32_MAX) > 0;
}

/* Whether the worker's newest task that has not begun has a lower priority; older ones may have, too. */
static bool holds_lower(csched_t *s, uint32_t index, uint32_t priority)
{
    worker_t *worker = s->workers[index];
    for (uint32_t i = worker->held_count; i-- > 1;) {
        uint32_t slot = held_at(worker, i)->slot;
        if (slot != NO_TASK)
            return task_at(s, slot)->priority < priority;
    }
    return false;
}

/* Takes back tasks of lower priority. The second time without a result in between only FEW are sent again, since a
 * flood of higher ones would move the whole window each time. */
static bool take_lower(csched_t *s, uint32_t index, uint32_t priority)
{
    load_t *load = &s->loads[index];
    if (!take_back(s, index, UINT32_MAX, priority))
        return false;
    if (s->workers[index]->gave_way && load->window > load->held + FEW)
        load->window = load->held + FEW;
    s->workers[index]->gave_way = true;
    return true;
}

/* Finds a worker for a task of this priority if the policy finds no room: of those that hold lower ones, the one whose
 * current task will end first. */
static uint32_t make_room(csched_t *s, uint32_t priority)
{
    uint32_t best = NO_CHOICE;
    uint64_t soonest = UINT64_MAX;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        load_t *load = &s->loads[i];
        if (!load->window || !holds_lower(s, i, priority))
            continue;
        load->running_ns = running_ns(s, i);
        uint64_t left = present_ns(load, load->mean_ns);
        if (left < soonest) {
            best = i;
            soonest = left;
        }
    }
    return best != NO_CHOICE && take_lower(s, best, priority) ? best : NO_CHOICE;
}

/* CHOOSE_AGAIN: another task is first now, since tasks taken back for this one returned the resources that it waits
 * for. */
static uint32_t choose(csched_t *s, const task_t *task)
{
    uint32_t index = s->policy->choose(&s->policy_state, s->loads, s->worker_count, warm_at(s, task));
    if (!s->graph.ready.mixed)
        return index;
    if (index == NO_CHOICE) {
        index = make_room(s, task->priority);
    } else if (holds_lower(s, index, task->priority)) {
        s->loads[index].running_ns = running_ns(s, index);
        if (worth_taking_back(&s->loads[index]))
            take_lower(s, index, task->priority);
    }
    return ready_first(&s->graph) == ticket_slot(task->ticket) ? index : CHOOSE_AGAIN;
}

/* An idle worker is preferred: in a window, behind other tasks, the allocation would be held without use.  NO_CHOICE: no
 * worker has room; CHOOSE_AGAIN: a resource is missing, and the ready queue has entered a wait queue. */
static uint32_t choose_allocated(csched_t *s, const task_t *task)
{
    if (!resources_admit(&s->graph))
        return CHOOSE_AGAIN;
    uint32_t idle = idle_worker(s, warm_at(s, task));
    return idle != NO_CHOICE ? idle : choose(s, task);
}

/* A task behind the first one, of the same queue, whose inputs this lane has, where those of the first one are at another
 * lane, which has no room now: bytes stay where they are, and the first one mostly goes where its own are. The first one is
 * passed so often at most. */
static uint32_t look_ahead(csched_t *s, uint32_t first, uint32_t index)
{
    const task_t *task = task_at(s, first);
    uint32_t warm = warm_at(s, task), slot = task->next;
    if (task->flags & FLAG_DEMANDS || warm == index || warm >= s->worker_count || !s->loads[warm].far ||
        !s->loads[warm].window)
        return first;
    if (s->passed_ticket != task->ticket) {
        s->passed_ticket = task->ticket;
        s->passed = 0;
    }
    if (s->passed >= MOST_PASSED)
        return first;
    for (uint32_t i = 0; i < LOOK_AHEAD && slot != NO_TASK; i++, slot = task_at(s, slot)->next)
        if (warm_at(s, task_at(s, slot)) == index) {
            s->passed++;
            return slot;
        }
    return first;
}

static bool any_held(const csched_t *s)
{
    for (uint32_t i = 0; i < s->worker_count; i++)
        if (s->loads[i].held)
            return true;
    return false;
}

static void wake(csched_t *s, const uint64_t *touched)
{
    for (uint32_t i = 0; i < s->worker_count; i++)
        if (touched[i / 64 % 4] >> i % 64 & 1 && s->workers[i]->state == WORKER_READY)
            worker_wake(s->workers[i]);
}

static void send_ready(csched_t *s)
{
    uint64_t touched[4] = {0};
    uint32_t slot, aside[16], aside_count = 0;
    for (uint32_t i = 0; i < s->worker_count; i++)
        s->loads[i].awake =
            s->workers[i]->state == WORKER_READY && !u32_relaxed(&s->workers[i]->segment->tasks.sleeping);
    while ((slot = ready_first(&s->graph)) != NO_TASK) {
        task_t *task = task_at(s, slot);
        bool asks = task->flags & FLAG_DEMANDS;
        uint32_t index = asks ? choose_allocated(s, task) : choose(s, task), queue = task->queue;
        if (index == CHOOSE_AGAIN)
            continue;
        if (index == NO_CHOICE)
            break;
        if (s->loads[index].far)
            slot = look_ahead(s, slot, index);
        ready_take(&s->graph, slot);
        int rc = window_push(s, index, slot, s->now);
        if (rc == CSCHED_ENOMEM && aside_count < sizeof aside / sizeof *aside) {
            aside[aside_count++] = slot; /* no block for its inputs: others may run, and free some */
            continue;
        }
        if (rc < 0) { /* that ring is full: next time; others may have room */
            ready_push_front(&s->graph, slot);
            if (rc != CSCHED_EFULL || s->loads[index].held == 0)
                break;
            task->worker = NO_WORKER;
            s->loads[index].window = s->loads[index].held;
            continue;
        }
        if (asks)
            allocation_take(s, task, queue);
        touched[index / 64 % 4] |= UINT64_C(1) << index % 64;
    }
    if (aside_count && !any_held(s)) { /* no running task could free memory */
        uint32_t last = s->completions.tail;
        task_finish(s, aside[--aside_count], CSCHED_NOROOM, NULL, 0);
        task_propagate(s, last);
    }
    while (aside_count)
        ready_push_front(&s->graph, aside[--aside_count]);
    wake(s, touched);
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
        if (i != index && s->loads[i].window && !s->loads[i].held)
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
            take_back(s, i, UINT32_MAX, UINT32_MAX);
        }
    }
}

/* A stuck worker gets no more tasks until it has a result: ready tasks go to any worker with room first. */
void dispatch_tick(csched_t *s)
{
    look_at_silent(s);
    if (!s->policy->steal && !s->graph.ready.mixed)
        return;
    look_at_running(s);
    for (uint32_t i = 0; i < s->worker_count; i++) {
        if (!s->loads[i].window || !is_stuck(&s->loads[i], 4 * s->config.window_ns))
            continue;
        take_back(s, i, UINT32_MAX, UINT32_MAX);
        if (s->loads[i].held) /* else its task is over and drained: no result would reopen its window */
            s->loads[i].window = s->loads[i].held;
    }
}

/* The oldest task that waits in this worker's window behind another one, or NO_TASK. */
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

/* Takes back the oldest task that waits behind a long one; returns its slot, or NO_TASK. */
static uint32_t take_oldest(csched_t *s)
{
    uint32_t found = NO_CHOICE;
    task_t *oldest = NULL;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        load_t *load = &s->loads[i];
        if (load->held < 2 || !load->window || present_ns(load, load->mean_ns ? load->mean_ns : UNKNOWN_NS) <= STEAL_NS)
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
 * gets those that wait behind a long one before later ones. What runs is looked at now and then, since each look costs a
 * cache miss. */
static void look_behind(csched_t *s)
{
    uint32_t taken[MOST_AT_ONCE], count = 0, idle = 0;
    if (!s->policy->steal || !a_worker_idles(s))
        return;
    if (s->now - s->looked_at > STEAL_NS + LOOK_NS * s->worker_count) {
        s->looked_at = s->now;
        look_at_running(s);
    }
    for (uint32_t i = 0; i < s->worker_count; i++)
        idle += is_idle(&s->loads[i]);
    while (count < idle && count < MOST_AT_ONCE && (taken[count] = take_oldest(s)) != NO_TASK)
        count++;
    if (count)
        s->policy_state.next = idle_worker(s, NO_CHOICE);
    while (count)
        ready_push_front(&s->graph, taken[--count]);
}

void dispatch(csched_t *s)
{
    if (s->paused || u32_relaxed(&s->stopped))
        return;
    look_behind(s);
    if (s->graph.ready.active || steal(s))
        send_ready(s);
}
