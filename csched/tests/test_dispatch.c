#include "dispatch.h"
#include "internal.h"
#include "recall.h"
#include "segment.h"
#include "window.h"
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

/* A worker with a full window: a higher priority still comes right after its running task. */
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

/* There is room, but behind tasks of a lower priority. */
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
    csched_poll(w->s, 0); /* on a slow machine it looked stuck, and had everything taken back */
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

/* A worker in a task that does not end, and one higher task after another: each comes first, and the ring is not filled
 * with revoked entries. */
static void a_flood_of_higher_ones_moves_little(void)
{
    enum { LOW = 600, HIGH = 60 };
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    window_learn(w->s, 0, 1000);
    for (uint32_t i = 0; i < LOW; i++)
        submit_priority(w, i, 0);
    EQUAL(info_of(w, 0).held, LOW);
    EQUAL(next_item(worker, CSCHED_TASK).slot, 0);
    for (uint32_t i = 0; i < HIGH; i++)
        submit_priority(w, LOW + i, 1 + (int32_t)i);
    CHECK(w->s->workers[0]->tasks.position < 3 * LOW * sizeof(task_entry_t));
    publish_none(worker);
    csched_poll(w->s, 0);
    EQUAL(take_slot(worker), LOW + HIGH - 1);
    csched_poll(w->s, 0);
    for (uint32_t i = HIGH - 1; i-- > 0; csched_poll(w->s, 0))
        EQUAL(take_slot(worker), LOW + i);
    for (uint32_t i = 1; i < LOW; i++, csched_poll(w->s, 0))
        EQUAL(take_slot(worker), i);
    finish(w, LOW + HIGH);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* Neither worker has room.  One has been at its task for as long as tasks take there, the other has just begun. */
static void a_higher_priority_goes_where_it_begins_first(void)
{
    world_t *w = world_open(0);
    csched_worker_t *workers[2] = {by_hand(w), by_hand(w)};
    for (uint32_t i = 0; i < 2; i++)
        window_learn(w->s, i, UINT64_C(10000000000));
    for (uint32_t i = 0; i < 4; i++)
        submit_priority(w, i, 0);
    for (uint32_t i = 0; i < 2; i++) {
        EQUAL(info_of(w, i).held, 2);
        next_item(workers[i], CSCHED_TASK);
    }
    u64_store_relaxed(&w->s->workers[1]->segment->claim_since, csched_now() - UINT64_C(9000000000));
    submit_priority(w, 4, 1);
    publish_none(workers[1]);
    EQUAL(take_slot(workers[1]), 4);
    publish_none(workers[0]);
    for (uint32_t left = 2; left; csched_poll(w->s, 0)) {
        csched_item_t item;
        for (uint32_t i = 0; i < 2; i++)
            if (csched_worker_next(workers[i], 0, 0, &item) == CSCHED_OK) {
                publish_none(workers[i]);
                left--;
            }
    }
    finish(w, 5);
    OK(csched_worker_detach(workers[0]));
    OK(csched_worker_detach(workers[1]));
    world_close(w);
}

/* Tasks were short; one is long. Tasks behind it are taken back although the other worker is busy, and no more are sent
 * there until it has a result. */
static void nothing_waits_behind_a_worker_that_is_stuck(void)
{
    world_t *w = world_open(0);
    csched_worker_t *stuck = by_hand(w), *other = by_hand(w);
    for (uint32_t i = 0; i < 2; i++)
        window_learn(w->s, i, 500000); /* a window of five */
    for (uint32_t i = 0; i < 40; i++)
        submit_priority(w, i, 0);
    EQUAL(info_of(w, 0).held, 5);
    EQUAL(info_of(w, 1).held, 5);
    next_item(stuck, CSCHED_TASK);
    u64_store_relaxed(&w->s->workers[0]->segment->claim_since, csched_now() - UINT64_C(60000000));
    UNTIL((csched_poll(w->s, 0), info_of(w, 0).held == 1));
    EQUAL(info_of(w, 1).held, 5);
    for (uint32_t left = 39; left; left--) { /* all the others, while the first worker is at its task */
        csched_poll(w->s, 0);
        EQUAL(info_of(w, 0).held, 1);
        take_slot(other);
    }
    publish_none(stuck);
    submit_priority(w, 40, 0);
    submit_priority(w, 41, 0);
    csched_poll(w->s, 0);
    submit_priority(w, 42, 0);
    CHECK(info_of(w, 0).held > 0); /* it is one of them again */
    csched_item_t item;
    for (uint32_t left = 3; left; csched_poll(w->s, 0)) {
        if (csched_worker_next(stuck, 0, 0, &item) == CSCHED_OK)
            publish_none(stuck), left--;
        if (csched_worker_next(other, 0, 0, &item) == CSCHED_OK)
            publish_none(other), left--;
    }
    finish(w, 43);
    OK(csched_worker_detach(stuck));
    OK(csched_worker_detach(other));
    world_close(w);
}

/* Between publishing a result and clearing its claim a worker may be without a CPU for long. */
static void one_that_only_seems_stuck_gets_more(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    for (uint32_t i = 0; i < 10; i++)
        submit_priority(w, i, 0);
    next_item(worker, CSCHED_TASK);
    publish_none(worker);
    csched_poll(w->s, 0);
    segment_t *segment = w->s->workers[0]->segment;
    u64_store_relaxed(&segment->claim_since, csched_now() - UINT64_C(600000000000));
    u64_store_release(&segment->claim_ticket, 1);
    recall_tick(w->s);
    EQUAL(info_of(w, 0).held, 0);
    u64_store_release(&segment->claim_ticket, 0);
    csched_item_t item;
    for (uint32_t left = 9; left; csched_poll(w->s, 0))
        if (csched_worker_next(worker, 0, 0, &item) == CSCHED_OK)
            publish_none(worker), left--;
    finish(w, 10);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* Tasks that a worker does not begin (it is stopped, or without its interpreter) go to idle ones. */
static void what_a_worker_does_not_begin_goes_to_another(void)
{
    static const char *const names[] = {"least-loaded", "round-robin", "random", "work-stealing"};
    for (uint32_t i = 0; i < 4; i++) {
        world_t *w = world_open(0);
        OK(csched_set_policy(w->s, names[i]));
        csched_worker_t *silent = by_hand(w);
        submit(w, JOB_NONE, 0, 0);
        submit(w, JOB_NONE, 1, 0);
        EQUAL(info_of(w, 0).held, 2);
        csched_worker_t *lively = by_hand(w);
        if (w->s->policy->steal) {
            UNTIL((csched_poll(w->s, 0), info_of(w, 1).held == 1)); /* the one that waits behind another */
            EQUAL(next_item(lively, CSCHED_TASK).slot, 1);
            publish_none(lively);
        }
        UNTIL((csched_poll(w->s, 0), info_of(w, 1).held == (w->s->policy->steal ? 1 : 2)));
        EQUAL(info_of(w, 0).held, 0);
        submit(w, JOB_NONE, 2, 0); /* nothing more goes to the first, though it holds nothing */
        submit(w, JOB_NONE, 3, 0);
        csched_poll(w->s, 0);
        EQUAL(info_of(w, 0).held, 0);
        for (uint32_t k = 0; k < 4; k++) {
            if (k == 1 && w->s->policy->steal)
                continue;
            EQUAL(next_item(lively, CSCHED_TASK).slot, k);
            publish_none(lively);
            csched_poll(w->s, 0);
        }
        finish(w, 4);
        csched_item_t none;
        EQUAL(csched_worker_next(silent, 0, 0, &none), CSCHED_EAGAIN); /* it passes them over: a sign of life */
        UNTIL((csched_poll(w->s, 0), w->s->loads[0].window > 0));
        submit(w, JOB_NONE, 4, 0);
        submit(w, JOB_NONE, 5, 0);
        csched_poll(w->s, 0);
        EQUAL(info_of(w, 0).held + info_of(w, 1).held, 2);
        OK(csched_worker_detach(silent));
        OK(csched_worker_detach(lively));
        world_close(w);
    }
}

/* A worker that runs a task is not silent, whatever its window; nor is the only worker. */
static void a_worker_that_has_begun_is_not_silent(void)
{
    csched_config_t config = {.window_ns = 1000}; /* the bound is below a tick */
    world_t *w = world_open_with(&config);
    csched_worker_t *only = by_hand(w);
    submit(w, JOB_NONE, 0, 0);
    submit(w, JOB_NONE, 1, 0);
    for (uint32_t i = 0; i < 3; i++) {
        w->s->next_tick = 0;
        csched_poll(w->s, 0);
        EQUAL(info_of(w, 0).held, 2);
    }
    next_item(only, CSCHED_TASK);
    csched_worker_t *other = by_hand(w);
    UNTIL((csched_poll(w->s, 0), info_of(w, 1).held == 1)); /* stolen: it waits behind a long task */
    CHECK(!w->s->workers[0]->silent);
    EQUAL(info_of(w, 0).held, 1);
    publish_none(only);
    next_item(other, CSCHED_TASK);
    publish_none(other);
    finish(w, 2);
    OK(csched_worker_detach(only));
    OK(csched_worker_detach(other));
    world_close(w);
}

/* The first two workers' tasks have run for so long. */
static void run_for(world_t *w, uint64_t ns)
{
    for (uint32_t k = 0; k < 2; k++)
        u64_store_relaxed(&w->s->workers[k]->segment->claim_since, now_ns() - ns);
}

/* A worker that comes gets the tasks that wait behind others first, and then later ones: however long those have run. */
static void tasks_begin_in_the_order_of_submission(void)
{
    static const char *const names[] = {"least-loaded", "work-stealing"};
    static const uint64_t running_ns[] = {1000, 970000, 20000000};
    for (uint32_t i = 0; i < 6; i++) {
        world_t *w = world_open(0);
        OK(csched_set_policy(w->s, names[i % 2]));
        csched_worker_t *workers[3] = {by_hand(w), by_hand(w)};
        for (uint32_t k = 0; k < 8; k++)
            submit(w, JOB_NONE, k, 0);
        EQUAL(info_of(w, 0).held + info_of(w, 1).held, 4);
        uint32_t first = next_item(workers[0], CSCHED_TASK).slot, second = next_item(workers[1], CSCHED_TASK).slot;
        EQUAL(first + second, 0 + 1);
        workers[2] = by_hand(w);
        UNTIL((run_for(w, running_ns[i / 2]), csched_poll(w->s, 0), info_of(w, 2).held == 2));
        EQUAL(next_item(workers[2], CSCHED_TASK).slot, 2);
        for (uint32_t k = 0; k < 3; k++)
            publish_none(workers[k]);
        for (uint32_t left = 5; left; csched_poll(w->s, 0))
            for (uint32_t k = 0; k < 3; k++) {
                csched_item_t item;
                if (csched_worker_next(workers[k], 0, 0, &item) == CSCHED_OK)
                    publish_none(workers[k]), left--;
            }
        finish(w, 8);
        for (uint32_t k = 0; k < 3; k++)
            OK(csched_worker_detach(workers[k]));
        world_close(w);
    }
}

MAIN(TEST(a_higher_priority_overtakes_what_was_sent), TEST(it_overtakes_where_there_is_room_too),
     TEST(runs_share_a_worker), TEST(a_flood_of_higher_ones_moves_little),
     TEST(a_higher_priority_goes_where_it_begins_first), TEST(nothing_waits_behind_a_worker_that_is_stuck),
     TEST(one_that_only_seems_stuck_gets_more), TEST(what_a_worker_does_not_begin_goes_to_another),
     TEST(a_worker_that_has_begun_is_not_silent), TEST(tasks_begin_in_the_order_of_submission))
