/* Lanes: packs hold the tasks of the ring; results come in order, by the kernel's clock; tasks that were not run go
 * elsewhere, the one that killed its place is lost, and FLAG_ALONE tasks share no pack. */
#include "lane_scene.h"

static void tasks_pass_in_packs(void)
{
    end_t e;
    world_t *w = open_scene(1, &e);
    for (uint32_t i = 0; i < SCALED(5000); i++)
        submit(w, JOB_ECHO, i, i);
    uint32_t seen = 0;
    for (uint32_t largest = 0; w->done < SCALED(5000); collect_some(w)) {
        if (take(&e, RECORDS) <= 0) {
            csched_lane_wait(e.lane, 1);
            continue;
        }
        for (int i = 0; i < e.n; i++) {
            const job_t *job = (const job_t *)(e.data + e.records[i].at);
            EQUAL(e.records[i].size, sizeof *job);
            EQUAL(job->tag, seen++);
        }
        largest = (uint32_t)e.n > largest ? (uint32_t)e.n : largest;
        answer_all(&e);
    }
    EQUAL(seen, SCALED(5000));
    EQUAL(w->by_status[CSCHED_NONE], SCALED(5000));
    close_scene(w, &e);
}

static void stamps_are_by_our_clock(void)
{
    end_t e;
    world_t *w = open_scene(0, &e);
    const int64_t offsets[] = {INT64_C(-5000000000000), 0, INT64_C(7000000000000)};
    for (uint32_t i = 0; i < 3; i++) {
        submit(w, JOB_NONE, i, 0);
        take_tasks(&e, 1);
        answer(&e, CSCHED_NONE, NULL, 0, offsets[i]);
        finish(w, i + 1);
    }
    csched_journey_t rows[4];
    uint64_t cursor = 0, dropped = 0;
    EQUAL(csched_journeys(w->s, &cursor, 4, rows, &dropped), 3);
    for (int i = 0; i < 3; i++)
        for (int stage = 1; stage < CSCHED_STAGES; stage++)
            CHECK(rows[i].stamps[stage] >= rows[i].stamps[stage - 1]);
    close_scene(w, &e);
}

static void large_results_lie_in_blocks(void)
{
    enum { SIZE = 3 << 20 };
    end_t e;
    world_t *w = open_scene(0, &e);
    uint8_t *bytes = malloc(SIZE);
    for (uint32_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 7);
    submit(w, JOB_NONE, 0, 0);
    take_tasks(&e, 1);
    answer(&e, CSCHED_VALUE, bytes, SIZE, 0);
    csched_completion_t done;
    while (!csched_poll(w->s, 0))
        continue;
    EQUAL(csched_collect(w->s, 1, &done), 1);
    EQUAL(done.size, SIZE);
    CHECK(memcmp((const void *)(uintptr_t)done.address, bytes, SIZE) == 0);
    OK(csched_commit(w->s, 1));
    EQUAL(stats_of(w).arena_used, 0);
    free(bytes);
    close_scene(w, &e);
}

static void data_comes_in_parts(void)
{
    enum { SMALL = 500, LARGE = 100000 };
    end_t e;
    world_t *w = open_scene(0, &e);
    uint8_t *bytes = malloc(SMALL + LARGE);
    for (uint32_t i = 0; i < SMALL + LARGE; i++)
        bytes[i] = (uint8_t)(i * 7);
    uint64_t state = 1;
    for (int turn = 0; turn < 100; turn++) {
        uint64_t tickets[2];
        submit_and_take(w, &e, 2, tickets);
        csched_outcome_t outcomes[] = {
            {.kind = CSCHED_TASK, .status = CSCHED_VALUE, .ticket = tickets[0], .size = SMALL},
            {.kind = CSCHED_TASK, .status = CSCHED_VALUE, .ticket = tickets[1], .size = LARGE}};
        csched_part_t parts[8] = {0};
        uint64_t at = 0;
        for (int i = 0; i < 7; i++, at += parts[i - 1].size) /* some are empty */
            parts[i] = (csched_part_t){bytes + at, next_random(&state) % (turn % 3 ? (SMALL + LARGE - at) / 2 : SMALL)};
        parts[7] = (csched_part_t){bytes + at, SMALL + LARGE - at - 1};
        EQUAL(csched_lane_publish(e.lane, 2, outcomes, parts, 8, 0), CSCHED_ECORRUPT); /* after the first outcome */
        EQUAL(csched_lane_outstanding(e.lane), 1);
        csched_part_t rest[] = {{bytes + SMALL, LARGE - 1}, {bytes + SMALL + LARGE - 1, 1}};
        EQUAL(csched_lane_publish(e.lane, 1, outcomes + 1, rest, 2, 0), 1);
        csched_completion_t done[2];
        while (csched_collect(w->s, 2, done) < 2)
            csched_poll(w->s, 0);
        for (int i = 0; i < 2; i++)
            CHECK(memcmp((const void *)(uintptr_t)done[i].address, bytes + (i ? SMALL : 0), i ? LARGE : SMALL) == 0);
        EQUAL(done[1].size, LARGE);
        OK(csched_commit(w->s, 2));
    }
    free(bytes);
    close_scene(w, &e);
}

static void inputs_travel_along(void)
{
    end_t e;
    world_t *w = open_scene(0, &e);
    uint64_t tickets[2] = {submit(w, JOB_NONE, 0, 0), submit(w, JOB_NONE, 1, 0)};
    csched_options_t options = plain();
    options.inputs = tickets;
    options.input_count = 2;
    submit_with(w, (job_t){JOB_SUM, 2, 0}, &options);
    take_tasks(&e, 2);
    while (csched_lane_outstanding(e.lane) < 2)
        take_tasks(&e, 2);
    answer(&e, CSCHED_VALUE, "first", 5, 0);
    answer(&e, CSCHED_NONE, NULL, 0, 0);
    csched_poll(w->s, 0);
    take_tasks(&e, 1);
    EQUAL(e.records[0].inputs, 2);
    uint64_t at = (e.records[0].at + e.records[0].size + 7) & ~UINT64_C(7), head[2];
    memcpy(head, e.data + at, sizeof head);
    EQUAL(head[0], CSCHED_VALUE);
    EQUAL(head[1], 5);
    CHECK(memcmp(e.data + at + 16, "first", 5) == 0);
    memcpy(head, e.data + ((at + 16 + 5 + 7) & ~UINT64_C(7)), sizeof head);
    EQUAL(head[0], CSCHED_NONE);
    EQUAL(head[1], 0);
    answer_all(&e);
    finish(w, 3);
    close_scene(w, &e);
}

static void what_does_not_fit_says_how_much_it_takes(void)
{
    end_t e;
    world_t *w = open_scene(0, &e);
    submit(w, JOB_NONE, 0, 0);
    int rc = 0;
    while (!(rc = csched_lane_take(e.lane, 0, 1, e.data, 8, e.records, RECORDS, &e.used)))
        csched_lane_wait(e.lane, 1);
    EQUAL(rc, CSCHED_ETOOBIG);
    EQUAL(e.used, sizeof(job_t));
    take_tasks(&e, 1);
    answer_all(&e);
    finish(w, 1);
    close_scene(w, &e);
}

static void what_was_not_begun_goes_elsewhere(void)
{
    end_t e;
    world_t *w = open_scene(0, &e);
    submit_and_take(w, &e, 2, NULL);
    answer(&e, CSCHED_NONE, NULL, 0, 0);
    OK(csched_lane_give_back(e.lane, 1, 0));
    EQUAL(csched_lane_outstanding(e.lane), 0);
    EQUAL(csched_lane_give_back(e.lane, 1, 0), CSCHED_EINVAL);
    take_tasks(&e, 2);
    EQUAL(first_tag(&e), 1);
    EQUAL(e.records[0].alone, 0);
    answer_all(&e);
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_NONE], 2);
    close_scene(w, &e);
}

static void what_goes_elsewhere_has_its_limit_anew(void)
{
    end_t e;
    world_t *w = open_scene(0, &e);
    csched_options_t options = plain();
    options.timeout_ns = 1000000;
    submit_with(w, (job_t){JOB_NONE, 0, 0}, &options);
    for (int place = 0; place < 2; place++) {
        take_tasks(&e, 1);
        only_message(w, CSCHED_OVERDUE);
        if (!place)
            OK(csched_lane_give_back(e.lane, 1, 0));
    }
    answer_all(&e);
    finish(w, 1);
    close_scene(w, &e);
}

static void suspects_have_a_lane_for_themselves(void)
{
    end_t first;
    world_t *w = open_scene(0, &first);
    submit_and_take(w, &first, 2, NULL);
    OK(csched_lane_give_back(first.lane, 2, 1));
    close_lane(w, &first);
    end_t e = open_lane(w);
    take_tasks(&e, 2);
    EQUAL(csched_lane_outstanding(e.lane), 1);
    EQUAL(e.records[0].alone, 1);
    csched_poll(w->s, 0);
    EQUAL(take(&e, 2), CSCHED_EAGAIN);
    answer_all(&e);
    csched_poll(w->s, 0);
    take_tasks(&e, 2);
    EQUAL(e.records[0].alone, 1);
    close_lane(w, &e); /* the second one kills its place, alone */
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_NONE], 1);
    EQUAL(w->by_status[CSCHED_LOST], 1);
    world_close(w);
}

static void the_newest_can_be_taken_back(void)
{
    end_t e;
    world_t *w = open_scene(0, &e);
    submit_and_take(w, &e, 2, NULL);
    EQUAL(csched_lane_take_back(e.lane, 3), CSCHED_EINVAL);
    OK(csched_lane_take_back(e.lane, 1));
    answer(&e, CSCHED_NONE, NULL, 0, 0);
    finish(w, 1);
    take_tasks(&e, 2);
    EQUAL(first_tag(&e), 1);
    answer_all(&e);
    finish(w, 2);
    close_scene(w, &e);
}

static void the_one_to_blame_is_lost(void)
{
    end_t first;
    world_t *w = open_scene(0, &first);
    submit_and_take(w, &first, 2, NULL);
    OK(csched_lane_blame(first.lane, 7));
    OK(csched_lane_give_back(first.lane, 1, 0));
    EQUAL(csched_lane_blame(first.lane, 7), CSCHED_EINVAL);
    close_lane(w, &first);
    end_t e = open_lane(w);
    take_tasks(&e, 2);
    EQUAL(first_tag(&e), 1);
    answer_all(&e);
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_LOST], 1);
    EQUAL(w->by_status[CSCHED_NONE], 1);
    close_scene(w, &e);
}

static void a_stopped_task_that_comes_back_is_cancelled(void)
{
    end_t e;
    world_t *w = open_scene(0, &e);
    uint64_t tickets[2];
    submit_and_take(w, &e, 2, tickets);
    csched_target_t target;
    EQUAL(csched_stop_task(w->s, tickets[1], &target), 2); /* not the last one alone: all that were taken may run */
    EQUAL(csched_stop_task(w->s, tickets[0], &target), 2);
    answer(&e, CSCHED_NONE, NULL, 0, 0);
    OK(csched_lane_give_back(e.lane, 1, 0));
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_CANCELLED], 2);
    close_scene(w, &e);
}

static void requests_are_answered(void)
{
    end_t e;
    world_t *w = open_scene(0, &e);
    OK(csched_control(w->s, e.index, 42, "hello", 5));
    take_tasks(&e, 1);
    EQUAL(e.records[0].kind, CSCHED_CONTROL);
    EQUAL(e.records[0].function, 42);
    csched_outcome_t reply = {.kind = CSCHED_CONTROL, .failures = 42, .size = 3};
    csched_part_t yes = {"yes", 3};
    EQUAL(csched_lane_publish(e.lane, 1, &reply, &yes, 1, 0), 1);
    while (!csched_poll(w->s, 0))
        continue;
    csched_message_t message;
    EQUAL(csched_messages(w->s, 1, &message), 1);
    EQUAL(message.kind, CSCHED_REPLY);
    EQUAL(message.detail, 42);
    EQUAL(message.size, 3);
    OK(csched_messages_commit(w->s, 1));
    close_scene(w, &e);
}

static void an_outcome_of_another_task_is_refused(void)
{
    end_t e;
    world_t *w = open_scene(0, &e);
    csched_outcome_t outcome = {.kind = CSCHED_TASK, .status = CSCHED_NONE, .ticket = 1};
    EQUAL(csched_lane_publish(e.lane, 1, &outcome, NULL, 0, 0), CSCHED_EINVAL);
    close_scene(w, &e);
}

static void *waker(void *lane)
{
    for (int i = 0; i < 1000; i++)
        csched_lane_wake(lane);
    return NULL;
}

static void a_wake_is_never_missed(void)
{
    end_t e;
    world_t *w = open_scene(0, &e);
    pthread_t thread;
    OK(csched_lane_wake(e.lane));
    uint64_t start = csched_now();
    EQUAL(csched_lane_take(e.lane, 20000, 1, e.data, ROOM, e.records, RECORDS, &e.used), 0);
    OK(csched_lane_wake(e.lane));
    csched_lane_wait(e.lane, 20000);
    CHECK(csched_now() - start < UINT64_C(10000000000));
    CHECK(!pthread_create(&thread, NULL, waker, e.lane));
    for (int i = 0; i < 100; i++)
        csched_lane_take(e.lane, 1, 1, e.data, ROOM, e.records, RECORDS, &e.used);
    pthread_join(thread, NULL);
    OK(csched_worker_retire(w->s, e.index));
    csched_lane_take(e.lane, 1, 1, e.data, ROOM, e.records, RECORDS, &e.used);
    EQUAL(take(&e, 1), CSCHED_ESTOPPED);
    close_scene(w, &e);
}

MAIN(TEST(tasks_pass_in_packs), TEST(stamps_are_by_our_clock), TEST(large_results_lie_in_blocks),
     TEST(data_comes_in_parts), TEST(inputs_travel_along), TEST(what_does_not_fit_says_how_much_it_takes),
     TEST(what_was_not_begun_goes_elsewhere), TEST(what_goes_elsewhere_has_its_limit_anew),
     TEST(suspects_have_a_lane_for_themselves), TEST(the_newest_can_be_taken_back), TEST(the_one_to_blame_is_lost),
     TEST(a_stopped_task_that_comes_back_is_cancelled), TEST(requests_are_answered),
     TEST(an_outcome_of_another_task_is_refused), TEST(a_wake_is_never_missed))
