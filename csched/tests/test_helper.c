#include "internal.h"
#include "world.h"

enum { MANY = SCALED(20000) };

/* A chain moves on although no thread polls: dependents are released and sent by the helper. */
static void dependents_go_out_unpolled(void)
{
    world_t *w = world_open(1);
    world_threads(w, 2);
    csched_options_t options = plain();
    uint64_t ticket = submit(w, JOB_GATE, 0, 1);
    options.inputs = &ticket;
    options.input_count = 1;
    for (uint32_t i = 1; i < 500; i++)
        ticket = submit_with(w, (job_t){JOB_NONE, i, 0}, &options);
    open_gate(1);
    UNTIL(u32_acquire(&board->order) == 500);
    UNTIL(stats_of(w).completions == 500);
    finish(w, 500);
    world_close(w);
}

/* Far more results than the ring holds, and only the helper takes them out. */
static void a_full_result_ring_is_drained(void)
{
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = 1 << 20, .helper = 1};
    world_t *w = world_open_with(&config);
    world_thread(w);
    for (uint32_t i = 0; i < MANY; i++)
        submit(w, JOB_ECHO, i, 0);
    submit(w, JOB_EMIT, 0, MANY);
    UNTIL(stats_of(w).completions == MANY + 1);
    UNTIL(u32_acquire(&w->s->available) == 2 * MANY + 1);
    finish(w, MANY + 1);
    world_close(w);
}

static void it_sleeps_deep_and_wakes_with_the_next_task(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    for (uint32_t i = 1; i <= 20; i++) {
        submit(w, JOB_NONE, i, 0);
        UNTIL(stats_of(w).completions == 1);
        while (collect_some(w))
            continue;
        if (i % 4 == 0) /* at other times it is met on its way to sleep */
            UNTIL(u32_acquire(&w->s->helper_deep));
    }
    EQUAL(w->done, 20);
    world_close(w);
}

static void delayed_tasks_and_limits_need_no_poll(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    csched_options_t options = plain();
    options.not_before = csched_now() + 30000000;
    options.timeout_ns = 1000000;
    submit_with(w, (job_t){JOB_GATE, 0, 1}, &options);
    UNTIL(u32_acquire(&board->at_gate[1]));
    UNTIL(u32_acquire(&w->s->available) == 1); /* overdue */
    open_gate(1);
    finish(w, 1);
    csched_message_t message;
    EQUAL(csched_messages(w->s, 1, &message), 1);
    EQUAL(message.kind, CSCHED_OVERDUE);
    world_close(w);
}

static void stopping_it_asleep_or_awake(void)
{
    for (int i = 0; i < 30; i++) {
        world_t *w = world_open(1);
        if (i % 3)
            world_thread(w);
        if (i % 3 == 2)
            submit(w, JOB_NONE, 0, 0);
        if (i % 10 == 9)
            UNTIL(u32_acquire(&w->s->helper_deep) || (collect_some(w), 0));
        world_close(w);
    }
}

MAIN(TEST(dependents_go_out_unpolled), TEST(a_full_result_ring_is_drained),
     TEST(it_sleeps_deep_and_wakes_with_the_next_task), TEST(delayed_tasks_and_limits_need_no_poll),
     TEST(stopping_it_asleep_or_awake))
