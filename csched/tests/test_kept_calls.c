#include "internal.h"
#include "world.h"

enum { MANY = 3 * KEPT_CALLS };

static bool is_kept(world_t *w, uint64_t ticket, uint32_t tag)
{
    job_t job;
    return csched_kept_call(w->s, ticket, &job, sizeof job) == sizeof job && job.tag == tag;
}

static void the_first_of_a_work_are_kept_when_they_are_over(void)
{
    world_t *w = world_open(1);
    static uint64_t tickets[MANY];
    world_thread(w);
    EQUAL(csched_kept_call(w->s, 0, NULL, 0), CSCHED_EINVAL);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < MANY; i++)
            tickets[i] = submit(w, JOB_NONE, i, 0);
        finish(w, MANY);
        for (uint32_t i = 0; i < MANY; i++)
            EQUAL(is_kept(w, tickets[i], i), i < KEPT_CALLS);
        OK(csched_account_begin(w->s));
    }
    world_close(w);
}

static void ends_of_dependencies_are_kept_later_too(void)
{
    world_t *w = world_open(1);
    for (uint32_t i = 0; i < MANY; i++)
        submit(w, JOB_NONE, i, 0);
    OK(csched_pause(w->s, 1));
    uint64_t input = submit(w, JOB_NONE, 7, 0);
    CHECK(!is_kept(w, input, 7));
    csched_options_t options = plain();
    options.inputs = &input;
    options.input_count = 1;
    uint64_t taker = submit_with(w, (job_t){JOB_NONE, 8, 0}, &options);
    OK(csched_pause(w->s, 0));
    world_thread(w);
    finish(w, MANY + 2);
    CHECK(is_kept(w, input, 7));
    CHECK(is_kept(w, taker, 8));
    world_close(w);
}

static void chunks_and_large_calls_are_not_kept(void)
{
    world_t *w = world_open(1);
    static uint8_t large[KEPT_BYTES + 1];
    csched_options_t options = plain();
    options.count = 3;
    uint64_t chunk = submit_with(w, (job_t){JOB_CHUNK, 0, 0}, &options);
    *(job_t *)(void *)large = (job_t){JOB_NONE, 1, 0};
    int64_t heavy = csched_submit(w->s, w->next_slot++, 0, UINT32_MAX, large, sizeof large, 0);
    CHECK(heavy > 0);
    EQUAL(csched_kept_call(w->s, chunk, NULL, 0), CSCHED_EINVAL);
    EQUAL(csched_kept_call(w->s, (uint64_t)heavy, NULL, 0), CSCHED_EINVAL);
    world_thread(w);
    finish(w, 2);
    world_close(w);
}

MAIN(TEST(the_first_of_a_work_are_kept_when_they_are_over), TEST(ends_of_dependencies_are_kept_later_too),
     TEST(chunks_and_large_calls_are_not_kept))
