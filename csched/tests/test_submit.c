#include "world.h"

enum { MANY = SCALED(100000), LONG = MANY / 4, WIDE = 10000, MILLION = SCALED(1000000) };

static uint64_t value_of(const csched_completion_t *completion)
{
    uint64_t value = 0;
    EQUAL(completion->size, sizeof value);
    memcpy(&value, (const void *)(uintptr_t)completion->address, sizeof value);
    return value;
}

static uint64_t last_value;

static void keep_value(world_t *w, const csched_completion_t *completion)
{
    (void)w;
    if (completion->status == CSCHED_VALUE && completion->size == sizeof last_value)
        last_value = value_of(completion);
}

static void every_task_runs_once(world_t *w, uint32_t count)
{
    EQUAL(w->by_status[CSCHED_NONE], count);
    for (uint32_t i = 0; i < count; i++)
        EQUAL(u32_relaxed(&board->ran[i]), 1);
}

static void independent_tasks(void)
{
    world_t *w = world_open(1);
    world_threads(w, 2);
    for (uint32_t i = 0; i < MANY; i++) {
        submit(w, JOB_NONE, i, 0);
        if (i % 1000 == 0)
            collect_some(w);
    }
    finish(w, MANY);
    every_task_runs_once(w, MANY);
    csched_stats_t stats = stats_of(w);
    EQUAL(stats.submitted, MANY);
    EQUAL(stats.succeeded, MANY);
    EQUAL(stats.waiting + stats.queued + stats.running + stats.completions, 0);
    world_close(w);
}

static void a_million_before_any_worker(void)
{
    world_t *w = world_open(0);
    for (uint32_t i = 0; i < MILLION; i++)
        submit(w, JOB_NONE, i, 0);
    EQUAL(stats_of(w).queued, MILLION);
    world_threads(w, 2);
    finish(w, MILLION);
    every_task_runs_once(w, MILLION);
    world_close(w);
}

static csched_options_t after(const uint64_t *inputs, uint32_t count)
{
    csched_options_t options = plain();
    options.inputs = inputs;
    options.input_count = count;
    return options;
}

/* Each adds 1 to its input, and all of them are there before the first one runs. */
static void a_chain(void)
{
    world_t *w = world_open(1);
    w->on_completion = keep_value;
    csched_options_t options = plain();
    uint64_t ticket = submit_with(w, (job_t){JOB_SUM, 0, 1}, NULL);
    for (uint32_t i = 1; i < LONG; i++) {
        options = after(&ticket, 1);
        ticket = submit_with(w, (job_t){JOB_SUM, i, 1}, &options);
    }
    EQUAL(stats_of(w).waiting, LONG - 1);
    EQUAL(csched_task_state(w->s, ticket), 1);
    world_threads(w, 2);
    finish(w, LONG);
    EQUAL(last_value, LONG);
    world_close(w);
}

static void diamonds(void)
{
    world_t *w = world_open(1);
    world_threads(w, 3);
    w->on_completion = keep_value;
    uint64_t top = submit(w, JOB_SUM, 0, 1);
    for (uint32_t i = 0; i < 2000; i++) { /* each bottom is its top + 2 */
        csched_options_t options = after(&top, 1);
        uint64_t sides[2];
        sides[0] = submit_with(w, (job_t){JOB_SUM, 3 * i + 1, 1}, &options);
        sides[1] = submit_with(w, (job_t){JOB_NONE, 3 * i + 2, 0}, &options);
        options = after(sides, 2);
        top = submit_with(w, (job_t){JOB_SUM, 3 * i + 3, 1}, &options);
    }
    finish(w, 6001);
    EQUAL(last_value, 1 + 2 * 2000);
    world_close(w);
}

/* Too many inputs for a ring entry: they go through a block of the kernel's arena, which comes back. */
static void fan_in(void)
{
    world_t *w = world_open(1);
    world_threads(w, 2);
    w->on_completion = keep_value;
    uint64_t *inputs = malloc(WIDE * sizeof *inputs);
    uint64_t gate = submit(w, JOB_GATE, 0, 1); /* keeps the inputs from being collected before they are used */
    for (uint32_t i = 0; i < WIDE; i++) {
        csched_options_t options = after(&gate, 1);
        inputs[i] = submit_with(w, (job_t){JOB_SUM, i, i}, &options);
    }
    csched_options_t options = after(inputs, WIDE);
    submit_with(w, (job_t){JOB_SUM, 0, 5}, &options);
    open_gate(1);
    finish(w, WIDE + 2);
    EQUAL(last_value, (uint64_t)WIDE * (WIDE - 1) / 2 + 5);
    EQUAL(stats_of(w).arena_used, 0);
    free(inputs);
    world_close(w);
}

/* Inputs that were done before: taken at once, while their completion has not been committed. */
static void inputs_already_there(void)
{
    world_t *w = world_open(0);
    world_thread(w);
    w->on_completion = keep_value;
    uint64_t inputs[3] = {submit(w, JOB_SUM, 0, 1), submit(w, JOB_NONE, 0, 0), submit(w, JOB_SUM, 0, 10)};
    UNTIL(csched_poll(w->s, 0) == 3);
    csched_options_t options = after(inputs, 3);
    submit_with(w, (job_t){JOB_SUM, 0, 100}, &options);
    finish(w, 4);
    EQUAL(last_value, 111);
    job_t job = {JOB_SUM, 0, 0};
    EQUAL(csched_submit_with(w->s, 9, 0, 0, &job, sizeof job, 0, &options), CSCHED_ESTALE);
    world_close(w);
}

/* One that is not known any more: the task is over, like one whose input fails later, and has a journey too. */
static void an_input_that_failed_long_ago(void)
{
    world_t *w = world_open(0);
    world_thread(w);
    uint64_t bad = submit(w, JOB_FAIL, 0, 1);
    finish(w, 1);
    csched_options_t options = plain();
    options.failed = 2;
    uint64_t ticket = submit_with(w, (job_t){JOB_NONE, 1, 0}, &options);
    CHECK(ticket > bad);
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_DEPENDENCY], 1);
    EQUAL(stats_of(w).failed, 2);
    EQUAL(stats_of(w).submitted, 2);
    csched_journey_t rows[8];
    uint64_t cursor = 0, dropped;
    uint32_t n = csched_journeys(w->s, &cursor, 8, rows, &dropped);
    EQUAL(n, 2);
    EQUAL(rows[1].ticket, ticket);
    EQUAL(rows[1].status, CSCHED_DEPENDENCY);
    EQUAL(u32_relaxed(&board->order), 1); /* nothing of it ran */
    world_close(w);
}

static uint64_t kernel_block(world_t *w, job_t job, uint64_t bytes)
{
    uint64_t block, address;
    OK(csched_block_alloc(w->s, bytes, &block, &address));
    memset((void *)(uintptr_t)address, 0x55, bytes);
    OK(csched_block_fill(w->s, block, &job, sizeof job));
    return block;
}

static void payloads_larger_than_the_ring(void)
{
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = 64 << 20};
    world_t *w = world_open_with(&config);
    world_threads(w, 2);
    OK(csched_reserve(w->s, 100));
    for (uint32_t i = 0; i < 100; i++) {
        csched_options_t options = plain();
        options.block = kernel_block(w, (job_t){JOB_NONE, i, 0}, 300000);
        CHECK(csched_submit_with(w->s, i, 0, 0, NULL, 300000, 0, &options) > 0);
    }
    finish(w, 100);
    every_task_runs_once(w, 100);
    EQUAL(stats_of(w).arena_used, 0); /* the blocks went back */
    uint8_t *large = calloc(1, INLINE_LIMIT + 1);
    EQUAL(csched_submit(w->s, 0, 0, 0, large, INLINE_LIMIT + 1, 0), CSCHED_ETOOBIG);
    free(large);
    world_close(w);
}

static void the_largest_in_line_payloads_and_inputs(void)
{
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = 16 << 20};
    world_t *w = world_open_with(&config);
    world_threads(w, 1);
    OK(csched_reserve(w->s, 200));
    uint8_t *body = calloc(1, INLINE_LIMIT);
    memcpy(body, &(job_t){JOB_ECHO, 0, 0}, sizeof(job_t));
    uint64_t inputs[2];
    csched_options_t options = plain();
    for (uint32_t i = 0; i < 60; i++) {
        inputs[0] = (uint64_t)csched_submit(w->s, 3 * i, 0, 0, body, INLINE_LIMIT - 48, 0);
        options.inputs = inputs;
        options.input_count = 1;
        CHECK(csched_submit_with(w->s, 3 * i + 1, 0, 0, body, INLINE_LIMIT, 0, &options) > 0);
    }
    finish(w, 120);
    EQUAL(w->by_status[CSCHED_VALUE], 120);
    EQUAL(stats_of(w).arena_used, 0);
    free(body);
    world_close(w);
}

static void priorities_run_larger_first(void)
{
    world_t *w = world_open(0);
    csched_options_t options = plain();
    static const int32_t order[] = {0, -100, 50, 100, 0, 50, -1, 100};
    static const uint32_t expected[] = {3, 7, 2, 5, 0, 4, 6, 1};
    for (uint32_t i = 0; i < 8; i++) {
        options.priority = order[i];
        submit_with(w, (job_t){JOB_NONE, i, 0}, &options);
    }
    world_thread(w);
    finish(w, 8);
    for (uint32_t i = 0; i < 8; i++)
        EQUAL(u32_relaxed(&board->started_as[i]), expected[i]);
    world_close(w);
}

static void not_before_its_time(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    csched_options_t options = plain();
    options.not_before = csched_now() + 60000000;
    uint64_t late = submit_with(w, (job_t){JOB_NONE, 1, 0}, &options);
    options.not_before = csched_now() + UINT64_C(3600000000000);
    uint64_t never = submit_with(w, (job_t){JOB_NONE, 2, 0}, &options);
    submit(w, JOB_NONE, 3, 0);
    EQUAL(csched_task_state(w->s, never), 1);
    finish(w, 1);
    EQUAL(csched_task_state(w->s, late), 1);
    finish(w, 2);
    csched_journey_t rows[4];
    uint64_t cursor = 0, dropped;
    EQUAL(csched_journeys(w->s, &cursor, 4, rows, &dropped), 2);
    CHECK(rows[1].stamps[4] - rows[1].stamps[0] >= 59000000); /* started after submitted */
    EQUAL(csched_cancel(w->s, never), 1);
    finish(w, 3);
    world_close(w);
}

static void not_before_its_time_although_its_input_is_there(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    uint64_t input = submit(w, JOB_NONE, 0, 0);
    csched_options_t options = after(&input, 1);
    options.not_before = csched_now() + 40000000;
    uint64_t late = submit_with(w, (job_t){JOB_NONE, 1, 0}, &options);
    finish(w, 1);
    EQUAL(csched_task_state(w->s, late), 1);
    finish(w, 2);
    CHECK(csched_now() >= options.not_before);
    EQUAL(stats_of(w).waiting, 0);
    world_close(w);
}

/* The first task of the queue needs a block, and later ones have filled the arena: they go first. */
static void a_full_arena_does_not_block_the_queue(void)
{
    csched_config_t config = {.arena_bytes = 1 << 20, .helper = 1};
    world_t *w = world_open_with(&config);
    world_thread(w);
    uint8_t *body = calloc(1, INLINE_LIMIT);
    memcpy(body, &(job_t){JOB_ECHO, 0, 0}, sizeof(job_t));
    uint64_t inputs[4];
    uint32_t slot = 0;
    OK(csched_reserve(w->s, 100));
    for (; slot < 4; slot++)
        inputs[slot] = (uint64_t)csched_submit(w->s, slot, 0, 0, body, INLINE_LIMIT, 0);
    UNTIL(csched_poll(w->s, 0) == 4);
    OK(csched_pause(w->s, 1));
    csched_options_t options = after(inputs, 4);
    options.priority = 100;
    job_t first = {JOB_NONE, 50, 0};
    CHECK(csched_submit_with(w->s, slot++, 0, 0, &first, sizeof first, 0, &options) > 0);
    options = plain();
    uint64_t address;
    while (csched_block_alloc(w->s, 30000, &options.block, &address) == CSCHED_OK) {
        OK(csched_block_fill(w->s, options.block, &(job_t){JOB_NONE, slot, 0}, sizeof(job_t)));
        CHECK(csched_submit_with(w->s, slot++, 0, 0, NULL, 30000, 0, &options) > 0);
    }
    OK(csched_pause(w->s, 0));
    finish(w, slot);
    EQUAL(u32_relaxed(&board->ran[50]), 1);
    EQUAL(stats_of(w).arena_used, 0);
    free(body);
    world_close(w);
}

static void wrong_arguments(void)
{
    world_t *w = world_open(0);
    job_t job = {JOB_NONE, 0, 0};
    csched_options_t options = plain();
    OK(csched_reserve(w->s, 1));
    EQUAL(csched_submit(w->s, 4096, 0, 0, &job, sizeof job, 0), CSCHED_EINVAL); /* no such slot */
    EQUAL(csched_submit(w->s, 0, 1, 0, &job, sizeof job, 0), CSCHED_EINVAL); /* no such function */
    options.priority = 101;
    EQUAL(csched_submit_with(w->s, 0, 0, 0, &job, sizeof job, 0, &options), CSCHED_EINVAL);
    options = plain();
    options.count = 0;
    EQUAL(csched_submit_with(w->s, 0, 0, 0, &job, sizeof job, 0, &options), CSCHED_EINVAL);
    options = plain();
    options.retries = 256;
    EQUAL(csched_submit_with(w->s, 0, 0, 0, &job, sizeof job, 0, &options), CSCHED_EINVAL);
    options = plain();
    options.block = 1 << 30; /* beyond the arena */
    EQUAL(csched_submit_with(w->s, 0, 0, 0, NULL, 64, 0, &options), CSCHED_ECORRUPT);
    EQUAL(stats_of(w).submitted, 0);
    submit(w, JOB_NONE, 0, 0);
    EQUAL(csched_submit(w->s, 0, 0, 0, &job, sizeof job, 0), CSCHED_EINVAL); /* the slot is in use */
    OK(csched_stop(w->s));
    EQUAL(csched_submit(w->s, 1, 0, 0, &job, sizeof job, 0), CSCHED_ESTOPPED);
    world_close(w);
}

/* Elements count from when their submitter has them: a scheduler that some are on their way to is not closed as idle. */
static void what_is_on_its_way_keeps_it_open(void)
{
    world_t *w = world_open(0);
    world_threads(w, 1);
    csched_options_t options = plain();
    options.ask = 2;
    options.count = 3;
    csched_run_adjust(w->s, UINT32_MAX, 3, 0, 0, 0, 0);
    EQUAL(csched_close_idle(w->s), CSCHED_EAGAIN);
    submit_with(w, (job_t){JOB_CHUNK, 0, 0}, &options);
    EQUAL(stats_of(w).submitted, 3);
    EQUAL(csched_close_idle(w->s), CSCHED_EAGAIN);
    finish(w, 1);
    EQUAL(stats_of(w).succeeded, 3);
    OK(csched_close_idle(w->s));
    EQUAL(csched_submit(w->s, 1, 0, 0, NULL, 0, 0), CSCHED_ESTOPPED);
    EQUAL(stats_of(w).submitted, 3);
    world_close(w);
}

MAIN(TEST(independent_tasks), TEST(a_million_before_any_worker), TEST(a_chain), TEST(diamonds), TEST(fan_in),
     TEST(inputs_already_there), TEST(an_input_that_failed_long_ago), TEST(payloads_larger_than_the_ring),
     TEST(the_largest_in_line_payloads_and_inputs), TEST(priorities_run_larger_first), TEST(not_before_its_time),
     TEST(not_before_its_time_although_its_input_is_there), TEST(a_full_arena_does_not_block_the_queue),
     TEST(wrong_arguments), TEST(what_is_on_its_way_keeps_it_open))
