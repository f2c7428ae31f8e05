#include "internal.h"
#include "run_times.h"
#include "world.h"

enum { RUN = 3, ELEMENTS = 40, TASKS = 5000 };

static csched_run_step_t steps[CSCHED_RUN_STEPS];

static void ended(run_times_t *times, uint32_t count, const result_entry_t *entry, const uint64_t *marks)
{
    task_t task = {.submitted = 100, .ready = 110, .dispatched = 130, .run = RUN, .count = count, .pack_ns = 7};
    run_times_ended(times, &task, entry, marks);
}

static void every_value_is_within_its_step(void)
{
    uint64_t random = 7;
    for (uint32_t step = 0; step + 1 < TIMES_STEPS; step++) {
        EQUAL(times_step(times_start(step)), step);
        EQUAL(times_step(times_start(step + 1) - 1), step);
        CHECK(step < 16 || (times_start(step + 1) - times_start(step)) * 16 <= times_start(step));
    }
    for (int i = 0; i < TASKS; i++)
        CHECK(times_step(next_random(&random)) < TIMES_STEPS);
}

static void sums_are_those_of_the_stamps(void)
{
    run_times_t times = {0};
    OK(run_times_open(&times, RUN));
    const result_entry_t entry = {.received = 140, .started = 145, .finished = 245, .returned = 248};
    for (int i = 0; i < TASKS; i++)
        ended(&times, 1, &entry, NULL);
    const csched_run_times_t *sums = &times.of[RUN]->sums;
    EQUAL(sums->tasks, TASKS);
    EQUAL(sums->waited, 10 * TASKS);
    EQUAL(sums->queued, 20 * TASKS);
    EQUAL(sums->delivered, 10 * TASKS);
    EQUAL(sums->unpacked, 5 * TASKS);
    EQUAL(sums->ran, 100 * TASKS);
    EQUAL(sums->packed, 3 * TASKS);
    EQUAL(sums->pickled, 7 * TASKS);
    EQUAL(times.of[RUN]->steps[times_step(100)], TASKS);
    run_times_close(&times);
}

static void elements_of_chunks_count_one_by_one(void)
{
    run_times_t times = {0};
    OK(run_times_open(&times, RUN));
    uint64_t marks[ELEMENTS + 1] = {1000};
    for (uint32_t i = 0; i < ELEMENTS; i++)
        marks[i + 1] = marks[i] + (i == 17 ? 900 : 9);
    const result_entry_t entry = {
        .received = 990, .started = 1000, .finished = marks[ELEMENTS], .returned = 5000, .stamps = ELEMENTS + 1};
    ended(&times, ELEMENTS, &entry, marks);
    EQUAL(times.of[RUN]->sums.tasks, ELEMENTS);
    EQUAL(times.of[RUN]->sums.ran, 9 * (ELEMENTS - 1) + 900);
    EQUAL(times.of[RUN]->sums.unpacked, 10);
    EQUAL(times.of[RUN]->steps[9], ELEMENTS - 1);
    EQUAL(times.of[RUN]->steps[times_step(900)], 1);
    const task_t task = {.run = RUN};
    run_times_wasted(&times, &task, 900);
    run_times_wasted(&times, &task, 900); /* there is no other */
    EQUAL(times.of[RUN]->sums.tasks, ELEMENTS - 1);
    EQUAL(times.of[RUN]->sums.ran, 9 * (ELEMENTS - 1));
    EQUAL(times.of[RUN]->steps[times_step(900)], 0);
    run_times_close(&times);
}

static void tasks_of_unknown_runs_are_not_told(void)
{
    run_times_t times = {0};
    ended(&times, 1, &(result_entry_t){.started = 1, .finished = 2}, NULL);
    OK(run_times_open(&times, RUN));
    ended(&times, 1, &(result_entry_t){.started = 1, .finished = 2}, NULL);
    OK(run_times_open(&times, RUN)); /* a number that is used again begins anew */
    CHECK(!times.of[RUN]);
    run_times_close(&times);
}

static void a_scheduler_tells_them_until_the_run_is_closed(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_run_times_t sums;
    uint32_t run;
    OK(csched_run_open(w->s, &run));
    EQUAL(csched_run_times(w->s, run, &sums, steps), 0);
    EQUAL(sums.tasks, 0);
    const job_t job = {.kind = JOB_NONE, .value = 4711};
    OK(csched_reserve(w->s, 1));
    CHECK(csched_submit_with(w->s, 0, 0, run, &job, sizeof job, 0, NULL) > 0);
    next_item(worker, CSCHED_TASK);
    OK(csched_worker_started(worker));
    publish_none(worker);
    finish(w, 1);
    EQUAL(csched_run_times(w->s, run, &sums, steps), 1);
    EQUAL(sums.tasks, 1);
    EQUAL(steps[0].count, 1);
    CHECK(steps[0].start <= sums.ran && sums.ran < steps[0].end);
    OK(csched_run_close(w->s, run));
    EQUAL(csched_run_times(w->s, run, &sums, steps), 0);
    EQUAL(sums.tasks, 0);
    OK(csched_worker_detach(worker));
    world_close(w);
}

MAIN(TEST(every_value_is_within_its_step), TEST(sums_are_those_of_the_stamps),
     TEST(elements_of_chunks_count_one_by_one), TEST(tasks_of_unknown_runs_are_not_told),
     TEST(a_scheduler_tells_them_until_the_run_is_closed))
