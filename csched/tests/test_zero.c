/* Zero workers: every task is answered with None and has a whole journey; dependencies hold; none is left behind. */
#include "csched_lab.h"
#include "world.h"

enum { TASKS = 20000, MOST_ZEROS = 8 };

static csched_zero_t *zeros_start(world_t *w, uint32_t count)
{
    csched_zero_t *zero;
    int fds[4 * MOST_ZEROS];
    CHECK(count <= MOST_ZEROS);
    for (uint32_t i = 0; i < count; i++)
        memcpy(fds + 4 * i, w->hands[world_add(w)].fds, sizeof w->hands[0].fds);
    OK(csched_zero_start(fds, count, &zero));
    return zero;
}

static void check_rows(world_t *w, uint64_t count)
{
    csched_journey_t rows[256];
    uint64_t cursor = 0, dropped = 0, seen = 0;
    for (int n; (n = csched_journeys(w->s, &cursor, 256, rows, &dropped)) > 0; seen += (uint64_t)n)
        for (int i = 0; i < n; i++) {
            CHECK(rows[i].stamps[0]);
            for (int stage = 1; stage < CSCHED_STAGES; stage++)
                CHECK(rows[i].stamps[stage] >= rows[i].stamps[stage - 1]);
        }
    EQUAL(dropped, 0);
    EQUAL(seen, count);
}

static void independent_tasks_are_answered(void)
{
    csched_config_t config = {.arena_bytes = 1 << 20, .journey_rows = 1 << 16};
    world_t *w = world_open_with(&config);
    csched_zero_t *zero = zeros_start(w, 3);
    for (uint32_t i = 0; i < SCALED(TASKS); i++)
        submit(w, JOB_NONE, i, 0);
    finish(w, SCALED(TASKS));
    EQUAL(w->by_status[CSCHED_NONE], SCALED(TASKS));
    check_rows(w, SCALED(TASKS));
    world_close(w);
    OK(csched_zero_stop(zero));
}

static void a_task_follows_its_inputs(void)
{
    csched_config_t config = {.arena_bytes = 1 << 20, .journey_rows = 1 << 16};
    world_t *w = world_open_with(&config);
    uint64_t tickets[2] = {submit(w, JOB_NONE, 0, 0), submit(w, JOB_NONE, 1, 0)};
    csched_options_t options = plain();
    options.inputs = tickets;
    options.input_count = 2;
    for (uint32_t i = 2; i < SCALED(TASKS); i++)
        tickets[i % 2] = submit_with(w, (job_t){JOB_NONE, i, 0}, &options);
    csched_zero_t *zero = zeros_start(w, 2);
    finish(w, SCALED(TASKS));
    EQUAL(w->by_status[CSCHED_NONE], SCALED(TASKS));
    check_rows(w, SCALED(TASKS));
    OK(csched_zero_stop(zero));
    world_close(w);
}

static void descriptors_that_are_none_are_refused(void)
{
    const int fds[4] = {-1, -1, -1, -1};
    csched_zero_t *zero;
    EQUAL(csched_zero_start(fds, 1, &zero), CSCHED_ESYSTEM);
}

MAIN(TEST(independent_tasks_are_answered), TEST(a_task_follows_its_inputs), TEST(descriptors_that_are_none_are_refused))
