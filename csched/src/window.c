/* A worker's window: puts tasks into its ring, enough to keep it busy for a while, and takes them back. */
#include <stdlib.h>
#include <string.h>

#include "allocations.h"
#include "blob.h"
#include "doorbell.h"
#include "internal.h"
#include "segment.h"
#include "task.h"
#include "window.h"

enum { WINDOW_MIN = 2 };
#define LONGEST_NS UINT64_C(3600000000000)

/* `entry` has just been reserved. */
static int held_push(worker_t *worker, uint32_t slot, entry_t *entry)
{
    if (worker->held_count == worker->held_capacity) {
        uint32_t capacity = worker->held_capacity ? 2 * worker->held_capacity : 64;
        held_t *grown = malloc(capacity * sizeof *grown);
        if (!grown)
            return CSCHED_ENOMEM;
        for (uint32_t i = 0; i < worker->held_count; i++)
            grown[i] = worker->held[(worker->held_head + i) & (worker->held_capacity - 1)];
        free(worker->held);
        worker->held = grown;
        worker->held_head = 0;
        worker->held_capacity = capacity;
    }
    uint64_t position = worker->tasks.position + worker->tasks.reserved - entry->bytes;
    worker->held[(worker->held_head + worker->held_count++) & (worker->held_capacity - 1)] =
        (held_t){slot, entry, position};
    return CSCHED_OK;
}

held_t *held_at(worker_t *worker, uint32_t i)
{
    return &worker->held[(worker->held_head + i) & (worker->held_capacity - 1)];
}

void window_pop(worker_t *worker)
{
    worker->held_head = (worker->held_head + 1) & (worker->held_capacity - 1);
    worker->held_count--;
}

void window_learn(csched_t *s, uint32_t index, uint64_t duration_ns)
{
    worker_t *worker = s->workers[index];
    duration_ns = duration_ns < LONGEST_NS ? duration_ns + 1 : LONGEST_NS; /* never 0; it comes from shared memory */
    load_t *load = &s->loads[index];
    load->mean_ns = load->mean_ns ? (7 * load->mean_ns + duration_ns + 7) / 8 : duration_ns;
    uint64_t window = s->config.window_ns / load->mean_ns + WINDOW_MIN;
    load->running_ns = 0;
    worker->gave_way = false;
    if (!worker->retiring)
        load->window = window > s->config.window_most ? s->config.window_most : (uint32_t)window;
}

/* Appends a blob to an entry, or refers to it; `at` is the next free byte of the entry. */
static uint64_t place(csched_t *s, ref_t *ref, const blob_t *blob, uint8_t *entry, uint64_t at)
{
    if (!blob) {
        *ref = (ref_t){.region = REGION_NONE};
    } else if (blob->region != REGION_INLINE) {
        *ref = (ref_t){.region = blob->region, .offset = blob->offset, .size = blob->size};
    } else {
        *ref = (ref_t){.region = REGION_INLINE, .offset = at, .size = blob->size};
        memcpy(entry + at, blob_data(s, blob), blob->size);
        at += (blob->size + ENTRY_ALIGN - 1) & ~(uint64_t)(ENTRY_ALIGN - 1);
    }
    return at;
}

static uint64_t inline_bytes(const blob_t *blob)
{
    return blob && blob->region == REGION_INLINE ? (blob->size + ENTRY_ALIGN - 1) & ~(uint64_t)(ENTRY_ALIGN - 1) : 0;
}

static uint64_t refs_bytes(uint32_t inputs)
{
    return ((uint64_t)inputs * sizeof(ref_t) + ENTRY_ALIGN - 1) & ~(uint64_t)(ENTRY_ALIGN - 1);
}

static uint64_t place_inputs(csched_t *s, const inputs_t *inputs, ref_t *refs, uint8_t *base, uint64_t at)
{
    at += refs_bytes(inputs->count);
    for (uint32_t i = 0; i < inputs->count; i++) {
        at = place(s, &refs[i], inputs->of[i].blob, base, at);
        refs[i].status = inputs->of[i].status;
    }
    return at;
}

/* Puts the refs and bytes of many or large inputs into a block of the kernel. */
static int make_bundle(csched_t *s, inputs_t *inputs, uint64_t bytes)
{
    uint64_t offset;
    int rc = heap_alloc(&s->heap, bytes, &offset);
    if (rc < 0)
        rc = kernel_spill(s, bytes, &offset);
    if (rc < 0)
        return CSCHED_ENOMEM; /* not CSCHED_EFULL, which means the ring */
    rc = blob_from_block(s, REGION_KERNEL, offset, bytes, &inputs->bundle);
    if (rc < 0) {
        heap_free(&s->heap, offset);
        return rc;
    }
    uint8_t *base = heap_at(&s->heap, offset);
    place_inputs(s, inputs, (ref_t *)base, base, 0);
    return CSCHED_OK;
}

static int push_function(csched_t *s, worker_t *worker, uint32_t function)
{
    if (function / 64 >= worker->sent_function_words) {
        uint32_t words = function / 64 + 8;
        uint64_t *grown = realloc(worker->sent_functions, words * sizeof *grown);
        if (!grown)
            return CSCHED_ENOMEM;
        memset(grown + worker->sent_function_words, 0, (words - worker->sent_function_words) * sizeof *grown);
        worker->sent_functions = grown;
        worker->sent_function_words = words;
    }
    if (worker->sent_functions[function / 64] >> function % 64 & 1)
        return CSCHED_OK;
    const function_t *pushed = &s->functions[function];
    blob_t *blob = pushed->blob;
    entry_t *entry = NULL;
    int rc = CSCHED_OK;
    for (uint32_t i = 0; !rc && i < pushed->need_count; i++)
        rc = push_function(s, worker, pushed->needs[i]); /* of smaller numbers: no circle */
    if (!rc && blob->size)
        rc = ring_reserve(&worker->tasks, sizeof(task_entry_t) + inline_bytes(blob), &entry);
    if (rc < 0 || (rc = pin_function(worker, function, blob)) < 0)
        return rc;
    worker->sent_functions[function / 64] |= UINT64_C(1) << function % 64;
    if (!blob->size)
        return CSCHED_OK;
    task_entry_t *head = (task_entry_t *)entry;
    head->head.kind = ENTRY_FUNCTION;
    head->function = function;
    place(s, &head->payload, blob, (uint8_t *)entry, sizeof *head);
    ring_commit(&worker->tasks);
    return CSCHED_OK;
}

static int push_control(worker_t *worker, uint32_t number, const void *data, uint64_t size)
{
    entry_t *entry;
    int rc = ring_reserve(&worker->tasks, sizeof(task_entry_t) + size, &entry);
    if (rc < 0)
        return rc;
    task_entry_t *head = (task_entry_t *)entry;
    head->head.kind = ENTRY_CONTROL;
    head->function = number;
    head->payload = (ref_t){.region = REGION_INLINE, .offset = sizeof *head, .size = size};
    if (size)
        memcpy(head + 1, data, size);
    ring_commit(&worker->tasks);
    worker_wake(worker);
    return CSCHED_OK;
}

static void drop_first_control(worker_t *worker)
{
    control_t *first = worker->controls;
    worker->controls = first->next;
    free(first);
}

void window_drop_controls(worker_t *worker)
{
    while (worker->controls)
        drop_first_control(worker);
}

/* What waits for room precedes whatever else is put into the ring. */
static int push_waiting(worker_t *worker)
{
    int rc = CSCHED_OK;
    while (worker->controls && !rc) {
        rc = push_control(worker, 0, worker->controls->data, worker->controls->size);
        if (!rc)
            drop_first_control(worker);
    }
    return rc;
}

int window_push_control(worker_t *worker, uint32_t number, const void *data, uint64_t size)
{
    int rc = push_waiting(worker);
    return rc ? rc : push_control(worker, number, data, size);
}

int window_push_latest(worker_t *worker, uint32_t topic, const void *data, uint64_t size)
{
    if (sizeof(task_entry_t) + size > ring_largest(&worker->tasks))
        return CSCHED_ETOOBIG;
    int rc = window_push_control(worker, 0, data, size);
    if (rc != CSCHED_EFULL)
        return rc;
    control_t *made = malloc(sizeof *made + size);
    if (!made)
        return CSCHED_ENOMEM;
    *made = (control_t){.topic = topic, .size = size};
    memcpy(made->data, data, size);
    control_t **at = &worker->controls;
    while (*at) {
        control_t *old = *at;
        if (old->topic == topic) {
            *at = old->next;
            free(old);
        } else {
            at = &old->next;
        }
    }
    *at = made;
    return CSCHED_OK;
}

/* Retires a worker that was sent its last task. */
static void wear_out(csched_t *s, uint32_t index)
{
    worker_t *worker = s->workers[index];
    worker->retiring = true;
    s->loads[index].window = 0;
    u32_store_release(&worker->segment->retire, 1); /* after the task is in the ring; partner: csched_worker_next */
}

int window_push(csched_t *s, uint32_t index, uint32_t slot, uint64_t now)
{
    worker_t *worker = s->workers[index];
    task_t *task = task_at(s, slot);
    inputs_t *inputs = task->inputs;
    int rc = push_waiting(worker);
    if (!rc && task->function)
        rc = push_function(s, worker, task->function);
    if (!rc && inputs && inputs->needs)
        rc = push_function(s, worker, inputs->needs);
    if (rc < 0)
        return rc;
    uint64_t bytes = sizeof(task_entry_t) + inline_bytes(task->payload), extra = 0;
    if (inputs && !inputs->bundle) {
        extra = refs_bytes(inputs->count);
        for (uint32_t i = 0; i < inputs->count; i++)
            extra += inline_bytes(inputs->of[i].blob);
        if (extra > INLINE_MAX || bytes + extra > ring_largest(&worker->tasks)) {
            if ((rc = make_bundle(s, inputs, extra)) < 0)
                return rc;
            extra = 0;
        }
    }
    entry_t *entry;
    if ((rc = ring_reserve(&worker->tasks, bytes + extra, &entry)) < 0)
        return rc;
    if ((rc = held_push(worker, slot, entry)) < 0)
        return rc;
    task_entry_t *head = (task_entry_t *)entry;
    entry->kind = ENTRY_TASK;
    entry->slot = slot;
    u32_store_relaxed(&entry->claim, CLAIM_QUEUED); /* published by ring_commit */
    head->ticket = task->ticket;
    head->function = task->function;
    head->count = task->count;
    head->attempt =
        task->attempt | (task->dependents != NO_EDGE ? ENTRY_URGENT : 0) | (task->flags & FLAG_ALONE ? ENTRY_ALONE : 0);
    head->dispatched = now;
    head->inputs = task->input_count;
    head->bundle = !inputs ? ALL_NONE : inputs->bundle ? inputs->bundle->offset : NO_BLOCK;
    uint64_t at = sizeof *head;
    if (inputs && !inputs->bundle)
        at = place_inputs(s, inputs, (ref_t *)(head + 1), (uint8_t *)entry, at);
    place(s, &head->payload, task->payload, (uint8_t *)entry, at);
    task->dispatched = now;
    if (task->ready < s->resumed)
        task->flags |= FLAG_HELD;
    task->worker = (uint16_t)index;
    task->state = TASK_SENT;
    ring_commit(&worker->tasks);
    s->loads[index].held++;
    worker->sent += task->count;
    if (s->config.worker_tasks && worker->sent >= s->config.worker_tasks)
        wear_out(s, index);
    return CSCHED_OK;
}

/* An entry whose result has not been drained may have been overwritten by a newer one, since its worker had released
 * it: its claim word then belongs to that other task. */
bool held_revoke(worker_t *worker, held_t *held)
{
    if (worker->tasks.position - held->position > worker->tasks.capacity)
        return false;
    return u32_cas(&held->entry->claim, CLAIM_QUEUED, CLAIM_REVOKED); /* partner: claim in worker.c */
}

bool window_revoke(csched_t *s, task_t *task, uint32_t slot)
{
    worker_t *worker = s->workers[task->worker];
    for (uint32_t i = worker->held_count; i-- > 0;) {
        held_t *held = held_at(worker, i);
        if (held->slot != slot)
            continue;
        if (!held_revoke(worker, held))
            return false;
        held->slot = NO_TASK;
        while (worker->held_count && held_at(worker, worker->held_count - 1)->slot == NO_TASK)
            worker->held_count--; /* revoked ones get no result; so the newest entry is always a task */
        s->loads[task->worker].held--;
        drop_bundle(s, task);
        if (task->flags & FLAG_ALLOCATED)
            allocation_return(s, task);
        return true;
    }
    return false;
}
