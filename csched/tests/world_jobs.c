/* The worker's side of world.h: runs the jobs. */
#define _GNU_SOURCE
#include <signal.h>

#include "worker.h"
#include "world.h"

static void pass_gate(uint64_t gate)
{
    u32_add(&board->at_gate[gate], 1);
    UNTIL(u32_acquire(&board->gates[gate]) || u32_acquire(&board->gates[ALL_OPEN])); /* partner: open_gate */
}

static int publish(csched_worker_t *worker, uint32_t status, uint32_t failures, const void *data, uint64_t size,
                   uint64_t block)
{
    int rc;
    do
        rc = csched_worker_publish(worker, status, failures, data, size, block);
    while (rc == CSCHED_EAGAIN && !u32_acquire(&board->gates[ALL_OPEN]));
    return rc;
}

static void return_block(csched_worker_t *worker, uint32_t tag, uint64_t bytes)
{
    uint64_t block, address;
    if (csched_worker_alloc(worker, bytes, &block, &address) < 0)
        OK(csched_worker_spill(worker, bytes, &block, &address));
    u64_store_relaxed(&board->arena_used[csched_worker_index(worker) % 64], worker->heap.memory.used);
    uint8_t *data = (uint8_t *)(uintptr_t)address;
    memset(data, (int)(tag & 0xff), bytes);
    OK(csched_worker_fill(worker, block, data, 1));
    publish(worker, CSCHED_VALUE, 0, NULL, bytes, block);
}

static uint64_t sum_inputs(csched_worker_t *worker, const csched_item_t *item)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < item->inputs; i++) {
        uint32_t status;
        uint64_t address, size, value = 0;
        OK(csched_worker_input(worker, i, &status, &address, &size));
        if (status == CSCHED_VALUE) {
            EQUAL(size, sizeof value);
            memcpy(&value, (const void *)(uintptr_t)address, sizeof value);
        }
        sum += value;
    }
    return sum;
}

static uint64_t measure_inputs(csched_worker_t *worker, const csched_item_t *item)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < item->inputs; i++) {
        uint32_t status;
        uint64_t address, size;
        OK(csched_worker_input(worker, i, &status, &address, &size));
        const uint8_t *data = (const uint8_t *)(uintptr_t)address;
        for (uint64_t at = 0; at < size; at += 509)
            EQUAL(data[at], data[0]);
        CHECK(!size || data[size - 1] == data[0]);
        bytes += size;
    }
    return bytes;
}

static void publish_nonsense(csched_worker_t *worker)
{
    entry_t *entry;
    OK(ring_reserve(&worker->results, 96, &entry));
    memset((uint8_t *)entry + sizeof *entry, 0xee, 96 - sizeof *entry);
    entry->kind = ENTRY_RESULT;
    ring_commit(&worker->results);
}

static void emit_many(csched_worker_t *worker, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        int rc;
        do
            rc = csched_worker_emit(worker, CSCHED_OUTPUT, 1, &i, sizeof i, IN_LINE);
        while (rc == CSCHED_EAGAIN && !u32_acquire(&board->gates[ALL_OPEN]));
    }
}

static void run_chunk(csched_worker_t *worker, const csched_item_t *item, uint64_t failures)
{
    csched_worker_started(worker);
    for (uint32_t i = 0; i < item->count; i++)
        csched_worker_element(worker, i);
    csched_worker_finished(worker);
    publish(worker, CSCHED_VALUE, (uint32_t)failures, &failures, sizeof failures, IN_LINE);
}

static void pin(csched_worker_t *worker, uint64_t ticket)
{
    static uint64_t pinned;
    while (pinned && csched_worker_unpin(worker, pinned) == CSCHED_EAGAIN)
        continue;
    pinned = ticket;
    publish(worker, CSCHED_NONE | CSCHED_PINS, 0, NULL, 0, IN_LINE);
}

static void run_plain(csched_worker_t *worker, const csched_item_t *item, const job_t *job)
{
    uint64_t value = job->value;
    csched_worker_started(worker);
    if (job->kind == JOB_GATE)
        pass_gate(value);
    else if (job->kind == JOB_EMIT)
        emit_many(worker, value);
    else if (job->kind == JOB_SUM)
        value += sum_inputs(worker, item);
    else if (job->kind == JOB_MEASURE)
        value = measure_inputs(worker, item);
    else if (job->kind == JOB_KILL)
        kill(getpid(), SIGKILL);
    csched_worker_finished(worker);
    if (job->kind == JOB_SUM || job->kind == JOB_MEASURE)
        publish(worker, CSCHED_VALUE, 0, &value, sizeof value, IN_LINE);
    else if (job->kind == JOB_FAIL && item->flags < value)
        publish(worker, CSCHED_ERROR, 1, "error", 5, IN_LINE);
    else
        publish(worker, CSCHED_NONE, 0, NULL, 0, IN_LINE);
    if (job->kind == JOB_PUBLISH_AND_DIE)
        kill(getpid(), SIGKILL);
    if (job->kind == JOB_TWICE)
        publish(worker, CSCHED_ERROR, 1, "late", 4, IN_LINE);
}

void run_job(csched_worker_t *worker, const csched_item_t *item)
{
    job_t job;
    CHECK(item->size >= sizeof job);
    memcpy(&job, (const void *)(uintptr_t)item->address, sizeof job);
    u32_add(&board->ran[job.tag % BOARD_TASKS], 1);
    uint32_t n = u32_add(&board->order, 1);
    if (n < sizeof board->started_as / sizeof *board->started_as)
        u32_store_release(&board->started_as[n], job.tag);
    if (job.kind == JOB_BLOCK)
        return_block(worker, job.tag, job.value);
    else if (job.kind == JOB_CHUNK)
        run_chunk(worker, item, job.value);
    else if (job.kind == JOB_PIN)
        pin(worker, item->ticket);
    else if (job.kind == JOB_CORRUPT)
        publish_nonsense(worker);
    else if (job.kind == JOB_ECHO && item->size <= INLINE_LIMIT)
        publish(worker, CSCHED_VALUE, 0, (const void *)(uintptr_t)item->address, item->size, IN_LINE);
    else
        run_plain(worker, item, &job);
}

void worker_loop(csched_worker_t *worker)
{
    csched_item_t item;
    for (;;) {
        int rc = csched_worker_next(worker, 20, 200, &item);
        if (rc == CSCHED_EAGAIN)
            continue;
        if (rc == CSCHED_ESTOPPED)
            return;
        OK(rc);
        if (item.kind == CSCHED_TASK)
            run_job(worker, &item);
        else if (item.kind == CSCHED_CONTROL)
            csched_worker_emit(worker, CSCHED_REPLY, item.function, (const void *)(uintptr_t)item.address, item.size,
                               IN_LINE);
    }
}
