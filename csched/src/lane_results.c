/* The results of a lane: outcomes go into its ring, in the order of the tasks, by the kernel's clock; tasks that were
 * not run go back to the queue. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "allocations.h"
#include "blob.h"
#include "dispatch.h"
#include "lane.h"
#include "segment.h"
#include "task.h"
#include "window.h"

enum { ROOM_NS = 1000000 };

/* After results, or when the lane is ready; partner: doorbell_arm, which stores in the other order. */
static void ring_doorbell(csched_lane_t *l)
{
    uint64_t one = 1;
    fence_seq_cst(); /* tail before kernel_sleeping */
    if (u32_relaxed(&l->segment->kernel_sleeping) && u32_exchange(&l->segment->kernel_sleeping, 0) &&
        write(l->s->doorbell, &one, sizeof one) < 0 && errno != EAGAIN)
        return; /* the kernel drains by itself at the end of its slice */
}

/* -- publishing */

static uint64_t between(uint64_t least, uint64_t value, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* What belongs to outcomes, from a place in its first part on. */
typedef struct {
    const csched_part_t *part;
    uint32_t left; /* parts */
    uint64_t at;   /* in the first one */
} data_t;

/* The next bytes, at most `most`, of one part; *size is 0 at the end. */
static const uint8_t *next_bytes(data_t *data, uint64_t most, uint64_t *size)
{
    while (data->left && data->at == data->part->size) {
        data->part++;
        data->left--;
        data->at = 0;
    }
    const uint8_t *found = data->left ? (const uint8_t *)data->part->data + data->at : NULL;
    *size = data->left ? data->part->size - data->at : 0;
    if (*size > most)
        *size = most;
    data->at += *size;
    return found;
}

/* Copies so many bytes; `to` NULL: only passes over them. */
static int read_bytes(data_t *data, void *to, uint64_t size)
{
    for (uint64_t done = 0, n; done < size; done += n) {
        const uint8_t *from = next_bytes(data, size - done, &n);
        if (!n)
            return CSCHED_ECORRUPT;
        if (to)
            memcpy((uint8_t *)to + done, from, n);
    }
    return CSCHED_OK;
}

/* Copies bytes into a block of the kernel. */
static int to_block(csched_t *s, data_t *data, uint64_t size, uint64_t *offset)
{
    uint64_t address;
    int rc = csched_block_alloc(s, size, offset, &address);
    if (rc == CSCHED_EFULL || rc == CSCHED_ETOOBIG)
        rc = csched_block_spill(s, size, offset, &address);
    for (uint64_t done = 0, n; !rc && done < size; done += n) {
        const uint8_t *from = next_bytes(data, size - done, &n);
        csched_block_fill(s, *offset + done, from, n);
    }
    return rc;
}

/* Reserves an entry; other threads of this process drain older ones meanwhile. */
static int reserve(csched_lane_t *l, uint64_t bytes, entry_t **entry)
{
    int rc;
    while ((rc = ring_reserve(&l->results, bytes, entry)) == CSCHED_EFULL && !u32_relaxed(&l->s->stopped)) {
        csched_poll(l->s, 0);
        if ((rc = ring_reserve(&l->results, bytes, entry)) != CSCHED_EFULL)
            break;
        shared_u32 *waits = &l->results.ends->producer_waits;
        u32_exchange(waits, 1); /* before the look at head; partner: drain_worker */
        fence_seq_cst();
        if (u64_relaxed(&l->results.ends->head) == l->results.other)
            futex_wait(waits, 1, ROOM_NS);
    }
    return rc == CSCHED_EFULL ? CSCHED_ESTOPPED : rc;
}

static void place_marks(uint64_t *to, data_t data, const csched_outcome_t *outcome, int64_t ahead,
                        const result_entry_t *form)
{
    read_bytes(&data, to, outcome->marks * sizeof *to);
    for (uint32_t i = 0; i < outcome->marks; i++)
        to[i] = between(form->started, to[i] - (uint64_t)ahead, form->finished);
    to[outcome->marks] = form->finished;
}

/* Converts its stamps to the kernel's clock, each not before the previous one. */
static void stamp(result_entry_t *form, const csched_outcome_t *outcome, const in_flight_t *task, int64_t ahead)
{
    uint64_t now = now_ns();
    form->received = between(task->dispatched, outcome->received - (uint64_t)ahead, now);
    form->started = between(form->received, outcome->started - (uint64_t)ahead, now);
    form->finished = between(form->started, outcome->finished - (uint64_t)ahead, now);
    form->returned = now;
}

static int publish_one(csched_lane_t *l, const csched_outcome_t *outcome, data_t data, int64_t ahead)
{
    bool task = outcome->kind == CSCHED_TASK;
    const in_flight_t *oldest = l->count ? in_flight_at(l, 0) : NULL;
    if (task && (!oldest || oldest->ticket != outcome->ticket))
        return CSCHED_EINVAL;
    result_entry_t form = {.detail = outcome->failures, .payload = {.region = REGION_NONE, .size = outcome->size}};
    uint64_t marks = task && outcome->marks == oldest->count && outcome->marks > 1 ? outcome->marks + 1 : 0;
    if (sizeof form + marks * sizeof(uint64_t) + INLINE_MAX > ring_largest(&l->results))
        marks = 0; /* a small ring: only the chunk's own stamps */
    data_t value = data;
    read_bytes(&value, NULL, outcome->marks * sizeof(uint64_t));
    uint64_t at = sizeof form + marks * sizeof(uint64_t);
    bool in_line = outcome->size && outcome->size <= INLINE_MAX;
    int rc = CSCHED_OK;
    if (in_line)
        form.payload = (ref_t){.region = REGION_INLINE, .offset = at, .size = outcome->size};
    else if (outcome->size && !(rc = to_block(l->s, &value, outcome->size, &form.payload.offset)))
        form.payload.region = REGION_KERNEL;
    entry_t *entry;
    if (rc < 0)
        return rc;
    if ((rc = reserve(l, at + (in_line ? outcome->size : 0), &entry)) < 0) {
        if (form.payload.region == REGION_KERNEL)
            csched_block_free(l->s, form.payload.offset);
        return rc;
    }
    form.head = (entry_t){.bytes = entry->bytes, .kind = task ? ENTRY_RESULT : ENTRY_MESSAGE};
    form.head.slot = task ? oldest->slot : UINT32_MAX;
    form.ticket = task ? outcome->ticket : 0;
    form.status = outcome->status;
    form.count = task ? oldest->count : CSCHED_REPLY;
    form.stamps = (uint32_t)marks;
    form.payload.stays_kb = in_kb(outcome->stays);
    if (task)
        stamp(&form, outcome, oldest, ahead);
    memcpy(entry, &form, sizeof form);
    if (marks)
        place_marks((uint64_t *)((uint8_t *)entry + sizeof form), data, outcome, ahead, &form);
    if (in_line)
        read_bytes(&value, (uint8_t *)entry + at, outcome->size);
    ring_commit(&l->results);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_lane_publish(csched_lane_t *l, uint32_t count, const csched_outcome_t *outcomes,
                                      const csched_part_t *data, uint32_t parts, int64_t ahead_ns)
{
    data_t next = {.part = data, .left = parts};
    uint32_t i;
    int rc = CSCHED_OK;
    for (i = 0; i < count; i++) {
        data_t mine = next;
        if ((rc = read_bytes(&next, NULL, outcomes[i].marks * sizeof(uint64_t) + outcomes[i].size)) < 0 ||
            (rc = publish_one(l, &outcomes[i], mine, ahead_ns)) < 0)
            break;
        if (outcomes[i].kind != CSCHED_TASK)
            continue;
        l->head = (l->head + 1) & (l->capacity - 1);
        l->count--;
    }
    lane_say_what_runs(l);
    ring_doorbell(l);
    return rc < 0 && rc != CSCHED_EDISK && rc != CSCHED_EFULL ? rc : (int)i;
}

/* -- giving back */

/* Under the lock: puts a taken task back into its queue, or ends it if it was stopped meanwhile. */
static void put_back(csched_t *s, held_t *held, uint32_t index, bool alone)
{
    uint32_t slot = held->slot;
    task_t *task = task_at(s, slot);
    held->slot = NO_TASK; /* its entry is skipped when the next result comes */
    s->loads[index].held--;
    drop_bundle(s, task);
    if (task->flags & FLAG_STOPPING) {
        blob_retain(task->payload);
        task_abort(s, slot, CSCHED_CANCELLED, task->payload, 0, (const uint64_t[4]){0}); /* it has not run */
        return;
    }
    if (task->flags & FLAG_ALLOCATED)
        allocation_return(s, task);
    task->flags &= (uint8_t)~FLAG_OVERDUE; /* it has not run: its limit holds for the next place, too */
    if (alone)
        task->flags |= FLAG_ALONE;
    ready_return(&s->graph, slot);
}

CSCHED_EXPORT int csched_lane_blame(csched_lane_t *l, uint32_t element)
{
    if (!l->count)
        return CSCHED_EINVAL;
    lane_say_what_runs(l);
    u32_store_release(&l->segment->claim_element, element); /* partner: give_back in pool.c */
    l->head = (l->head + 1) & (l->capacity - 1); /* the scheduler finds it in its own list */
    l->count--;
    return CSCHED_OK;
}

/* Gives back `count` taken tasks from index `first` on: the oldest or the newest. */
static int give_back(csched_lane_t *l, uint32_t first, uint32_t count, bool alone)
{
    csched_t *s = l->s;
    pthread_mutex_lock(&s->lock);
    worker_t *worker = s->workers[l->index];
    uint32_t last = s->completions.tail, left = count;
    clock_refresh(s);
    for (uint32_t i = worker->held_count; i-- > 0 && left;) {
        held_t *held = held_at(worker, i);
        if (held->slot == NO_TASK || task_at(s, held->slot)->ticket != in_flight_at(l, first + left - 1)->ticket)
            continue;
        put_back(s, held, l->index, alone);
        left--;
    }
    while (worker->held_count && held_at(worker, worker->held_count - 1)->slot == NO_TASK)
        worker->held_count--;
    if (!first)
        l->head = (l->head + count) & (l->capacity - 1);
    l->count -= count;
    if (l->count)
        lane_say_what_runs(l);
    else
        u64_store_release(&l->segment->claim_ticket, 0); /* partner: check_limit */
    task_propagate(s, last);
    dispatch(s);
    pthread_mutex_unlock(&s->lock);
    return left ? CSCHED_ECORRUPT : csched_wake(s);
}

CSCHED_EXPORT int csched_lane_give_back(csched_lane_t *l, uint32_t count, uint32_t alone)
{
    return count > l->count ? CSCHED_EINVAL : count ? give_back(l, 0, count, alone) : CSCHED_OK;
}

CSCHED_EXPORT int csched_lane_take_back(csched_lane_t *l, uint32_t count)
{
    return count > l->count ? CSCHED_EINVAL : count ? give_back(l, l->count - count, count, false) : CSCHED_OK;
}
