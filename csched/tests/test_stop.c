#include "layout.h"
#include "world.h"

static csched_options_t retried(uint32_t retries, uint32_t ask)
{
    csched_options_t options = plain();
    options.retries = retries;
    options.ask = ask;
    return options;
}

static void what_has_not_begun_is_cancelled_and_what_runs_is_named(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint64_t first = submit(w, JOB_NONE, 0, 0);
    submit(w, JOB_NONE, 1, 0);
    submit(w, JOB_NONE, 2, 0);
    next_item(worker, CSCHED_TASK);
    csched_target_t targets[4];
    uint32_t cancelled;
    EQUAL(csched_stop_run(w->s, 0, 0, targets, 4, &cancelled), 1);
    EQUAL(cancelled, 2);
    EQUAL(targets[0].ticket, first);
    CHECK(targets[0].since > 0 && targets[0].since <= csched_now());
    EQUAL(csched_task_state(w->s, first), 4);
    EQUAL(stats_of(w).stopping, 1);
    EQUAL(info_of(w, 0).stopping, 1);
    EQUAL(csched_worker_interrupted(worker), 1);
    publish_none(worker); /* it finished anyway: it stays cancelled */
    finish(w, 3);
    EQUAL(w->by_status[CSCHED_CANCELLED], 3);
    EQUAL(stats_of(w).cancelled, 3);
    EQUAL(stats_of(w).stopping, 0);
    EQUAL(csched_stop_run(w->s, 0, 0, targets, 4, &cancelled), 0);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* A task that a worker finished and the kernel has not drained yet stays finished. */
static void results_on_their_way_stand(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    for (uint32_t i = 0; i < 2; i++)
        submit(w, JOB_NONE, i, 0);
    next_item(worker, CSCHED_TASK);
    publish_none(worker);
    next_item(worker, CSCHED_TASK);
    csched_target_t targets[4];
    uint32_t cancelled;
    EQUAL(csched_stop_run(w->s, 0, 0, targets, 4, &cancelled), 1);
    EQUAL(cancelled, 0);
    EQUAL(csched_worker_current(worker), targets[0].ticket);
    publish_none(worker);
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_NONE], 1);
    EQUAL(w->by_status[CSCHED_CANCELLED], 1);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void only_later_tasks_when_asked_so(void)
{
    world_t *w = world_open(0);
    submit(w, JOB_NONE, 0, 0);
    uint32_t before = csched_serial(w->s), cancelled;
    uint64_t later = submit(w, JOB_NONE, 1, 0);
    csched_target_t target;
    EQUAL(csched_stop_run(w->s, 0, before, &target, 1, &cancelled), 0);
    EQUAL(cancelled, 1);
    EQUAL(csched_task_state(w->s, later), 0);
    world_thread(w);
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_NONE], 1);
    world_close(w);
}

static void a_stopped_task_is_not_tried_again(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_options_t options = retried(5, 0);
    uint64_t ticket = submit_with(w, (job_t){JOB_FAIL, 0, 0}, &options);
    next_item(worker, CSCHED_TASK);
    csched_target_t target;
    EQUAL(csched_stop_task(w->s, ticket, &target), 2);
    OK(csched_worker_publish(worker, CSCHED_ERROR, 1, "E", 1, IN_LINE));
    finish(w, 1);
    EQUAL(w->by_status[CSCHED_CANCELLED], 1);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void a_stopped_task_dies_with_its_worker(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint64_t ticket = submit(w, JOB_NONE, 0, 0);
    next_item(worker, CSCHED_TASK);
    csched_target_t target;
    EQUAL(csched_stop_task(w->s, ticket, &target), 2);
    OK(csched_worker_lost(w->s, 0));
    finish(w, 1);
    EQUAL(w->by_status[CSCHED_CANCELLED], 1);
    EQUAL(csched_stop_task(w->s, ticket, &target), 0);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* The signal that ends a worker for one task must not hit the next. */
static void a_condemned_worker_holds_nothing_else(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint64_t first = submit(w, JOB_NONE, 0, 0);
    submit(w, JOB_NONE, 1, 0);
    next_item(worker, CSCHED_TASK);
    EQUAL(csched_worker_condemn(w->s, 0, first + 1, 0, NO_ELEMENT), 0);
    EQUAL(csched_worker_condemn(w->s, 7, first, 0, NO_ELEMENT), 0);
    EQUAL(csched_worker_condemn(w->s, 0, first, 0, NO_ELEMENT), 1);
    submit(w, JOB_NONE, 2, 0);
    publish_none(worker);
    csched_item_t item;
    EQUAL(csched_worker_next(worker, 0, 0, &item), CSCHED_EAGAIN);
    finish(w, 1);
    EQUAL(csched_worker_next(worker, 0, 0, &item), CSCHED_EAGAIN);
    EQUAL(csched_worker_condemn(w->s, 0, first, 0, NO_ELEMENT), 0);
    OK(csched_worker_lost(w->s, 0));
    OK(csched_worker_detach(worker));
    world_thread(w);
    finish(w, 3);
    EQUAL(w->by_status[CSCHED_NONE], 3);
    world_close(w);
}

static csched_message_t asked(world_t *w)
{
    csched_message_t message;
    UNTIL(csched_poll(w->s, 0) >= 0 && csched_messages(w->s, 1, &message) == 1);
    EQUAL(message.kind, CSCHED_ATTEMPT);
    OK(csched_messages_commit(w->s, 1));
    return message;
}

static void who_submitted_decides_about_retries(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_options_t options = retried(2, 1);
    uint64_t ticket = submit_with(w, (job_t){JOB_FAIL, 0, 0}, &options);
    for (uint32_t attempt = 0; attempt < 2; attempt++) {
        csched_item_t item = next_item(worker, CSCHED_TASK);
        EQUAL(item.flags, attempt);
        OK(csched_worker_publish(worker, CSCHED_ERROR, 1, "E", 1, IN_LINE));
        csched_message_t message = asked(w);
        EQUAL(message.ticket, ticket);
        EQUAL(message.detail, CSCHED_ERROR);
        EQUAL(message.size, 1);
        EQUAL(csched_task_state(w->s, ticket), 1); /* it waits, and no worker with it */
        EQUAL(csched_worker_next(worker, 0, 0, &item), CSCHED_EAGAIN);
        if (attempt == 0) {
            OK(csched_retry(w->s, ticket, 1000));
            EQUAL(csched_retry(w->s, ticket, 0), CSCHED_EINVAL);
            UNTIL(csched_poll(w->s, 0) >= 0 && csched_task_state(w->s, ticket) == 2);
        } else {
            OK(csched_give_up(w->s, ticket, CSCHED_ERROR));
        }
    }
    finish(w, 1);
    EQUAL(w->by_status[CSCHED_ERROR], 1);
    EQUAL(csched_give_up(w->s, ticket, CSCHED_ERROR), CSCHED_EINVAL);
    csched_journey_t rows[4];
    uint64_t cursor = 0, dropped;
    EQUAL(csched_journeys(w->s, &cursor, 4, rows, &dropped), 2);
    EQUAL(rows[0].status, CSCHED_RETRIED);
    EQUAL(rows[0].attempt, 0);
    EQUAL(rows[1].attempt, 1);
    EQUAL(rows[1].status, CSCHED_ERROR); /* the last one, which is known with the answer */
    CHECK(rows[1].stamps[6] && rows[1].stamps[7]);
    EQUAL(stats_of(w).failed, 1);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void a_retry_that_waits_is_cancelled(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_options_t options = retried(2, 1);
    for (uint32_t answered = 0; answered < 2; answered++) {
        uint64_t ticket = submit_with(w, (job_t){JOB_FAIL, answered, 0}, &options);
        next_item(worker, CSCHED_TASK);
        OK(csched_worker_publish(worker, CSCHED_ERROR, 1, "E", 1, IN_LINE));
        asked(w);
        if (answered)
            OK(csched_retry(w->s, ticket, UINT64_C(1) << 50));
        EQUAL(csched_cancel(w->s, ticket), 1);
        EQUAL(csched_retry(w->s, ticket, 0), CSCHED_EINVAL);
    }
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_CANCELLED], 2);
    EQUAL(stats_of(w).waiting, 0);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void a_worker_wears_out(void)
{
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = 1 << 20, .worker_tasks = 3};
    world_t *w = world_open_with(&config);
    csched_worker_t *worker = by_hand(w);
    for (uint32_t i = 0; i < 5; i++)
        submit(w, JOB_NONE, i, 0);
    uint32_t ran = 0;
    csched_item_t item;
    int rc;
    while ((rc = csched_worker_next(worker, 0, 0, &item)) != CSCHED_ESTOPPED) {
        if (rc == CSCHED_OK && item.kind == CSCHED_TASK) {
            publish_none(worker);
            ran++;
        }
        csched_poll(w->s, 0);
        collect_some(w);
    }
    EQUAL(ran, 3);
    OK(csched_worker_lost(w->s, 0));
    OK(csched_worker_detach(worker));
    world_thread(w);
    finish(w, 5);
    world_close(w);
}

/* Each element that exceeds it is reported once and stopped alone. */
static void a_chunks_limit_holds_for_each_element(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_options_t options = plain();
    options.timeout_ns = 1000000;
    options.count = 3;
    uint64_t ticket = submit_with(w, (job_t){JOB_NONE, 0, 0}, &options);
    next_item(worker, CSCHED_TASK);
    csched_target_t target;
    for (uint32_t element = 0; element < 3; element += 2) {
        OK(csched_worker_element(worker, element));
        EQUAL(only_message(w, CSCHED_OVERDUE).detail, element);
        EQUAL(csched_interrupt(w->s, ticket, element, &target), 1);
        EQUAL(target.element, element);
        EQUAL(csched_worker_overdue(worker), 1);
        EQUAL(csched_unheard(w->s, ticket, 0, element), 1);
        OK(csched_worker_heard(worker));
        EQUAL(csched_unheard(w->s, ticket, 0, element), 0);
        OK(csched_worker_element(worker, NO_ELEMENT)); /* nothing is late between elements */
        EQUAL(csched_worker_interrupted(worker), 0);
        EQUAL(csched_unheard(w->s, ticket, 0, element), CSCHED_EAGAIN);
        EQUAL(csched_worker_condemn(w->s, 0, ticket, 0, element), 0);
    }
    OK(csched_worker_element(worker, 2));
    EQUAL(csched_stop_task(w->s, ticket, &target), 2); /* as a whole */
    EQUAL(csched_worker_interrupted(worker), 1);
    EQUAL(csched_worker_overdue(worker), 0);
    EQUAL(csched_interrupt(w->s, ticket, 2, &target), 1);
    EQUAL(csched_worker_overdue(worker), 0);
    publish_none(worker);
    finish(w, 1);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void a_worker_killed_for_an_element_names_it(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_options_t options = plain();
    options.timeout_ns = UINT64_MAX;
    options.count = 3;
    uint64_t ticket = submit_with(w, (job_t){JOB_NONE, 0, 0}, &options);
    next_item(worker, CSCHED_TASK);
    OK(csched_worker_element(worker, 1));
    EQUAL(csched_worker_condemn(w->s, 0, ticket, 0, 0), 0);
    EQUAL(csched_worker_condemn(w->s, 0, ticket, 0, 1), 1);
    OK(csched_worker_element(worker, 2)); /* before the signal came */
    OK(csched_worker_lost(w->s, 0));
    csched_completion_t over;
    csched_poll(w->s, 0);
    EQUAL(csched_collect(w->s, 1, &over), 1);
    EQUAL(over.status, CSCHED_TIMEOUT);
    EQUAL(over.detail, 1);
    OK(csched_commit(w->s, 1));
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* What was meant for one attempt hits no later one: the message, the mark, the signal sent again, the kill. */
static void a_limit_is_one_attempts(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_options_t options = retried(2, 0);
    options.timeout_ns = 1000000;
    uint64_t ticket = submit_with(w, (job_t){JOB_FAIL, 0, 0}, &options);
    next_item(worker, CSCHED_TASK);
    csched_target_t first, second;
    EQUAL(only_message(w, CSCHED_OVERDUE).ticket, ticket);
    EQUAL(csched_interrupt(w->s, ticket, NO_ELEMENT, &first), 1);
    EQUAL(first.attempt, 0);
    OK(csched_worker_publish(worker, CSCHED_ERROR, 1, "E", 1, IN_LINE));
    UNTIL(csched_poll(w->s, 0) >= 0 && csched_task_state(w->s, ticket) == 2);
    next_item(worker, CSCHED_TASK); /* its second attempt, in the same worker */
    EQUAL(csched_interrupt(w->s, ticket, NO_ELEMENT, &second), 0); /* a message that was read late */
    EQUAL(csched_worker_interrupted(worker), 0);
    EQUAL(csched_unheard(w->s, ticket, first.attempt, NO_ELEMENT), CSCHED_EAGAIN);
    EQUAL(csched_worker_condemn(w->s, 0, ticket, first.attempt, NO_ELEMENT), 0);
    EQUAL(only_message(w, CSCHED_OVERDUE).ticket, ticket); /* it has a limit of its own */
    EQUAL(csched_interrupt(w->s, ticket, NO_ELEMENT, &second), 1);
    EQUAL(second.attempt, 1);
    EQUAL(csched_worker_interrupted(worker), 1);
    EQUAL(csched_unheard(w->s, ticket, 1, NO_ELEMENT), 1);
    OK(csched_worker_heard(worker));
    EQUAL(csched_unheard(w->s, ticket, 1, NO_ELEMENT), 0);
    EQUAL(info_of(w, 0).attempt, 1);
    EQUAL(csched_worker_condemn(w->s, 0, ticket, 1, NO_ELEMENT), 1);
    OK(csched_worker_lost(w->s, 0));
    OK(csched_worker_detach(worker));
    world_thread(w);
    finish(w, 1);
    EQUAL(w->by_status[CSCHED_NONE], 1);
    world_close(w);
}

MAIN(TEST(a_limit_is_one_attempts), TEST(a_chunks_limit_holds_for_each_element),
     TEST(a_worker_killed_for_an_element_names_it), TEST(what_has_not_begun_is_cancelled_and_what_runs_is_named),
     TEST(results_on_their_way_stand), TEST(only_later_tasks_when_asked_so), TEST(a_stopped_task_is_not_tried_again),
     TEST(a_stopped_task_dies_with_its_worker), TEST(a_condemned_worker_holds_nothing_else),
     TEST(who_submitted_decides_about_retries), TEST(a_retry_that_waits_is_cancelled), TEST(a_worker_wears_out))
