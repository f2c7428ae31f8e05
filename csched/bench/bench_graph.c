/* What does a task cost the kernel from submit to commit, with a worker thread that answers at once?
 * Independent ones, one at a time (a round trip), in a chain, and submitted only. */
#include <pthread.h>
#include <sched.h>

#include "bench.h"

static csched_t *scheduler;
static pthread_t thread;
static int fds[4];

static void *answer(void *argument)
{
    csched_worker_t *worker;
    csched_item_t item;
    (void)argument;
    must(csched_worker_attach(fds, &worker));
    must(csched_worker_watch(worker, -1));
    must(csched_worker_ready(worker));
    for (int rc; (rc = csched_worker_next(worker, 50, 100, &item)) != CSCHED_ESTOPPED;) {
        if (rc == CSCHED_EAGAIN)
            continue;
        must(rc);
        while (csched_worker_publish(worker, CSCHED_NONE, 0, NULL, 0, UINT64_MAX) == CSCHED_EAGAIN)
            continue;
    }
    must(csched_worker_detach(worker));
    return NULL;
}

static void open_world(uint64_t slots, int with_worker)
{
    csched_config_t config = {.arena_bytes = 64 << 20, .spin_us = 50};
    uint32_t index;
    must(csched_create(&config, &scheduler));
    must(csched_reserve(scheduler, (uint32_t)slots));
    if (!with_worker)
        return;
    must(csched_worker_add(scheduler, &index, fds));
    must(-pthread_create(&thread, NULL, answer, NULL));
    csched_worker_info_t info = {0};
    while (info.state != 2) {
        csched_poll(scheduler, 0);
        must(csched_worker_info(scheduler, index, &info));
        sched_yield();
    }
}

static void close_world(int with_worker)
{
    if (with_worker) {
        must(csched_worker_retire(scheduler, 0));
        pthread_join(thread, NULL);
    }
    must(csched_destroy(scheduler));
}

static uint64_t commit_some(void)
{
    csched_completion_t rows[256];
    int count = csched_collect(scheduler, 256, rows);
    must(csched_commit(scheduler, (uint32_t)count));
    return (uint64_t)count;
}

static void finish(uint64_t operations)
{
    for (uint64_t done = 0; done < operations;) {
        must(csched_wait(scheduler, 50));
        done += commit_some();
    }
}

static const char body[64] = "a small pickle";

static uint64_t independent(uint64_t operations)
{
    open_world(operations, 1);
    uint64_t begin = csched_now();
    for (uint64_t i = 0; i < operations; i++)
        must(csched_submit(scheduler, (uint32_t)i, 0, 0, body, sizeof body, 0));
    finish(operations);
    uint64_t spent = csched_now() - begin;
    close_world(1);
    return spent;
}

static uint64_t round_trip(uint64_t operations)
{
    open_world(1, 1);
    uint64_t begin = csched_now();
    for (uint64_t i = 0; i < operations; i++) {
        must(csched_submit(scheduler, 0, 0, 0, body, sizeof body, 0));
        finish(1);
    }
    uint64_t spent = csched_now() - begin;
    close_world(1);
    return spent;
}

static uint64_t chain(uint64_t operations)
{
    open_world(operations, 1);
    csched_options_t options = {.count = 1, .block = UINT64_MAX};
    uint64_t ticket;
    uint64_t begin = csched_now();
    for (uint64_t i = 0; i < operations; i++) {
        int64_t made = csched_submit_with(scheduler, (uint32_t)i, 0, 0, body, sizeof body, 0, &options);
        must(made);
        ticket = (uint64_t)made;
        options.inputs = &ticket;
        options.input_count = 1;
    }
    finish(operations);
    uint64_t spent = csched_now() - begin;
    close_world(1);
    return spent;
}

/* One task that takes the results of all others: a figure per input, which does not depend on their number. */
static uint64_t fan_in(uint64_t operations)
{
    open_world(operations + 1, 1);
    uint64_t *tickets = malloc(operations * sizeof *tickets);
    must(csched_pause(scheduler, 1)); /* none is over when the last one comes */
    for (uint64_t i = 0; i < operations; i++) {
        int64_t made = csched_submit(scheduler, (uint32_t)i, 0, 0, body, sizeof body, 0);
        must(made);
        tickets[i] = (uint64_t)made;
    }
    csched_options_t options = {
        .count = 1, .block = UINT64_MAX, .inputs = tickets, .input_count = (uint32_t)operations};
    uint64_t begin = csched_now();
    must(csched_submit_with(scheduler, (uint32_t)operations, 0, 0, body, sizeof body, 0, &options));
    must(csched_pause(scheduler, 0));
    finish(operations + 1);
    uint64_t spent = csched_now() - begin;
    free(tickets);
    close_world(1);
    return spent;
}

static uint64_t submit_only(uint64_t operations)
{
    open_world(operations, 0);
    uint64_t begin = csched_now();
    for (uint64_t i = 0; i < operations; i++)
        must(csched_submit(scheduler, (uint32_t)i, 0, 0, body, sizeof body, 0));
    uint64_t spent = csched_now() - begin;
    close_world(0);
    return spent;
}

int main(void)
{
    bench("graph: submit, no worker", 500000, submit_only);
    bench("graph: submit to commit, independent", 500000, independent);
    bench("graph: submit to commit, a chain", 100000, chain);
    bench("graph: 5,000 inputs of one task, each", 5000, fan_in);
    bench("graph: 40,000 inputs of one task, each", 40000, fan_in);
    bench("graph: submit to commit, one at a time", 50000, round_trip);
}
