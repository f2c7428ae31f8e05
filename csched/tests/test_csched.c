#include "internal.h"
#include "world.h"

static void settings_are_rounded_and_defaulted(void)
{
    csched_config_t config = {.ring_bytes = 70000, .arena_bytes = 3333333, .journey_rows = 1};
    csched_t *s;
    OK(csched_create(&config, &s));
    EQUAL(s->config.ring_bytes, 131072);
    EQUAL(s->config.journey_rows, 1024);
    EQUAL(s->config.arena_bytes, 3 << 20);
    OK(csched_destroy(s));
    config = (csched_config_t){0};
    OK(csched_create(&config, &s));
    EQUAL(s->config.ring_bytes, 262144);
    CHECK(s->config.arena_bytes > 64 << 20);
    OK(csched_destroy(s));
}

static void runs_count_their_own(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    uint32_t a, b, c;
    csched_run_t counts;
    OK(csched_run_open(w->s, &a));
    OK(csched_run_open(w->s, &b));
    CHECK(a != b);
    OK(csched_reserve(w->s, 3));
    job_t job = {JOB_NONE, 0, 0}, bad = {JOB_FAIL, 0, 9};
    CHECK(csched_submit(w->s, 0, 0, a, &job, sizeof job, 0) > 0);
    CHECK(csched_submit(w->s, 1, 0, a, &bad, sizeof bad, 0) > 0);
    CHECK(csched_submit(w->s, 2, 0, b, &job, sizeof job, 0) > 0);
    finish(w, 3);
    OK(csched_run_counts(w->s, a, &counts));
    EQUAL(counts.submitted, 2);
    EQUAL(counts.succeeded, 1);
    EQUAL(counts.failed, 1);
    OK(csched_run_adjust(w->s, b, 5, 1, 1, -1, 1));
    OK(csched_run_counts(w->s, b, &counts));
    EQUAL(counts.submitted, 6);
    EQUAL(counts.cancelled, -1);
    EQUAL(counts.lost, 1);
    OK(csched_run_close(w->s, a));
    for (uint32_t i = 0; i < 9000; i++) { /* numbers are used again, late, and from zero */
        OK(csched_run_open(w->s, &c));
        CHECK(c != b && c < 5000);
        OK(csched_run_counts(w->s, c, &counts));
        EQUAL(counts.submitted, 0);
        OK(csched_run_adjust(w->s, c, 1, 0, 0, 0, 0));
        OK(csched_run_close(w->s, c));
    }
    EQUAL(csched_run_counts(w->s, 1000000, &counts), CSCHED_EINVAL);
    EQUAL(csched_run_close(w->s, 1000000), CSCHED_EINVAL);
    world_close(w);
}

/* Everything that can be alive at the end: the leak check finds what destroy forgets. */
static void destroyed_with_everything_open(void)
{
    world_t *w = world_open(1);
    uint32_t hand = world_thread(w), run, function;
    uint64_t block, address;
    OK(csched_run_open(w->s, &run));
    OK(csched_function_add(w->s, "code", 4, IN_LINE, &function));
    OK(csched_block_alloc(w->s, 100000, &block, &address));
    OK(csched_function_add(w->s, NULL, 100000, block, &function));
    uint64_t done[2] = {submit(w, JOB_BLOCK, 1, 50000), submit(w, JOB_ECHO, 2, 0)};
    submit(w, JOB_EMIT, 3, 10);
    UNTIL((csched_poll(w->s, 0), stats_of(w).completions == 3));
    csched_options_t options = plain();
    options.inputs = done;
    options.input_count = 2;
    submit(w, JOB_GATE, 4, 1);
    for (uint32_t i = 0; i < 50; i++)
        submit_with(w, (job_t){JOB_MEASURE, i, 0}, &options);
    options = plain();
    options.not_before = csched_now() + UINT64_C(3600000000000);
    submit_with(w, (job_t){JOB_NONE, 0, 0}, &options);
    uint64_t waiting = submit(w, JOB_GATE, 5, 1);
    options = plain();
    options.inputs = &waiting;
    options.input_count = 1;
    submit_with(w, (job_t){JOB_NONE, 0, 0}, &options);
    UNTIL(u32_acquire(&board->at_gate[1]));
    OK(csched_stop(w->s));
    OK(csched_stop(w->s)); /* twice is once */
    csched_completion_t row;
    EQUAL(csched_collect(w->s, 1, &row), 1); /* payloads stay readable */
    CHECK(*(const uint8_t *)(uintptr_t)row.address == 1);
    open_gate(1);
    world_join(w, hand);
    world_close(w);
}

static void one_after_another(void)
{
    for (uint32_t i = 0; i < 20; i++) {
        world_t *w = world_open(i % 2);
        world_threads(w, i % 3);
        for (uint32_t k = 0; k < 100; k++)
            submit(w, JOB_ECHO, k, 0);
        if (i % 3)
            finish(w, 100);
        world_close(w);
    }
}

typedef struct {
    world_t *w;
    uint32_t first;
} caller_t;

enum { CALLERS = 4, EACH = SCALED(20000) };

static void *call_everything(void *argument)
{
    caller_t *c = argument;
    csched_t *s = c->w->s;
    job_t job = {JOB_NONE, 0, 0};
    for (uint32_t i = 0; i < EACH; i++) {
        job.tag = c->first + i;
        int64_t ticket = csched_submit(s, c->first + i, 0, 0, &job, sizeof job, 0);
        CHECK(ticket > 0);
        if (i % 7 == 0)
            csched_cancel(s, (uint64_t)ticket);
        if (i % 11 == 0)
            csched_task_state(s, (uint64_t)ticket);
        if (i % 101 == 0) {
            csched_stats_t stats;
            OK(csched_stats(s, &stats));
            csched_poll(s, 5);
        }
        if (i % 1009 == 0)
            OK(csched_pause(s, 0));
    }
    return NULL;
}

/* All calls from any thread at once, as the header promises; one of them collects. */
static void calls_from_many_threads(void)
{
    world_t *w = world_open(1);
    world_threads(w, 2);
    OK(csched_reserve(w->s, CALLERS * EACH));
    caller_t callers[CALLERS];
    pthread_t threads[CALLERS];
    for (uint32_t i = 0; i < CALLERS; i++) {
        callers[i] = (caller_t){.w = w, .first = i * EACH};
        OK(pthread_create(&threads[i], NULL, call_everything, &callers[i]));
    }
    finish(w, CALLERS * EACH);
    for (uint32_t i = 0; i < CALLERS; i++)
        OK(pthread_join(threads[i], NULL));
    EQUAL(w->by_status[CSCHED_NONE] + w->by_status[CSCHED_CANCELLED], CALLERS * EACH);
    EQUAL(u32_relaxed(&board->order), w->by_status[CSCHED_NONE]);
    world_close(w);
}

static void closed_it_finishes_what_it_has(void)
{
    world_t *w = world_open(0);
    job_t job = {.kind = JOB_NONE};
    submit(w, JOB_NONE, 0, 0);
    OK(csched_close(w->s));
    EQUAL(csched_submit(w->s, 1, 0, 0, &job, sizeof job, 0), CSCHED_ESTOPPED);
    world_threads(w, 1);
    finish(w, 1);
    world_close(w);
}

static void closed_idle_only_when_all_is_over(void)
{
    world_t *w = world_open(0);
    job_t job = {.kind = JOB_NONE};
    submit(w, JOB_NONE, 0, 0);
    EQUAL(csched_close_idle(w->s), CSCHED_EAGAIN);
    submit(w, JOB_NONE, 0, 0);
    world_threads(w, 1);
    finish(w, 2);
    OK(csched_close_idle(w->s));
    EQUAL(csched_submit(w->s, 1, 0, 0, &job, sizeof job, 0), CSCHED_ESTOPPED);
    world_close(w);
}

MAIN(TEST(closed_it_finishes_what_it_has), TEST(closed_idle_only_when_all_is_over),
     TEST(settings_are_rounded_and_defaulted), TEST(runs_count_their_own), TEST(destroyed_with_everything_open),
     TEST(one_after_another), TEST(calls_from_many_threads))
