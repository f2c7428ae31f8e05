#define _GNU_SOURCE
#include "internal.h"
#include "segment.h"
#include "world.h"

#include <signal.h>
#include <sys/resource.h>

enum { MEMORY = 1 << 20 };

static world_t *small_world(void)
{
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = MEMORY, .helper = 1};
    return world_open_with(&config);
}

static csched_options_t after(const uint64_t *tickets, uint32_t count)
{
    csched_options_t options = plain();
    options.inputs = tickets;
    options.input_count = count;
    return options;
}

static uint64_t value_seen;

static void note_value(world_t *w, const csched_completion_t *completion)
{
    (void)w;
    if (completion->status == CSCHED_VALUE && completion->size == sizeof value_seen)
        memcpy(&value_seen, (const void *)(uintptr_t)completion->address, sizeof value_seen);
}

/* Results that memory does not hold, read by the kernel, by the worker that made them and by another. */
static void results_go_to_a_file(void)
{
    world_t *w = small_world();
    uint64_t inputs[6], bytes = 3 * MEMORY;
    w->on_completion = note_value;
    world_thread(w);
    world_thread(w);
    for (uint32_t i = 0; i < 6; i++)
        inputs[i] = submit(w, JOB_BLOCK, i, bytes);
    csched_options_t options = after(inputs, 6);
    submit_with(w, (job_t){JOB_MEASURE, 0, 0}, &options);
    submit_with(w, (job_t){JOB_MEASURE, 1, 0}, &options);
    finish(w, 8);
    EQUAL(w->by_status[CSCHED_VALUE], 8);
    EQUAL(value_seen, 6 * bytes);
    for (uint32_t i = 0; i < 2; i++)
        EQUAL(w->s->regions[w->s->workers[i]->region].live, 0);
    world_close(w);
}

/* What was given back is really gone from the disk, also when the worker has nothing more to do. */
static void an_idle_worker_gives_its_file_back(void)
{
    world_t *w = small_world();
    world_thread(w);
    submit(w, JOB_BLOCK, 0, 3 * MEMORY);
    finish(w, 1);
    const region_t *region = &w->s->regions[w->s->workers[0]->region];
    uint64_t bytes;
    UNTIL((OK(memory_size(region->file, &bytes)), bytes == 0));
    world_close(w);
}

static uint64_t spill_task(world_t *w, uint32_t slot, job_t job, uint64_t size)
{
    csched_options_t options = plain();
    uint64_t address;
    OK(csched_block_spill(w->s, size, &options.block, &address));
    memcpy((void *)(uintptr_t)address, &job, sizeof job);
    OK(csched_reserve(w->s, slot + 1));
    int64_t ticket = csched_submit_with(w->s, slot, 0, 0, NULL, size, 0, &options);
    CHECK(ticket > 0);
    return (uint64_t)ticket;
}

/* Workers that were there before the file, and those that come after. */
static void arguments_go_to_a_file(void)
{
    world_t *w = small_world();
    world_thread(w);
    submit(w, JOB_NONE, 0, 0);
    finish(w, 1);
    spill_task(w, 1, (job_t){JOB_NONE, 1, 0}, 5 * MEMORY);
    finish(w, 2);
    EQUAL(stats_of(w).file_used, 0);
    EQUAL(stats_of(w).file_size, 0);
    spill_task(w, 2, (job_t){JOB_GATE, 2, 0}, 2 * MEMORY);
    UNTIL((csched_poll(w->s, 0), u32_relaxed(&board->at_gate[0]) == 1));
    spill_task(w, 3, (job_t){JOB_NONE, 3, 0}, 2 * MEMORY);
    world_thread(w); /* the first waits at the gate: it is this one's */
    finish(w, 3);
    open_gate(0);
    finish(w, 4);
    EQUAL(stats_of(w).file_used + stats_of(w).arena_used, 0);
    world_close(w);
}

/* The inputs of one task, too many for a ring, are together larger than all memory. */
static void a_bundle_larger_than_memory(void)
{
    enum { INPUTS = 200 };
    world_t *w = small_world();
    world_thread(w);
    uint8_t *body = calloc(1, INLINE_LIMIT);
    memcpy(body, &(job_t){JOB_ECHO, 0, 0}, sizeof(job_t));
    uint64_t inputs[INPUTS];
    OK(csched_reserve(w->s, INPUTS + 1));
    for (uint32_t i = 0; i < INPUTS; i++)
        inputs[i] = (uint64_t)csched_submit(w->s, i, 0, 0, body, INLINE_LIMIT, 0);
    csched_options_t options = after(inputs, INPUTS);
    job_t job = {JOB_NONE, 1, 0};
    CHECK(csched_submit_with(w->s, INPUTS, 0, 0, &job, sizeof job, 0, &options) > 0);
    finish(w, INPUTS + 1);
    EQUAL(w->by_status[CSCHED_NONE], 1);
    EQUAL(stats_of(w).file_used, 0);
    free(body);
    world_close(w);
}

/* Neither memory nor disk: the task that cannot be sent fails, and those behind it run. */
static void a_bundle_that_fits_nowhere(void)
{
    enum { INPUTS = 400 };
    world_t *w = small_world();
    uint64_t inputs[INPUTS];
    uint8_t *body = calloc(1, INLINE_LIMIT);
    memcpy(body, &(job_t){JOB_ECHO, 0, 0}, sizeof(job_t));
    world_thread(w);
    OK(csched_reserve(w->s, INPUTS + 3));
    for (uint32_t i = 0; i < INPUTS; i++)
        inputs[i] = (uint64_t)csched_submit(w->s, i, 0, 0, body, INLINE_LIMIT, 0);
    UNTIL(csched_poll(w->s, 0) == INPUTS);
    struct rlimit limit = {.rlim_cur = 2 * MEMORY, .rlim_max = RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    OK(setrlimit(RLIMIT_FSIZE, &limit));
    csched_options_t options = after(inputs, INPUTS);
    job_t job = {JOB_NONE, 1, 0};
    uint64_t lost = (uint64_t)csched_submit_with(w->s, INPUTS, 0, 0, &job, sizeof job, 0, &options);
    options = after(&lost, 1);
    CHECK(csched_submit_with(w->s, INPUTS + 1, 0, 0, &job, sizeof job, 0, &options) > 0);
    CHECK(csched_submit(w->s, INPUTS + 2, 0, 0, &job, sizeof job, 0) > 0);
    finish(w, INPUTS + 3);
    EQUAL(w->by_status[CSCHED_NOROOM], 1);
    EQUAL(w->by_status[CSCHED_DEPENDENCY], 1);
    EQUAL(w->by_status[CSCHED_NONE], 1);
    free(body);
    world_close(w);
}

/* A ref into a file that was never sent, or beyond its end, is not believed. */
static void refs_into_the_file_are_checked(void)
{
    for (int sent = 0; sent < 2; sent++) {
        world_t *w = small_world();
        csched_worker_t *worker = by_hand(w);
        uint64_t block = MEMORY + 64, address;
        csched_message_t message;
        submit(w, JOB_NONE, 0, 0);
        next_item(worker, CSCHED_TASK);
        if (sent)
            OK(csched_worker_spill(worker, 100, &block, &address));
        OK(csched_worker_publish(worker, CSCHED_VALUE, 0, NULL, 8 * MEMORY, block));
        UNTIL((csched_poll(w->s, 0), csched_messages(w->s, 1, &message) == 1));
        EQUAL(message.detail, -CSCHED_ECORRUPT);
        OK(csched_messages_commit(w->s, 1));
        OK(csched_worker_lost(w->s, 0));
        finish(w, 1);
        EQUAL(w->by_status[CSCHED_LOST], 1);
        OK(csched_worker_detach(worker));
        world_close(w);
    }
}

MAIN(TEST(results_go_to_a_file), TEST(an_idle_worker_gives_its_file_back), TEST(arguments_go_to_a_file),
     TEST(a_bundle_larger_than_memory), TEST(a_bundle_that_fits_nowhere), TEST(refs_into_the_file_are_checked))
