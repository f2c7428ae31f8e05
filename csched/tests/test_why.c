#include "world.h"

static csched_why_t why(world_t *w, uint64_t ticket)
{
    csched_why_t found;
    OK(csched_why(w->s, ticket, &found));
    return found;
}

static uint64_t submit_to(world_t *w, uint32_t run, uint32_t tag)
{
    OK(csched_reserve(w->s, w->next_slot + 1));
    job_t job = {JOB_NONE, tag, 0};
    int64_t ticket = csched_submit(w->s, w->next_slot++, 0, run, &job, sizeof job, 0);
    CHECK(ticket > 0);
    return (uint64_t)ticket;
}

static void a_queue_without_workers(void)
{
    world_t *w = world_open(1);
    csched_options_t high = plain();
    high.priority = 5;
    high.count = 3;
    uint32_t run, other;
    OK(csched_run_open(w->s, &run));
    OK(csched_run_open(w->s, &other));
    submit_to(w, run, 0);
    submit_to(w, other, 1);
    uint64_t ticket = submit_to(w, run, 2);
    submit_to(w, run, 3);
    submit_with(w, (job_t){JOB_CHUNK, 10, 0}, &high);
    csched_why_t found = why(w, ticket);
    EQUAL(found.reason, CSCHED_WHY_NO_WORKER);
    EQUAL(found.workers, 0);
    EQUAL(found.same, 1);
    EQUAL(found.others, 1);
    EQUAL(found.higher, 3);
    EQUAL(found.run, run);
    OK(csched_pause(w->s, 1));
    EQUAL(why(w, ticket).reason, CSCHED_WHY_PAUSED);
    OK(csched_pause(w->s, 0));
    EQUAL(why(w, 12345).reason, CSCHED_WHY_OVER);
    world_thread(w);
    finish(w, 5);
    EQUAL(why(w, ticket).reason, CSCHED_WHY_OVER);
    world_close(w);
}

static void inputs_and_rings(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    uint64_t running = submit(w, JOB_GATE, 0, 1), held = submit(w, JOB_NONE, 1, 0);
    UNTIL(csched_task_state(w->s, running) == 3);
    csched_why_t found = why(w, running);
    EQUAL(found.reason, CSCHED_WHY_RUNNING);
    EQUAL(found.worker, 0);
    CHECK(found.since > 0);
    uint64_t inputs[] = {running, held};
    csched_options_t options = plain();
    options.inputs = inputs;
    options.input_count = 2;
    uint64_t waiting = submit_with(w, (job_t){JOB_NONE, 2, 0}, &options);
    found = why(w, waiting);
    EQUAL(found.reason, CSCHED_WHY_INPUTS);
    EQUAL(found.missing, 2);
    EQUAL(found.named, 2);
    EQUAL(found.waits_for[0], running);
    EQUAL(found.waits_for[1], held);
    options = plain();
    options.not_before = csched_now() + UINT64_C(3600000000000);
    uint64_t delayed = submit_with(w, (job_t){JOB_NONE, 3, 0}, &options);
    found = why(w, delayed);
    EQUAL(found.reason, CSCHED_WHY_DELAYED);
    EQUAL(found.until, options.not_before);
    csched_target_t target;
    EQUAL(csched_stop_task(w->s, running, &target), 2);
    EQUAL(why(w, running).reason, CSCHED_WHY_STOPPING);
    csched_cancel(w->s, delayed);
    open_gate(1);
    finish(w, 4);
    world_close(w);
}

/* Which worker holds it is what the test decides: one driven by hand takes the first of two. */
static void behind_another_in_a_ring(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint64_t first = submit(w, JOB_NONE, 0, 0), second = submit(w, JOB_NONE, 1, 0);
    csched_poll(w->s, 0);
    next_item(worker, CSCHED_TASK);
    csched_why_t found = why(w, second);
    EQUAL(found.reason, CSCHED_WHY_SENT);
    EQUAL(found.worker, 0);
    EQUAL(found.ticket, first);
    EQUAL(found.ahead, 1);
    EQUAL(found.moves, 0); /* there is no other worker */
    publish_none(worker);
    EQUAL(why(w, first).reason, CSCHED_WHY_ENDED); /* its result is in the ring */
    found = why(w, second);
    EQUAL(found.reason, CSCHED_WHY_SENT);
    EQUAL(found.ahead, 0);
    next_item(worker, CSCHED_TASK);
    EQUAL(why(w, first).reason, CSCHED_WHY_ENDED);
    EQUAL(why(w, second).reason, CSCHED_WHY_RUNNING);
    publish_none(worker);
    finish(w, 2);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* Behind what runs on either of two workers: policies that steal have the other one take it. */
static void behind_one_of_two(void)
{
    world_t *w = world_open(0);
    csched_worker_t *workers[] = {by_hand(w), by_hand(w)};
    uint64_t tickets[4];
    for (uint32_t t = 0; t < 4; t++)
        tickets[t] = submit(w, JOB_NONE, t, 0);
    csched_poll(w->s, 0);
    for (uint32_t i = 0; i < 2; i++)
        next_item(workers[i], CSCHED_TASK);
    for (uint32_t steals = 0; steals < 2; steals++) {
        OK(csched_set_policy(w->s, steals ? "work-stealing" : "round-robin"));
        uint32_t sent = 0;
        for (uint32_t t = 0; t < 4; t++) {
            csched_why_t found = why(w, tickets[t]);
            sent += found.reason == CSCHED_WHY_SENT;
            EQUAL(found.moves, steals && found.reason == CSCHED_WHY_SENT);
        }
        EQUAL(sent, 2);
    }
    for (uint32_t n = 0; n < 2; n++)
        for (uint32_t i = 0; i < 2; i++) {
            if (n)
                next_item(workers[i], CSCHED_TASK);
            publish_none(workers[i]);
        }
    finish(w, 4);
    for (uint32_t i = 0; i < 2; i++)
        OK(csched_worker_detach(workers[i]));
    world_close(w);
}

MAIN(TEST(a_queue_without_workers), TEST(inputs_and_rings), TEST(behind_another_in_a_ring), TEST(behind_one_of_two))
