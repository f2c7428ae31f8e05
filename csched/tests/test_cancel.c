#include "world.h"

enum { MANY = SCALED(100000), RACED = SCALED(40000) };

static void before_anything_runs(void)
{
    world_t *w = world_open(0);
    uint64_t a = submit(w, JOB_NONE, 0, 0), b = submit(w, JOB_NONE, 1, 0);
    EQUAL(csched_task_state(w->s, a), 2);
    EQUAL(csched_cancel(w->s, a), 1);
    EQUAL(csched_cancel(w->s, a), 0); /* over */
    EQUAL(csched_task_state(w->s, a), 0);
    world_thread(w);
    finish(w, 2);
    EQUAL(csched_cancel(w->s, b), 0);
    EQUAL(csched_cancel(w->s, 12345), 0);
    EQUAL(csched_cancel(w->s, UINT64_MAX), 0);
    EQUAL(w->by_status[CSCHED_CANCELLED], 1);
    EQUAL(u32_relaxed(&board->ran[0]), 0);
    EQUAL(stats_of(w).cancelled, 1);
    world_close(w);
}

static void a_running_task_goes_on(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    uint64_t running = submit(w, JOB_GATE, 0, 1), held = submit(w, JOB_NONE, 1, 0);
    UNTIL(csched_task_state(w->s, running) == 3);
    EQUAL(csched_task_worker(w->s, running), 0);
    EQUAL(csched_task_worker(w->s, held), -1);
    EQUAL(csched_cancel(w->s, running), 0);
    EQUAL(csched_cancel(w->s, held), 1); /* it is in the worker's ring, not begun */
    open_gate(1);
    finish(w, 2);
    EQUAL(u32_relaxed(&board->ran[1]), 0);
    world_close(w);
}

/* Every task either ran or was reported as cancelled: never both, never neither. */
static void cancel_against_claim(void)
{
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = 1 << 20, .helper = 1};
    world_t *w = world_open_with(&config);
    world_threads(w, 2);
    uint8_t *won = calloc(1, RACED);
    uint64_t *tickets = calloc(RACED, sizeof *tickets);
    uint64_t seed = 9;
    uint32_t wins = 0;
    for (uint32_t i = 0; i < RACED; i++) {
        tickets[i] = submit(w, JOB_NONE, i, 0);
        for (int k = 0; k < 2; k++) {
            uint64_t back = next_random(&seed) % 300;
            uint32_t which = back > i ? 0 : i - (uint32_t)back;
            if (csched_cancel(w->s, tickets[which])) {
                CHECK(!won[which]);
                won[which] = 1;
                wins++;
            }
        }
        if (i % 64 == 0)
            collect_some(w);
    }
    finish(w, RACED);
    EQUAL(w->by_status[CSCHED_CANCELLED], wins);
    EQUAL(w->by_status[CSCHED_NONE], RACED - wins);
    for (uint32_t i = 0; i < RACED; i++)
        EQUAL(u32_relaxed(&board->ran[i]) + won[i], 1);
    CHECK(wins > 0 && wins < RACED);
    free(won);
    free(tickets);
    world_close(w);
}

static void dependents_fail_along_a_chain(void)
{
    world_t *w = world_open(0);
    csched_options_t options = plain();
    uint64_t first = submit(w, JOB_NONE, 0, 0), ticket = first;
    for (uint32_t i = 1; i < MANY; i++) {
        options.inputs = &ticket;
        options.input_count = 1;
        ticket = submit_with(w, (job_t){JOB_NONE, i, 0}, &options);
    }
    EQUAL(csched_cancel(w->s, first), 1);
    finish(w, MANY);
    EQUAL(w->by_status[CSCHED_CANCELLED], 1);
    EQUAL(w->by_status[CSCHED_DEPENDENCY], MANY - 1);
    EQUAL(stats_of(w).waiting, 0);
    world_close(w);
}

static void all_and_by_run(void)
{
    world_t *w = world_open(0);
    uint32_t runs[2];
    csched_run_t counts;
    job_t job = {JOB_NONE, 0, 0};
    csched_options_t options = plain();
    options.not_before = csched_now() + UINT64_C(3600000000000);
    OK(csched_run_open(w->s, &runs[0]));
    OK(csched_run_open(w->s, &runs[1]));
    OK(csched_reserve(w->s, 300));
    for (uint32_t i = 0; i < 300; i++)
        CHECK(csched_submit_with(w->s, i, 0, runs[i % 2], &job, sizeof job, 0, i % 3 ? NULL : &options) > 0);
    EQUAL(csched_cancel_run(w->s, runs[1]), 150);
    OK(csched_run_counts(w->s, runs[1], &counts));
    EQUAL(counts.submitted, 150);
    EQUAL(counts.cancelled, 150);
    OK(csched_run_counts(w->s, runs[0], &counts));
    EQUAL(counts.cancelled, 0);
    EQUAL(csched_cancel_all(w->s), 150);
    EQUAL(csched_cancel_all(w->s), 0);
    finish(w, 300);
    EQUAL(stats_of(w).waiting + stats_of(w).queued, 0);
    world_close(w);
}

/* A delayed task that was cancelled leaves its place in the list to the slot's next task. */
static void delayed_slots_are_used_again(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    OK(csched_reserve(w->s, 1));
    job_t job = {JOB_NONE, 0, 0};
    csched_options_t options = plain();
    for (uint32_t round = 1; round <= 50; round++) {
        options.not_before = csched_now() + (round == 50 ? 1000000 : UINT64_C(3600000000000));
        int64_t ticket = csched_submit_with(w->s, 0, 0, 0, &job, sizeof job, 0, &options);
        CHECK(ticket > 0);
        if (round < 50)
            EQUAL(csched_cancel(w->s, (uint64_t)ticket), 1);
        finish(w, round);
    }
    EQUAL(u32_relaxed(&board->ran[0]), 1);
    world_close(w);
}

MAIN(TEST(before_anything_runs), TEST(a_running_task_goes_on), TEST(cancel_against_claim),
     TEST(dependents_fail_along_a_chain), TEST(all_and_by_run), TEST(delayed_slots_are_used_again))
