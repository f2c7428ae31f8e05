#include "internal.h"
#include "world.h"

static uint64_t submit_priority(world_t *w, uint32_t tag, int32_t priority)
{
    csched_options_t options = plain();
    options.priority = priority;
    return submit_with(w, (job_t){JOB_NONE, tag, 0}, &options);
}

static uint32_t take_slot(csched_worker_t *worker)
{
    uint32_t slot = next_item(worker, CSCHED_TASK).slot;
    publish_none(worker);
    return slot;
}

/* A worker that holds as much as it may: a higher priority still comes right after the task it runs. */
static void a_higher_priority_overtakes_what_was_sent(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    window_learn(w->s, 0, 100000); /* a window of some twenty */
    for (uint32_t i = 0; i < 100; i++)
        submit_priority(w, i, 0);
    uint32_t held = info_of(w, 0).held;
    CHECK(held > 10 && held < 100);
    EQUAL(next_item(worker, CSCHED_TASK).slot, 0); /* it runs */
    submit_priority(w, 100, 7);
    submit_priority(w, 101, -7);
    submit_priority(w, 102, 8);
    publish_none(worker);
    csched_poll(w->s, 0);
    EQUAL(take_slot(worker), 102);
    EQUAL(take_slot(worker), 100);
    csched_poll(w->s, 0);
    for (uint32_t i = 1; i < 100; i++) { /* the others in their order, each once */
        EQUAL(take_slot(worker), i);
        csched_poll(w->s, 0);
    }
    EQUAL(take_slot(worker), 101);
    finish(w, 103);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* There is room, but work of a lower priority lies before it. */
static void it_overtakes_where_there_is_room_too(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    window_learn(w->s, 0, 100000);
    for (uint32_t i = 0; i < 10; i++)
        submit_priority(w, i, 0);
    EQUAL(info_of(w, 0).held, 10);
    EQUAL(next_item(worker, CSCHED_TASK).slot, 0);
    submit_priority(w, 10, 1);
    publish_none(worker);
    EQUAL(take_slot(worker), 10);
    for (uint32_t i = 1; i < 10; i++)
        EQUAL(take_slot(worker), i);
    finish(w, 11);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* Two runs: the one that came later does not wait for all of the first. */
static void runs_share_a_worker(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint32_t runs[2], first_of_second = 0, last_of_second = 0;
    OK(csched_run_open(w->s, &runs[0]));
    OK(csched_run_open(w->s, &runs[1]));
    OK(csched_reserve(w->s, 1100));
    for (uint32_t slot = 0; slot < 1100; slot++)
        CHECK(csched_submit(w->s, slot, 0, runs[slot >= 1000], "x", 1, 0) > 0);
    for (uint32_t i = 1; i <= 1100; i++) {
        csched_item_t item = next_item(worker, CSCHED_TASK);
        publish_none(worker);
        csched_poll(w->s, 0);
        if (item.slot >= 1000) {
            first_of_second = first_of_second ? first_of_second : i;
            last_of_second = i;
        }
    }
    CHECK(first_of_second < 20);
    CHECK(last_of_second < 800); /* by time, which in a test that others slow down is not quite by number */
    finish(w, 1100);
    OK(csched_worker_detach(worker));
    world_close(w);
}

MAIN(TEST(a_higher_priority_overtakes_what_was_sent), TEST(it_overtakes_where_there_is_room_too),
     TEST(runs_share_a_worker))
