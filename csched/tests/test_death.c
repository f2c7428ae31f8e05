/* The tasks of a dead worker, in whole scenes; test_faults.c goes through every point of the path. */
#include "internal.h"
#include "worker.h"
#include "world.h"

#include <signal.h>

static uint32_t ended[4096];
static uint32_t element;
static uint64_t argument_bytes;

static void count_ended(world_t *w, const csched_completion_t *completion)
{
    (void)w;
    ended[completion->slot]++;
    if (completion->status == CSCHED_LOST || completion->status == CSCHED_TIMEOUT) {
        element = completion->detail;
        argument_bytes = completion->size;
    }
}

static world_t *open_world(void)
{
    world_t *w = world_open(1);
    UNTIL(u32_acquire(&w->s->helper_deep)); /* it has started: a fork beside that inherits the sanitizer's locks */
    w->on_completion = count_ended;
    return w;
}

static void each_ended_once(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        EQUAL(ended[i], 1);
}

/* Waits for the process to die by itself and declares it lost. */
static void lose(world_t *w, uint32_t hand)
{
    world_join(w, hand);
    OK(csched_worker_lost(w->s, w->hands[hand].index));
}

static void killed_while_it_runs(void)
{
    world_t *w = open_world();
    uint32_t hand = world_process(w);
    submit(w, JOB_KILL, 0, 0);
    submit(w, JOB_NONE, 1, 0);
    UNTIL((csched_poll(w->s, 0), info_of(w, 0).held == 2 || u32_acquire(&board->order)));
    lose(w, hand);
    world_process(w);
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_LOST], 1);
    EQUAL(w->by_status[CSCHED_NONE], 1); /* its other tasks went to the next worker */
    EQUAL(argument_bytes, sizeof(job_t));
    each_ended_once(2);
    world_close(w);
}

static void killed_while_it_holds_many(void)
{
    world_t *w = open_world();
    uint32_t hand = world_process(w);
    for (uint32_t i = 0; i < 1000; i++)
        submit(w, JOB_NONE, i, 0);
    submit(w, JOB_GATE, 1000, 1);
    for (uint32_t i = 1001; i < 2000; i++)
        submit(w, JOB_NONE, i, 0);
    UNTIL((csched_poll(w->s, 0), u32_acquire(&board->at_gate[1]) == 1));
    world_kill(w, hand);
    world_process(w);
    finish(w, 2000);
    EQUAL(w->by_status[CSCHED_LOST], 1);
    EQUAL(w->by_status[CSCHED_NONE], 1999);
    for (uint32_t i = 0; i < 2000; i++)
        EQUAL(u32_relaxed(&board->ran[i]), 1);
    each_ended_once(2000);
    world_close(w);
}

static void killed_after_its_result(void)
{
    world_t *w = open_world();
    uint32_t hand = world_process(w);
    submit(w, JOB_PUBLISH_AND_DIE, 0, 0);
    submit(w, JOB_NONE, 1, 0);
    UNTIL((csched_poll(w->s, 0), info_of(w, 0).state == 2));
    lose(w, hand);
    world_process(w);
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_NONE], 2);
    each_ended_once(2);
    world_close(w);
}

static void the_element_that_ran_is_named(void)
{
    world_t *w = open_world();
    csched_worker_t *worker = by_hand(w);
    csched_options_t options = plain();
    options.count = 10;
    submit_with(w, (job_t){JOB_CHUNK, 0, 0}, &options);
    next_item(worker, CSCHED_TASK);
    for (uint32_t i = 0; i <= 6; i++)
        OK(csched_worker_element(worker, i));
    OK(csched_worker_lost(w->s, 0));
    OK(csched_worker_detach(worker));
    finish(w, 1);
    EQUAL(element, 6);
    EQUAL(stats_of(w).failed, 10);
    world_close(w);
}

static void lost_tasks_start_again(void)
{
    world_t *w = open_world();
    csched_options_t options = plain();
    options.retries = 2;
    submit_with(w, (job_t){JOB_KILL, 0, 0}, &options);
    for (uint32_t i = 0; i < 3; i++)
        lose(w, (csched_poll(w->s, 0), world_process(w)));
    finish(w, 1);
    EQUAL(u32_relaxed(&board->ran[0]), 3);
    EQUAL(w->by_status[CSCHED_LOST], 1);
    world_close(w);
}

static void killed_at_its_time_limit(void)
{
    world_t *w = open_world();
    csched_options_t options = plain();
    options.timeout_ns = 1000000;
    options.retries = 1; /* a limit that was reached counts as an attempt, and holds for the next one too */
    submit_with(w, (job_t){JOB_GATE, 0, 1}, &options);
    for (uint32_t attempt = 0; attempt < 2; attempt++) {
        uint32_t hand = world_process(w);
        csched_message_t message;
        UNTIL((csched_poll(w->s, 0), csched_messages(w->s, 1, &message) == 1));
        EQUAL(message.kind, CSCHED_OVERDUE);
        OK(csched_messages_commit(w->s, 1));
        world_kill(w, hand);
    }
    finish(w, 1);
    EQUAL(w->by_status[CSCHED_TIMEOUT], 1);
    world_close(w);
}

/* Its results in blocks outlive it, as inputs of others too. */
static void its_results_stay(void)
{
    world_t *w = open_world();
    uint32_t hand = world_process(w);
    uint64_t source = submit(w, JOB_BLOCK, 5, 300000);
    UNTIL((csched_poll(w->s, 0), stats_of(w).completions == 1));
    csched_options_t options = plain();
    options.inputs = &source;
    options.input_count = 1;
    OK(csched_pause(w->s, 1)); /* or it may be this one that is lost */
    submit_with(w, (job_t){JOB_MEASURE, 1, 0}, &options);
    world_kill(w, hand);
    csched_completion_t row;
    EQUAL(csched_collect(w->s, 1, &row), 1);
    const uint8_t *data = (const uint8_t *)(uintptr_t)row.address;
    CHECK(data[0] == 5 && data[299999] == 5);
    world_process(w);
    OK(csched_pause(w->s, 0));
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_VALUE], 2);
    CHECK(!w->s->regions[1].base); /* gone with its last reader */
    world_close(w);
}

/* A worker is killed at random times, repeatedly, beside one that lives. */
static void killed_at_random(void)
{
    enum { TASKS = 4000, KILLS = 25 };
    world_t *w = open_world();
    uint64_t seed = 4;
    world_process(w);
    uint32_t victim = world_process(w), lost = 0;
    for (uint32_t i = 0; i < TASKS; i++)
        submit(w, i % 10 ? JOB_NONE : JOB_BLOCK, i, 20000);
    for (uint32_t kills = 0; kills < KILLS; kills++) {
        uint64_t until = w->done + next_random(&seed) % (TASKS / KILLS);
        UNTIL((csched_poll(w->s, 0), collect_some(w), w->done >= until || w->done == TASKS));
        world_kill(w, victim);
        victim = world_process(w);
    }
    finish(w, TASKS);
    lost = (uint32_t)w->by_status[CSCHED_LOST];
    EQUAL(lost + w->by_status[CSCHED_NONE] + w->by_status[CSCHED_VALUE], TASKS);
    CHECK(lost <= KILLS);
    each_ended_once(TASKS);
    for (uint32_t i = 0; i < TASKS; i++)
        CHECK(u32_relaxed(&board->ran[i]) <= 1);
    world_close(w);
}

MAIN(TEST(killed_while_it_runs), TEST(killed_while_it_holds_many), TEST(killed_after_its_result),
     TEST(the_element_that_ran_is_named), TEST(lost_tasks_start_again), TEST(killed_at_its_time_limit),
     TEST(its_results_stay), TEST(killed_at_random))
