/* Dispatch: sends ready tasks to workers by the policy.
 *
 * A task of a higher priority does not wait behind lower ones that have not begun: they are taken back first.
 */
#include "allocations.h"
#include "dispatch.h"
#include "doorbell.h"
#include "internal.h"
#include "recall.h"
#include "task.h"
#include "window.h"

enum { INPUTS_LOOKED_AT = 8, FEW = 2 };
enum { REFERENCE_MIN = 4096 }; /* bytes of a lane's result that may stand for one that has stayed there */
enum { LEARNED_KB = 8192 }; /* below, other things that a lane does before a task take as long */
enum { LOOK_AHEAD = 32, MOST_PASSED = 64, COUNTED = 256 };
#define CHOOSE_AGAIN (NO_CHOICE - 1)

/* The lane that made an input and may have it still. */
static uint32_t lane_of(const csched_t *s, const inputs_t *inputs, uint32_t i)
{
    uint32_t worker = inputs->of[i].worker;
    return inputs->of[i].blob->size >= REFERENCE_MIN && worker < s->worker_count && s->workers[worker]->lane
               ? worker
               : NO_CHOICE;
}

/* The worker whose arena holds the largest input, or the lane where the most has stayed, or the first that made one. */
static warm_t warm_at(const csched_t *s, const task_t *task)
{
    const inputs_t *inputs = task->inputs;
    const blob_t *largest = NULL;
    warm_t lane = {.at = NO_CHOICE};
    if (!inputs)
        return lane;
    if (inputs->warm)
        lane = (warm_t){inputs->warm - 1, inputs->stays_kb * s->fetch_ns};
    for (uint32_t i = 0; i < inputs->count && i < INPUTS_LOOKED_AT; i++) {
        const blob_t *blob = inputs->of[i].blob;
        if (!blob)
            continue;
        uint64_t fetch_ns = inputs->of[i].stays_kb * s->fetch_ns;
        if (lane.at == NO_CHOICE || fetch_ns > lane.fetch_ns) {
            uint32_t maker = lane_of(s, inputs, i);
            lane = maker == NO_CHOICE ? lane : (warm_t){maker, fetch_ns};
        }
        if (blob->region != REGION_INLINE && (!largest || blob->size > largest->size))
            largest = blob;
    }
    if (largest && largest->region != REGION_KERNEL)
        return (warm_t){.at = s->regions[largest->region].worker};
    return lane;
}

/* KiB of inputs that have stayed at other lanes. */
static uint64_t fetched_kb(const inputs_t *inputs, uint32_t index)
{
    uint64_t kb = inputs->warm - 1 == index ? 0 : inputs->stays_kb;
    for (uint32_t i = 0; i < inputs->count && i < INPUTS_LOOKED_AT; i++)
        kb += inputs->of[i].worker == index ? 0 : inputs->of[i].stays_kb;
    return kb;
}

void fetch_learn(csched_t *s, uint32_t index, const task_t *task, uint64_t took)
{
    uint64_t kb = s->loads[index].far && task->inputs ? fetched_kb(task->inputs, index) : 0;
    if (kb < LEARNED_KB)
        return;
    uint64_t each = took / kb;
    each = each < FETCH_NS_LEAST ? FETCH_NS_LEAST : each > FETCH_NS_MOST ? FETCH_NS_MOST : each;
    s->fetch_ns = (s->fetch_ns + each) / 2;
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
    if (!recall_newest(s, index, UINT32_MAX, priority))
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
        load->running_ns = worker_running_ns(s, i);
        uint64_t left = present_ns(load);
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
        s->loads[index].running_ns = worker_running_ns(s, index);
        if (worth_taking_back(&s->loads[index]))
            take_lower(s, index, task->priority);
    }
    return ready_first(&s->graph) == ticket_slot(task->ticket) ? index : CHOOSE_AGAIN;
}

/* An idle worker is preferred: in a window, behind other tasks, the allocation would be held without use.  NO_CHOICE: no
 * worker has room; CHOOSE_AGAIN: a resource is missing, and the ready queue has entered a wait queue. */
static uint32_t choose_allocated(csched_t *s, task_t *task)
{
    if (!resources_admit(&s->graph))
        return CHOOSE_AGAIN;
    if (s->graph.ready.queues[task->queue].woken_by)
        task->flags |= FLAG_HELD;
    uint32_t idle = idle_worker(s, warm_at(s, task).at);
    return idle != NO_CHOICE ? idle : choose(s, task);
}

static bool is_at_another_lane(const csched_t *s, warm_t warm, uint32_t index)
{
    return warm.at != index && warm.at < s->worker_count && s->loads[warm.at].far && s->loads[warm.at].window;
}

/* How long a task takes: as others of its function, or as others there. */
static uint64_t expected_ns(const csched_t *s, const task_t *task, uint32_t index)
{
    const backlog_t *past = &s->functions[task->function].backlog;
    return past->ran ? task->count * (past->spent / past->ran + past->loading) : usual_ns(&s->loads[index]);
}

/* What is left of all that a lane holds. */
static uint64_t left_ns(csched_t *s, uint32_t index)
{
    worker_t *worker = s->workers[index];
    uint64_t running = worker_running_ns(s, index), left = 0;
    uint32_t looked_at = worker->held_count < LOOK_AHEAD ? worker->held_count : LOOK_AHEAD;
    for (uint32_t i = 0; i < looked_at; i++) {
        uint32_t slot = held_at(worker, i)->slot;
        if (slot == NO_TASK)
            continue;
        uint64_t whole = expected_ns(s, task_at(s, slot), index);
        left += running < whole ? whole - running : running; /* far longer than others: as much again */
        running = 0;
    }
    return left + (worker->held_count - looked_at) * usual_ns(&s->loads[index]);
}

/* Whether a task begins sooner at the lane that has its inputs, behind all that is there and those that wait for it, of
 * which it is one from now on, than here with inputs that come from there. */
static bool waits_for_inputs(csched_t *s, const task_t *task, warm_t warm, uint32_t index, uint64_t *waiting)
{
    if (!warm.fetch_ns || !is_at_another_lane(s, warm, index))
        return false;
    uint64_t *others = &waiting[warm.at % COUNTED];
    if (left_ns(s, warm.at) + *others >= left_ns(s, index) + warm.fetch_ns)
        return false;
    *others += expected_ns(s, task, warm.at);
    return true;
}

/* The task for this lane, of the first one's queue: where the inputs of the first one are at another lane, which has no
 * room now, one behind it whose inputs are here, or one that does not wait for its inputs' lane as the first one does:
 * bytes stay where they are. The first one is passed so often at most. NO_TASK: all that were looked at wait. */
static uint32_t look_ahead(csched_t *s, uint32_t first, uint32_t index)
{
    const task_t *task = task_at(s, first);
    warm_t warm = warm_at(s, task);
    if (task->flags & FLAG_DEMANDS || !is_at_another_lane(s, warm, index))
        return first;
    if (s->passed_ticket != task->ticket) {
        s->passed_ticket = task->ticket;
        s->passed = 0;
    }
    if (s->passed >= MOST_PASSED)
        return first;
    uint64_t waiting[COUNTED] = {0}; /* nanoseconds of work for each lane; those with like numbers share one */
    uint32_t found = waits_for_inputs(s, task, warm, index, waiting) ? NO_TASK : first, slot = task->next;
    for (uint32_t i = 0; i < LOOK_AHEAD && slot != NO_TASK; i++, slot = task->next) {
        task = task_at(s, slot);
        warm = warm_at(s, task);
        if (warm.at == index) {
            found = slot;
            break;
        }
        if (found == NO_TASK && !waits_for_inputs(s, task, warm, index, waiting))
            found = slot;
    }
    s->passed += found != first && found != NO_TASK;
    return found;
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
        if (s->loads[index].far && (slot = look_ahead(s, slot, index)) == NO_TASK)
            break;
        ready_take(&s->graph, slot);
        int rc = window_push(s, index, slot, s->now);
        if (rc == CSCHED_ENOMEM && aside_count < sizeof aside / sizeof *aside) {
            aside[aside_count++] = slot; /* no block for its inputs: others may run, and free some */
            continue;
        }
        if (rc < 0) { /* that ring is full: next time; others may have room */
            ready_return(&s->graph, slot);
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
        ready_return(&s->graph, aside[--aside_count]);
    wake(s, touched);
}

void dispatch(csched_t *s)
{
    if (s->paused || u32_relaxed(&s->stopped))
        return;
    recall_from_behind(s);
    if (s->graph.ready.active || recall_for_idle(s))
        send_ready(s);
}
