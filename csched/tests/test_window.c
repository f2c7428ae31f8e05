#include "internal.h"
#include "window.h"
#include "world.h"

enum { ENTRY = 8000 };

static uint64_t submit_bytes(world_t *w, uint32_t slot, uint64_t bytes)
{
    uint8_t *body = calloc(1, bytes);
    OK(csched_reserve(w->s, slot + 1));
    int64_t ticket = csched_submit(w->s, slot, 0, 0, body, bytes, 0);
    CHECK(ticket > 0);
    free(body);
    return (uint64_t)ticket;
}

static void a_worker_gets_more_as_it_proves_fast(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    for (uint32_t i = 0; i < 3000; i++)
        submit(w, JOB_NONE, i, 0);
    EQUAL(info_of(w, 0).held, 2); /* nothing is known of it yet */
    uint32_t most = 0;
    while (w->done < 1000) {
        next_item(worker, CSCHED_TASK);
        publish_none(worker);
        csched_poll(w->s, 0);
        collect_some(w);
        most = info_of(w, 0).held > most ? info_of(w, 0).held : most;
    }
    CHECK(most > 8 && most <= 1024);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* Its result is not drained yet, while the task ring has come round and the entry's memory belongs to another task.
 * Cancelling must neither succeed nor revoke that other task. */
static void a_finished_task_cannot_be_cancelled_through_its_old_entry(void)
{
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = 1 << 20};
    world_t *w = world_open_with(&config);
    csched_worker_t *worker = by_hand(w);
    uint64_t tickets[12];
    OK(csched_pause(w->s, 1));
    for (uint32_t i = 0; i < 12; i++)
        tickets[i] = submit_bytes(w, i, ENTRY);
    window_learn(w->s, 0, 1); /* a window of 1,024: the ring is what limits */
    OK(csched_pause(w->s, 0));
    EQUAL(w->s->workers[0]->held_count, 8);
    for (uint32_t i = 0; i < 6; i++) {
        next_item(worker, CSCHED_TASK);
        publish_none(worker);
    }
    next_item(worker, CSCHED_TASK); /* gives the sixth entry's memory back */
    window_learn(w->s, 0, 1);
    OK(csched_pause(w->s, 0)); /* sends more, and does not drain */
    EQUAL(w->s->workers[0]->held_count, 12);
    for (uint32_t i = 0; i < 7; i++)
        EQUAL(csched_cancel(w->s, tickets[i]), 0);
    publish_none(worker);
    for (uint32_t i = 7; i < 12; i++) {
        next_item(worker, CSCHED_TASK);
        publish_none(worker);
    }
    csched_poll(w->s, 0);
    while (collect_some(w))
        continue;
    EQUAL(w->by_status[CSCHED_NONE], 12);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* A worker that is at a long task, while what its next task is to find changes again and again. */
static void the_latest_request_of_a_topic_precedes_the_next_task(void)
{
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = 1 << 20};
    world_t *w = world_open_with(&config);
    csched_worker_t *worker = by_hand(w);
    uint8_t *body = calloc(1, ENTRY);
    for (body[0] = 0; body[0] < 20; body[0]++)
        OK(csched_control_latest(w->s, 0, 1, body, ENTRY));
    for (body[0] = 30; body[0] < 40; body[0]++)
        OK(csched_control_latest(w->s, 0, 2, body, ENTRY));
    EQUAL(csched_control(w->s, 0, 7, body, ENTRY), CSCHED_EFULL);
    EQUAL(csched_control_latest(w->s, 0, 1, body, 200000), CSCHED_ETOOBIG);
    EQUAL(csched_control_latest(w->s, 9, 1, body, ENTRY), CSCHED_EINVAL);
    submit(w, JOB_NONE, 0, 0);
    EQUAL(info_of(w, 0).held, 0); /* the task waits for the requests before it */
    uint8_t seen[32];
    uint32_t count = 0;
    do {
        seen[count++] = *(uint8_t *)(uintptr_t)next_item(worker, CSCHED_CONTROL).address;
        csched_poll(w->s, 0);
    } while (seen[count - 1] != 39 && count < sizeof seen);
    CHECK(count > 4 && count < 12);
    for (uint32_t i = 0; i < count - 2; i++)
        EQUAL(seen[i], i); /* those that the ring had room for */
    EQUAL(seen[count - 2], 19);
    next_item(worker, CSCHED_TASK);
    publish_none(worker);
    finish(w, 1);
    OK(csched_control_latest(w->s, 0, 1, body, 10)); /* there is room */
    EQUAL(next_item(worker, CSCHED_CONTROL).size, 10);
    for (uint32_t i = 0; i < 20; i++)
        OK(csched_control_latest(w->s, 0, 1, body, ENTRY)); /* what waits goes with the worker */
    free(body);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void what_lies_behind_a_long_task_is_stolen(void)
{
    world_t *w = world_open(1);
    world_threads(w, 2);
    for (uint32_t i = 0; i < 2000; i++) /* both look fast: nothing seems worth stealing */
        submit(w, JOB_NONE, 0, 0);
    finish(w, 2000);
    submit(w, JOB_GATE, 1, 1);
    for (uint32_t i = 0; i < 200; i++)
        submit(w, JOB_NONE, 2, 0);
    finish(w, 2200); /* all but the one at the gate, while that blocks its worker */
    EQUAL(u32_relaxed(&board->gates[1]), 0);
    open_gate(1);
    finish(w, 2201);
    world_close(w);
}

/* No result comes while the first worker is busy: the tick must check its ring. */
static void a_newcomer_takes_from_the_busy(void)
{
    world_t *w = world_open(0);
    csched_worker_t *busy = by_hand(w);
    submit(w, JOB_NONE, 0, 0);
    submit(w, JOB_NONE, 1, 0);
    EQUAL(info_of(w, 0).held, 2);
    csched_worker_t *idle = by_hand(w);
    next_item(busy, CSCHED_TASK); /* and works on it from now on */
    UNTIL((csched_poll(w->s, 0), info_of(w, 1).held == 1));
    EQUAL(info_of(w, 0).held, 1);
    next_item(idle, CSCHED_TASK);
    publish_none(idle);
    publish_none(busy);
    finish(w, 2);
    csched_item_t none;
    EQUAL(csched_worker_next(busy, 0, 0, &none), CSCHED_EAGAIN); /* the revoked entry is passed over */
    OK(csched_worker_detach(busy));
    OK(csched_worker_detach(idle));
    world_close(w);
}

static void functions_go_to_each_worker_once(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint32_t small, large;
    uint64_t block, address;
    job_t job = {JOB_NONE, 0, 0};
    OK(csched_function_add(w->s, "code", 4, IN_LINE, &small));
    OK(csched_block_alloc(w->s, 100000, &block, &address));
    memset((void *)(uintptr_t)address, 7, 100000);
    OK(csched_function_add(w->s, NULL, 100000, block, &large));
    CHECK(small != large && small && large);
    OK(csched_reserve(w->s, 4));
    const uint32_t functions[4] = {small, small, large, small};
    for (uint32_t i = 0; i < 4; i++)
        CHECK(csched_submit(w->s, i, functions[i], 0, &job, sizeof job, 0) > 0);
    for (uint32_t i = 0; i < 4; i++) {
        if (i == 0 || i == 2) {
            csched_item_t code = next_item(worker, CSCHED_FUNCTION);
            EQUAL(code.function, functions[i]);
            EQUAL(code.size, i ? 100000 : 4);
            CHECK(memcmp((const void *)(uintptr_t)code.address, i ? "\7\7\7\7" : "code", 4) == 0);
            EQUAL(csched_worker_publish(worker, CSCHED_NONE, 0, NULL, 0, IN_LINE), CSCHED_EINVAL); /* it is no task */
        }
        EQUAL(next_item(worker, CSCHED_TASK).function, functions[i]);
        publish_none(worker);
        csched_poll(w->s, 0);
    }
    while (collect_some(w))
        continue;
    EQUAL(w->done, 4);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void paused_and_resumed(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    OK(csched_pause(w->s, 1));
    for (uint32_t i = 0; i < 100; i++)
        submit(w, JOB_NONE, i, 0);
    UNTIL(info_of(w, 0).state == 2 || (csched_poll(w->s, 0), 0));
    csched_wait(w->s, 20);
    EQUAL(stats_of(w).queued, 100);
    EQUAL(info_of(w, 0).held, 0);
    OK(csched_pause(w->s, 0));
    finish(w, 100);
    world_close(w);
}

static void every_policy_gets_the_work_done(void)
{
    static const char *const names[] = {"round-robin", "random", "work-stealing", "least-loaded"};
    world_t *w = world_open(1);
    world_threads(w, 3);
    EQUAL(csched_set_policy(w->s, "nonsense"), CSCHED_EINVAL);
    for (uint32_t i = 0; i < 4; i++) {
        OK(csched_set_policy(w->s, names[i]));
        for (uint32_t k = 0; k < 3000; k++)
            submit(w, k % 500 ? JOB_NONE : JOB_SUM, 0, 0);
        finish(w, 3000 * (i + 1));
    }
    world_close(w);
}

/* Durations come from memory that a worker can write: a mean of zero must not divide. */
static void absurd_durations(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    static const uint64_t durations[] = {0, UINT64_MAX, 0, 0, 1, UINT64_MAX - 7, UINT64_C(1) << 63, 0};
    for (int round = 0; round < 100; round++) {
        for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
            window_learn(w->s, 0, durations[i]);
            CHECK(w->s->loads[0].window >= 2 && w->s->loads[0].window <= 1024);
        }
        for (int i = 0; i < 200; i++)
            window_learn(w->s, 0, 0);
    }
    OK(csched_worker_detach(worker));
    world_close(w);
}

MAIN(TEST(a_worker_gets_more_as_it_proves_fast), TEST(a_finished_task_cannot_be_cancelled_through_its_old_entry),
     TEST(the_latest_request_of_a_topic_precedes_the_next_task), TEST(what_lies_behind_a_long_task_is_stolen),
     TEST(a_newcomer_takes_from_the_busy), TEST(functions_go_to_each_worker_once), TEST(paused_and_resumed),
     TEST(every_policy_gets_the_work_done), TEST(absurd_durations))
