/* The worker's side: claim, read in place, publish. Called by the worker's main thread only. */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "segment.h"

CSCHED_EXPORT int csched_worker_attach(const int fds[4], csched_worker_t **worker)
{
    csched_worker_t *w = calloc(1, sizeof *w);
    if (!w)
        return CSCHED_ENOMEM;
    pthread_mutex_init(&w->heap_lock, NULL);
    w->doorbell = fds[1];
    w->control = fds[2];
    w->kernel = -1;
    w->watch_pipe[0] = w->watch_pipe[1] = w->native[0] = w->native[1] = -1;
    w->heap.memory.fd = w->heap.file.fd = -1;
    void *base = NULL;
    int rc = memory_size(fds[0], &w->segment_bytes);
    if (!rc)
        rc = memory_map(fds[0], w->segment_bytes, true, &base);
    w->segment = base;
    if (!rc)
        rc = segment_check(w->segment, w->segment_bytes);
    if (!rc)
        rc = heap_open(&w->heap, fds[3], w->segment->arena_bytes, w->segment->file_bytes);
    if (rc < 0) {
        memory_unmap(base, w->segment_bytes);
        free(w);
        return rc;
    }
    uint8_t *data = (uint8_t *)base + SEGMENT_HEADER_BYTES;
    uint64_t ring = w->segment->ring_bytes;
    ring_open(&w->tasks, &w->segment->tasks, data, ring);
    ring_open(&w->results, &w->segment->results, data + ring, ring);
    close(fds[0]);
    FAULT_FROM_ENVIRONMENT(w);
    FAULT(w, attached);
    *worker = w;
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_worker_ready(csched_worker_t *w)
{
    uint64_t one = 1;
    u32_store_release(&w->segment->ready, 1); /* partner: drain */
    FAULT(w, said_ready);
    return write(w->doorbell, &one, sizeof one) < 0 && errno != EAGAIN ? CSCHED_ESYSTEM : CSCHED_OK;
}

CSCHED_EXPORT uint64_t csched_worker_index(csched_worker_t *w)
{
    return w->segment->index;
}

/* Whether the kernel must be woken for this result: a thread waits for it, others depend on it, or it is the worker's
 * last task. Other results are drained by a tick. */
static bool matters(csched_worker_t *w, const task_entry_t *task)
{
    uint64_t wanted = u64_relaxed(&w->segment->wanted);
    return wanted == WANT_ANY || wanted == task->ticket || task->attempt & ENTRY_URGENT || !ring_has_more(&w->tasks);
}

/* After a result of `task`, or after an entry that always matters (NULL). */
static void ring_doorbell(csched_worker_t *w, const task_entry_t *task)
{
    uint64_t one = 1;
    fence_seq_cst(); /* tail before kernel_sleeping; partner: doorbell_arm, which stores in the other order */
    if (!u32_relaxed(&w->segment->kernel_sleeping) || (task && !matters(w, task)) ||
        !u32_exchange(&w->segment->kernel_sleeping, 0))
        return;
    FAULT(w, kernel_claimed);
    if (write(w->doorbell, &one, sizeof one) < 0)
        return; /* full or closed: the kernel drains by itself at the end of its slice */
}

/* Claims the entry unless the kernel revoked it; both sides compare and swap the same word. `seen`: a clock reading
 * from just before, 0: none. */
static bool claim(csched_worker_t *w, task_entry_t *entry, uint64_t seen)
{
    segment_t *segment = w->segment;
    if (!u32_cas(&entry->head.claim, CLAIM_QUEUED, CLAIM_TAKEN)) /* partner: window_revoke */
        return false;
    FAULT(w, claimed);
    uint64_t now = seen >= entry->dispatched ? seen : now_ns();
    w->received = w->flushed = now;
    w->started = entry->payload.region == REGION_NONE && !entry->inputs ? now : 0; /* nothing to unpickle */
    w->finished = 0;
    w->mark_count = 0;
    u32_store_relaxed(&w->sent, 0); /* partner: worker_send */
    w->published = w->output_found = false;
    u32_store_relaxed(&segment->claim_slot, entry->head.slot);
    u32_store_relaxed(&segment->claim_element, NO_ELEMENT);
    u32_store_relaxed(&segment->claim_attempt, entry->attempt & ~ENTRY_FLAGS);
    u64_store_relaxed(&segment->claim_since, now);
    FAULT(w, claim_half_said);
    u64_store_release(&segment->claim_ticket, entry->ticket); /* partner: check_limit */
    FAULT(w, claim_said);
    return true;
}

/* Checks that a ref stays within its region or entry. */
static int resolve(csched_worker_t *w, const ref_t *ref, uint8_t *base, uint64_t bytes, uint64_t *address,
                   uint64_t *size)
{
    *size = ref->size;
    if (ref->region == REGION_NONE) {
        *address = *size = 0;
        return CSCHED_OK;
    }
    uint64_t limit = worker_region_bytes(w);
    if (ref->region == REGION_INLINE)
        limit = bytes;
    else if (!(base = worker_region(w, ref->region, ref->offset)))
        return CSCHED_ESYSTEM;
    if (ref->offset > limit || ref->size > limit - ref->offset)
        return CSCHED_ECORRUPT;
    *address = (uint64_t)(uintptr_t)(base + ref->offset);
    return CSCHED_OK;
}

static int take(csched_worker_t *w, task_entry_t *entry, csched_item_t *item)
{
    static const uint32_t kinds[] = {
        [ENTRY_TASK] = CSCHED_TASK, [ENTRY_FUNCTION] = CSCHED_FUNCTION, [ENTRY_CONTROL] = CSCHED_CONTROL};
    if (w->tasks.peeked < sizeof *entry || entry->head.kind < ENTRY_TASK || entry->head.kind > ENTRY_CONTROL)
        return CSCHED_ECORRUPT;
    *item = (csched_item_t){.kind = kinds[entry->head.kind],
                            .slot = entry->head.slot,
                            .function = entry->function,
                            .count = entry->count,
                            .ticket = entry->ticket,
                            .inputs = entry->inputs,
                            .flags = entry->attempt & ~ENTRY_FLAGS};
    w->current = entry;
    if (item->kind != CSCHED_TASK)
        FAULT(w, function_taken);
    return resolve(w, &entry->payload, (uint8_t *)entry, w->tasks.peeked, &item->address, &item->size);
}

static void sleep_on_ring(csched_worker_t *w, uint32_t timeout_ms)
{
    shared_u32 *sleeping = &w->segment->tasks.sleeping;
    u32_exchange(sleeping, 1); /* before the last look at tail and retire; partner: worker_wake */
    FAULT(w, sleep_said);
    fence_seq_cst();
    if (ring_empty(&w->tasks) && !u32_relaxed(&w->segment->retire))
        futex_wait(sleeping, 1, (uint64_t)timeout_ms * 1000000);
    u32_exchange(sleeping, 0);
    FAULT(w, awake);
}

static void release_current(csched_worker_t *w)
{
    if (!w->current)
        return;
    ring_advance(&w->tasks);
    w->current = NULL;
    FAULT(w, entry_released);
}

/* `seen`: a clock reading from just before, 0: none. */
static int next(csched_worker_t *w, uint32_t spin_us, uint32_t timeout_ms, uint64_t seen, csched_item_t *item)
{
    release_current(w);
    uint64_t end = 0;
    bool slept = false;
    for (;;) {
        entry_t *entry;
        int rc = ring_peek(&w->tasks, &entry);
        if (rc < 0)
            return rc;
        if (rc == 1) {
            FAULT(w, entry_seen);
            if (entry->kind != ENTRY_TASK || claim(w, (task_entry_t *)entry, seen))
                return take(w, (task_entry_t *)entry, item);
            FAULT(w, entry_skipped);
            ring_advance(&w->tasks);
            continue;
        }
        FAULT(w, found_empty);
        if (u32_acquire(&w->segment->retire)) { /* partners: csched_worker_retire, wear_out */
            if (ring_empty(&w->tasks))
                return CSCHED_ESTOPPED;
            continue; /* its last task came between the two checks */
        }
        if (!spin_us && !timeout_ms)
            return CSCHED_EAGAIN;
        uint64_t now = now_ns();
        seen = 0;
        if (!end)
            end = now + (uint64_t)spin_us * 1000;
        if (now < end) {
            for (int i = 0; i < 16; i++)
                cpu_relax();
            continue;
        }
        if (slept || !timeout_ms)
            return CSCHED_EAGAIN;
        take_frees(w); /* or its file would keep the disk until its next large result */
        sleep_on_ring(w, timeout_ms);
        slept = true;
    }
}

CSCHED_EXPORT int csched_worker_next(csched_worker_t *w, uint32_t spin_us, uint32_t timeout_ms, csched_item_t *item)
{
    return next(w, spin_us, timeout_ms, 0, item);
}

/* Waits without a claim: until the caller runs, another worker may get the task. */
CSCHED_EXPORT int csched_worker_await(csched_worker_t *w, uint32_t timeout_ms)
{
    release_current(w);
    take_frees(w); /* or its file would keep the disk until its next large result */
    sleep_on_ring(w, timeout_ms);
    return ring_empty(&w->tasks) && !u32_acquire(&w->segment->retire) ? CSCHED_EAGAIN : CSCHED_OK;
}

CSCHED_EXPORT int csched_worker_input(csched_worker_t *w, uint32_t position, uint32_t *status, uint64_t *address,
                                      uint64_t *size)
{
    task_entry_t *entry = w->current;
    if (!entry || entry->head.kind != ENTRY_TASK || position >= entry->inputs)
        return CSCHED_EINVAL;
    if (entry->bundle == ALL_NONE) {
        *status = CSCHED_NONE;
        *address = *size = 0;
        return CSCHED_OK;
    }
    uint8_t *base = (uint8_t *)entry;
    uint64_t bytes = w->tasks.peeked, refs = sizeof *entry;
    if (entry->bundle != NO_BLOCK) {
        uint64_t all = worker_region_bytes(w);
        if (entry->bundle > all || entry->bundle % ENTRY_ALIGN)
            return CSCHED_ECORRUPT;
        if (!(base = worker_region(w, REGION_KERNEL, entry->bundle)))
            return CSCHED_ESYSTEM;
        base += entry->bundle;
        bytes = all - entry->bundle;
        refs = 0;
    }
    if (refs + (position + UINT64_C(1)) * sizeof(ref_t) > bytes)
        return CSCHED_ECORRUPT;
    const ref_t *ref = (const ref_t *)(base + refs) + position;
    *status = ref->status;
    FAULT(w, input_found);
    return resolve(w, ref, base, bytes, address, size);
}

/* Sleeps once, at most 5 ms, until the kernel has made room; the caller handles its signals in between. */
static void wait_for_room(csched_worker_t *w)
{
    shared_u32 *waits = &w->segment->results.producer_waits;
    u32_exchange(waits, 1); /* before the look at head; partner: drain_worker */
    FAULT(w, ring_full);
    fence_seq_cst();
    if (u64_relaxed(&w->segment->results.head) != w->results.other)
        return; /* it has moved since the ring was found full */
    u32_store_relaxed(&w->segment->kernel_sleeping, 1);
    ring_doorbell(w, NULL);
    futex_wait(waits, 1, 5000000);
}

static int send(csched_worker_t *w, uint32_t kind, const result_entry_t *form, const void *data, uint64_t marks,
                uint64_t block)
{
    entry_t *head;
    uint64_t size = form->payload.size, at = sizeof *form + marks * sizeof(uint64_t);
    bool in_line = block == NO_BLOCK && size;
    if (in_line && size > INLINE_MAX)
        return CSCHED_ETOOBIG;
    int rc = ring_reserve(&w->results, at + (in_line ? size : 0), &head);
    if (rc == CSCHED_EFULL) {
        wait_for_room(w);
        return CSCHED_EAGAIN;
    }
    if (rc < 0)
        return rc;
    FAULT(w, reserved);
    uint32_t bytes = head->bytes;
    result_entry_t *entry = (result_entry_t *)head;
    *entry = *form;
    entry->head = (entry_t){.bytes = bytes, .kind = kind, .claim = form->head.claim, .slot = form->head.slot};
    entry->stamps = (uint32_t)marks;
    FAULT(w, half_written);
    memcpy(entry + 1, w->marks, marks * sizeof(uint64_t));
    if (in_line)
        memcpy((uint8_t *)entry + at, data, size);
    if (in_line)
        entry->payload = (ref_t){.region = REGION_INLINE, .offset = at, .size = size};
    else if (block != NO_BLOCK)
        entry->payload = (ref_t){.region = 0, .offset = block, .size = size};
    else
        entry->payload = (ref_t){.region = REGION_NONE};
    FAULT(w, written);
    ring_commit(&w->results);
    w->flushed = form->returned ? form->returned : now_ns();
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_worker_publish(csched_worker_t *w, uint32_t status, uint32_t failures, const void *data,
                                        uint64_t size, uint64_t block)
{
    task_entry_t *task = w->current;
    if (!task || task->head.kind != ENTRY_TASK)
        return CSCHED_EINVAL;
    if (w->published)
        return 1; /* an interrupt that came after the result: the result counts */
    uint64_t now = now_ns();
    if (!w->finished)
        w->finished = now;
    if (!w->started) /* its arguments did not load */
        w->started = w->finished;
    if (now - w->polled >= POLL_NS && output_waits(w, now))
        return CSCHED_EOUTPUT;
    uint64_t marks = 0;
    if (w->mark_count && w->mark_count == task->count) {
        w->marks[w->mark_count] = w->finished;
        marks = w->mark_count + 1;
        if (sizeof(result_entry_t) + marks * sizeof(uint64_t) + INLINE_MAX > ring_largest(&w->results))
            marks = 0; /* a small ring: only the chunk's own stamps */
    }
    result_entry_t form = {.head = {.slot = task->head.slot, .claim = status & CSCHED_PINS},
                           .ticket = task->ticket,
                           .status = status & ~(uint32_t)CSCHED_PINS,
                           .detail = failures,
                           .payload = {.size = size},
                           .received = w->received,
                           .started = w->started,
                           .finished = w->finished,
                           .returned = now,
                           .count = task->count};
    int rc = send(w, ENTRY_RESULT, &form, data, marks, block);
    if (rc == CSCHED_OK) {
        FAULT(w, result_committed);
        w->published = true;
        u64_store_release(&w->segment->claim_ticket, 0); /* after the result: its loss cannot be declared any more */
        FAULT(w, claim_cleared);
        ring_doorbell(w, task);
    }
    return rc;
}

CSCHED_EXPORT int csched_worker_turn(csched_worker_t *w, uint32_t status, uint32_t failures, const void *data,
                                     uint64_t size, uint64_t block, uint32_t spin_us, uint32_t timeout_ms,
                                     csched_item_t *item)
{
    int rc = csched_worker_publish(w, status, failures, data, size, block);
    if (rc < 0)
        return rc == CSCHED_EAGAIN ? CSCHED_EFULL : rc;
    return next(w, spin_us, timeout_ms, rc == CSCHED_OK ? w->flushed : 0, item);
}

static int emit(csched_worker_t *w, uint32_t kind, uint32_t detail, uint32_t failures, const void *data, uint64_t size,
                uint64_t block)
{
    const task_entry_t *task = w->current;
    result_entry_t form = {.head = {.slot = task ? task->head.slot : UINT32_MAX},
                           .ticket = task && task->head.kind == ENTRY_TASK ? task->ticket : 0,
                           .status = failures,
                           .detail = detail,
                           .payload = {.size = size},
                           .count = kind};
    int rc = send(w, ENTRY_MESSAGE, &form, data, 0, block);
    if (rc == CSCHED_OK) {
        FAULT(w, message_committed);
        ring_doorbell(w, NULL);
    }
    return rc;
}

CSCHED_EXPORT int csched_worker_emit(csched_worker_t *w, uint32_t kind, uint32_t detail, const void *data,
                                     uint64_t size, uint64_t block)
{
    return emit(w, kind, detail, 0, data, size, block);
}

CSCHED_EXPORT int csched_worker_partial(csched_worker_t *w, uint32_t end, uint32_t failures, const void *data,
                                        uint64_t size, uint64_t block)
{
    int rc = emit(w, CSCHED_PARTIAL, end, failures, data, size, block);
    if (rc == CSCHED_OK)
        u32_store_relaxed(&w->sent, end); /* partner: worker_send */
    return rc;
}

CSCHED_EXPORT int csched_worker_unpin(csched_worker_t *w, uint64_t ticket)
{
    result_entry_t form = {.head = {.slot = UINT32_MAX}, .ticket = ticket, .count = CSCHED_UNPIN};
    return send(w, ENTRY_MESSAGE, &form, NULL, 0, NO_BLOCK);
}
