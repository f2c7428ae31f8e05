#include "world.h"

enum { MANY = SCALED(50000), FEW = 1000 };

static void what_is_not_committed_comes_again(void)
{
    world_t *w = world_open(0);
    world_thread(w);
    for (uint32_t i = 0; i < 10; i++)
        submit(w, JOB_ECHO, i, 0);
    UNTIL(csched_poll(w->s, 0) == 10);
    csched_completion_t first[10], again[10];
    EQUAL(csched_collect(w->s, 4, first), 4); /* and the caller is interrupted */
    EQUAL(csched_collect(w->s, 10, again), 10);
    for (int i = 0; i < 4; i++)
        EQUAL(memcmp(&first[i], &again[i], sizeof first[i]), 0);
    OK(csched_commit(w->s, 4));
    EQUAL(csched_commit(w->s, 7), CSCHED_EINVAL);
    EQUAL(csched_collect(w->s, 10, first), 6);
    EQUAL(memcmp(first, again + 4, 6 * sizeof *first), 0);
    EQUAL(csched_poll(w->s, 0), 6);
    OK(csched_commit(w->s, 6));
    EQUAL(csched_poll(w->s, 0), 0);
    EQUAL(stats_of(w).completions, 0);
    world_close(w);
}

static void results_stay_readable_while_retained(void)
{
    world_t *w = world_open(0);
    uint32_t hand = world_thread(w);
    submit(w, JOB_BLOCK, 7, 100000);
    UNTIL(csched_poll(w->s, 0) == 1);
    csched_completion_t row;
    EQUAL(csched_collect(w->s, 1, &row), 1);
    OK(csched_blob_retain(w->s, row.blob));
    OK(csched_commit(w->s, 1));
    OK(csched_worker_retire(w->s, w->hands[hand].index)); /* also after its process has gone */
    world_join(w, hand);
    OK(csched_worker_lost(w->s, w->hands[hand].index));
    const uint8_t *data = (const uint8_t *)(uintptr_t)row.address;
    for (uint64_t i = 0; i < row.size; i++)
        EQUAL(data[i], 7);
    OK(csched_blob_release(w->s, row.blob));
    world_close(w);
}

static void a_wait_ends_with_a_result_or_with_its_time(void)
{
    world_t *w = world_open(0);
    double begin = seconds_now();
    EQUAL(csched_wait(w->s, 20), 0);
    CHECK(seconds_now() - begin >= 0.015);
    world_thread(w);
    submit(w, JOB_NONE, 0, 0);
    UNTIL(csched_wait(w->s, 1000) == 1);
    world_close(w);
}

/* A wait for one task is not ended by every other result, but by its own, and later by others. */
static void a_wait_for_one_task(void)
{
    world_t *w = world_open(0);
    world_threads(w, 2);
    uint64_t last = 0;
    for (uint32_t i = 0; i < 200; i++)
        last = submit(w, JOB_NONE, i, 0);
    UNTIL(csched_wait_for(w->s, last, 1000) > 0 && csched_task_state(w->s, last) == 0);
    finish(w, 200);
    uint64_t shut = submit(w, JOB_GATE, 0, 0);
    UNTIL(csched_task_state(w->s, shut) == 3);
    EQUAL(csched_wait_for(w->s, shut, 10), 0);
    submit(w, JOB_NONE, 1, 0);
    UNTIL(csched_wait_for(w->s, shut, 1000) == 1);
    CHECK(csched_task_state(w->s, shut) != 0);
    open_gate(0);
    UNTIL(csched_wait_for(w->s, shut, 1000) == 2);
    EQUAL(csched_wait_for(w->s, shut, 1000), 2); /* it is over: at once */
    finish(w, 202);
    world_close(w);
}

/* No thread waits, and each task of a chain is sent as soon as the one before it has its result. */
static void a_wait_for_the_end_of_a_chain(void)
{
    world_t *w = world_open(0);
    world_threads(w, 2);
    csched_options_t options = plain();
    uint64_t before = submit(w, JOB_NONE, 0, 0);
    options.inputs = &before;
    options.input_count = 1;
    OK(csched_pause(w->s, 1));
    for (uint32_t i = 1; i < FEW; i++)
        before = submit_with(w, (job_t){JOB_SUM, i, 1}, &options);
    OK(csched_pause(w->s, 0));
    UNTIL(csched_wait_for(w->s, before, 1000) > 0 && csched_task_state(w->s, before) == 0);
    finish(w, FEW);
    world_close(w);
}

static void *wait_until_told(void *argument)
{
    world_t *w = argument;
    while (!u32_acquire(&board->gates[1]))
        csched_wait(w->s, 50);
    return NULL;
}

/* Each result is waited for asleep: a lost wake-up costs 50 ms, and these would be many. */
static void one_at_a_time(uint32_t others)
{
    world_t *w = world_open(1);
    world_thread(w);
    pthread_t waiters[3];
    for (uint32_t i = 0; i < others; i++)
        OK(pthread_create(&waiters[i], NULL, wait_until_told, w));
    double begin = seconds_now();
    for (uint32_t i = 1; i <= FEW; i++) {
        submit(w, JOB_NONE, 0, 0);
        finish(w, i);
    }
    CHECK(seconds_now() - begin < FEW * 0.02);
    open_gate(1);
    for (uint32_t i = 0; i < others; i++)
        OK(pthread_join(waiters[i], NULL));
    world_close(w);
}

static void many_short_waits(void)
{
    one_at_a_time(0);
}

static void many_short_waits_beside_other_waiters(void)
{
    one_at_a_time(3);
}

typedef struct {
    world_t *w;
    shared_u32 ended;
} sleeper_t;

static void *wait_until_stopped(void *argument)
{
    sleeper_t *sleeper = argument;
    while (!u32_acquire(&board->gates[1]))
        csched_wait(sleeper->w->s, 50);
    u32_add(&sleeper->ended, 1);
    return NULL;
}

static void *background_until_stopped(void *argument)
{
    sleeper_t *sleeper = argument;
    while (!u32_acquire(&board->gates[1]))
        csched_wait_background(sleeper->w->s, 60000, 0);
    u32_add(&sleeper->ended, 1);
    return NULL;
}

static void stop_while_threads_wait(void)
{
    world_t *w = world_open(1);
    uint32_t hand = world_thread(w);
    sleeper_t sleeper = {.w = w};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        OK(pthread_create(&threads[i], NULL, i < 3 ? wait_until_stopped : background_until_stopped, &sleeper));
    submit(w, JOB_GATE, 0, 2);
    UNTIL(u32_acquire(&board->at_gate[2]));
    open_gate(1);
    OK(csched_stop(w->s));
    for (int i = 0; i < 4; i++)
        OK(pthread_join(threads[i], NULL));
    EQUAL(u32_relaxed(&sleeper.ended), 4);
    open_gate(2);
    world_join(w, hand); /* retired: it ends by itself */
    world_close(w);
}

/* A wake that comes before the sleep is not lost. */
static void the_background_sleep_hears_earlier_wakes(void)
{
    world_t *w = world_open(0);
    OK(csched_wake(w->s));
    double begin = seconds_now();
    EQUAL(csched_wait_background(w->s, 60000, 0), 0);
    CHECK(seconds_now() - begin < 30);
    EQUAL(csched_wait_background(w->s, 1, 0), 0); /* used up: this one is by time */
    world_close(w);
}

static void *resolve_in_background(void *argument)
{
    world_t *w = argument;
    while (w->done < MANY)
        if (csched_wait_background(w->s, 60000, 0) > 0)
            while (collect_some(w))
                continue;
    return NULL;
}

/* No thread polls: the helper drains, and wakes the thread that resolves. */
static void the_background_thread_resolves(void)
{
    world_t *w = world_open(1);
    world_threads(w, 2);
    pthread_t thread;
    OK(pthread_create(&thread, NULL, resolve_in_background, w));
    for (uint32_t i = 0; i < MANY; i++)
        submit(w, JOB_NONE, i, 0);
    OK(pthread_join(thread, NULL));
    EQUAL(w->by_status[CSCHED_NONE], MANY);
    world_close(w);
}

MAIN(TEST(what_is_not_committed_comes_again), TEST(results_stay_readable_while_retained),
     TEST(a_wait_ends_with_a_result_or_with_its_time), TEST(a_wait_for_one_task), TEST(a_wait_for_the_end_of_a_chain),
     TEST(many_short_waits), TEST(many_short_waits_beside_other_waiters), TEST(stop_while_threads_wait),
     TEST(the_background_sleep_hears_earlier_wakes), TEST(the_background_thread_resolves))
