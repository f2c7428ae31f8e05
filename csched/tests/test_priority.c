#include "world.h"

enum { WINDOW = 20, MANY = SCALED(20000) };

static uint64_t in_run(world_t *w, uint32_t run, uint32_t tag)
{
    OK(csched_reserve(w->s, w->next_slot + 1));
    job_t job = {JOB_NONE, tag, 0};
    int64_t ticket = csched_submit(w->s, w->next_slot++, 0, run, &job, sizeof job, 0);
    CHECK(ticket > 0);
    return (uint64_t)ticket;
}

static void a_queued_task_goes_first(void)
{
    world_t *w = world_open(1);
    uint64_t tickets[5];
    for (uint32_t i = 0; i < 5; i++)
        tickets[i] = submit(w, JOB_NONE, i, 0);
    EQUAL(csched_set_priority(w->s, tickets[3], 10), 1);
    EQUAL(csched_set_priority(w->s, tickets[3], 10), 1);
    EQUAL(csched_set_priority(w->s, tickets[0], -10), 1);
    EQUAL(csched_set_priority(w->s, tickets[0], 101), CSCHED_EINVAL);
    EQUAL(csched_set_priority(w->s, 999, 1), 0);
    world_thread(w);
    finish(w, 5);
    const uint32_t order[] = {3, 1, 2, 4, 0};
    for (uint32_t i = 0; i < 5; i++)
        EQUAL(u32_relaxed(&board->started_as[i]), order[i]);
    EQUAL(csched_set_priority(w->s, tickets[1], 1), 0); /* over */
    world_close(w);
}

static void one_in_a_ring_comes_back_first(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    uint64_t gate = submit(w, JOB_GATE, 0, 1), last = 0;
    UNTIL(csched_task_state(w->s, gate) == 3);
    for (uint32_t i = 1; i <= WINDOW; i++)
        last = submit(w, JOB_NONE, i, 0);
    EQUAL(csched_set_priority(w->s, gate, 3), 0); /* it runs */
    EQUAL(csched_set_priority(w->s, gate, 0), 0);
    EQUAL(csched_set_priority(w->s, last, 3), 1);
    open_gate(1);
    finish(w, WINDOW + 1);
    EQUAL(u32_relaxed(&board->started_as[1]), WINDOW);
    EQUAL(u32_relaxed(&board->started_as[2]), 1); /* the others as they came */
    EQUAL(u32_relaxed(&board->started_as[WINDOW]), WINDOW - 1);
    world_close(w);
}

static void a_run_keeps_its_order(void)
{
    world_t *w = world_open(1);
    uint32_t first, second;
    OK(csched_run_open(w->s, &first));
    OK(csched_run_open(w->s, &second));
    world_thread(w);
    uint64_t gate = submit(w, JOB_GATE, 0, 1);
    UNTIL(csched_task_state(w->s, gate) == 3);
    enum { EACH = 1500 };
    for (uint32_t i = 0; i < EACH; i++)
        in_run(w, first, 1 + i);
    for (uint32_t i = 0; i < EACH; i++)
        in_run(w, second, 2000 + i);
    uint64_t input = gate;
    csched_options_t options = plain();
    options.inputs = &input;
    options.input_count = 1;
    job_t job = {JOB_NONE, 3900, 0};
    CHECK(csched_submit_with(w->s, w->next_slot++, 0, second, &job, sizeof job, 0, &options) > 0);
    EQUAL(csched_set_run_priority(w->s, second, 200), CSCHED_EINVAL);
    EQUAL(csched_set_run_priority(w->s, second, 1), EACH + 1); /* those in the ring too */
    EQUAL(csched_set_run_priority(w->s, second, 1), 0);
    EQUAL(csched_set_run_priority(w->s, 4000, 1), 0);
    open_gate(1);
    finish(w, 2 * EACH + 2);
    uint32_t before = 0, moved = 0;
    for (uint32_t i = 1; i < 2 * EACH + 2; i++) {
        uint32_t tag = u32_relaxed(&board->started_as[i]);
        if (tag < 2000 || tag == 3900)
            continue;
        CHECK(tag > before);
        before = tag;
        moved += i <= EACH + 1; /* the one with an input may come in between */
    }
    EQUAL(moved, EACH);
    world_close(w);
}

/* Priorities change all the time while two workers take tasks: each runs once. */
static void changes_against_claims(void)
{
    world_t *w = world_open(1);
    uint32_t run;
    OK(csched_run_open(w->s, &run));
    world_threads(w, 2);
    uint64_t *tickets = calloc(MANY, sizeof *tickets), seed = 5;
    for (uint32_t i = 0; i < MANY; i++) {
        tickets[i] = in_run(w, run, i);
        uint64_t back = next_random(&seed) % 200;
        csched_set_priority(w->s, tickets[back > i ? 0 : i - back], (int32_t)(next_random(&seed) % 5));
        if (i % 1000 == 0)
            csched_set_run_priority(w->s, run, (int32_t)(next_random(&seed) % 5));
        if (i % 64 == 0)
            collect_some(w);
    }
    finish(w, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        EQUAL(u32_relaxed(&board->ran[i]), 1);
    free(tickets);
    world_close(w);
}

MAIN(TEST(a_queued_task_goes_first), TEST(one_in_a_ring_comes_back_first), TEST(a_run_keeps_its_order),
     TEST(changes_against_claims))
