/* The journeys of the elements of a chunk that is over: only its results tell how each of them ended. */
#include "internal.h"
#include "journey.h"
#include "run_times.h"
#include "slowest.h"
#include "task.h"

CSCHED_EXPORT int csched_mark_elements(csched_t *s, uint32_t slot, uint32_t status, const uint32_t *elements,
                                       uint32_t count)
{
    pthread_mutex_lock(&s->lock);
    const task_t *task = slot < s->graph.capacity ? task_at(s, slot) : NULL;
    bool over = task && task->state == TASK_DONE && task->row != NO_ROW;
    if (over && task->status > CSCHED_ERROR) { /* it has one row, and its time has come to nothing already */
        over = status == CSCHED_RETRIED || status == CSCHED_CANCELLED;
        if (over)
            journey_mark(&s->journey, task->row, task->ticket, status);
        pthread_mutex_unlock(&s->lock);
        return over ? CSCHED_OK : CSCHED_EINVAL;
    }
    bool nothing = status == CSCHED_RETRIED || status == CSCHED_TIMEOUT || status == CSCHED_CANCELLED;
    for (uint32_t i = 0; over && i < count; i++) {
        if (elements[i] >= task->count)
            continue;
        uint64_t ran = journey_mark(&s->journey, task->row + elements[i], task->ticket, status);
        if (nothing && ran) { /* as a task that is retried, or stopped */
            account_element_wasted(&s->accounts, task, ran);
            run_times_wasted(&s->run_times, task, ran);
        }
    }
    for (uint32_t i = 0; over && i < count; i++)
        slowest_mark(&s->slowest, task->ticket, elements[i], status);
    pthread_mutex_unlock(&s->lock);
    return over ? CSCHED_OK : CSCHED_EINVAL;
}

/* Under the lock: the one row of a chunk without a result stands for these elements of it from now on. */
static void set_elements(journey_t *journey, csched_journey_t *row, const task_t *task, uint32_t element,
                         uint32_t count)
{
    row->element = element;
    row->position = task->first + element;
    journey->counts[task->row & (journey->capacity - 1)] = count > 1 ? (task->row & UINT32_MAX) << 32 | count : 0;
}

/* Under the lock: a row for an element of which it is known how it ended, and not when. */
static void append_element(journey_t *journey, const csched_journey_t *from, const task_t *task, uint32_t element,
                           uint32_t status, uint64_t now)
{
    csched_journey_t *row = journey_append(journey);
    *row = *from;
    row->element = element;
    row->position = task->first + element;
    row->status = (uint8_t)status;
    for (int i = 3; i < CSCHED_STAGES; i++)
        row->stamps[i] = 0;
    row->stamps[CSCHED_STAGES - 1] = now;
    journey->counts[(journey->written - 1) & (journey->capacity - 1)] = 0;
}

CSCHED_EXPORT int csched_elements_ended(csched_t *s, uint32_t slot, uint32_t element, uint32_t count,
                                        const uint32_t *statuses, uint32_t ended)
{
    pthread_mutex_lock(&s->lock);
    journey_t *journey = &s->journey;
    const task_t *task = slot < s->graph.capacity ? task_at(s, slot) : NULL;
    bool over = task && task->state == TASK_DONE && task->row != NO_ROW && task->status > CSCHED_ERROR;
    over = over && ended <= task->count && element < task->count && count <= task->count - element;
    csched_journey_t *row = over ? journey_row(journey, task->row) : NULL;
    if (over && task->row < journey->written && row->ticket == task->ticket) {
        const csched_journey_t from = *row; /* a row that is appended may take its place */
        set_elements(journey, row, task, element, count);
        for (uint32_t i = 0; i < ended; i++)
            append_element(journey, &from, task, i, statuses[i], csched_now());
    }
    pthread_mutex_unlock(&s->lock);
    return over ? CSCHED_OK : CSCHED_EINVAL;
}
