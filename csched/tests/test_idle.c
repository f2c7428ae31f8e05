#include "internal.h"

#include "world.h"

/* Schedules on paper: whoever reads a test can add up its idle time by hand. */
static csched_spell_t spell(uint32_t worker, uint64_t submitted, uint64_t ready, uint64_t sent, uint64_t start,
                            uint64_t end)
{
    return (csched_spell_t){submitted, submitted, ready, sent, start, end, worker, 0, 0};
}

/* One that was there from the start and went at once from the kernel to its worker. */
static csched_spell_t task(uint32_t worker, uint64_t start, uint64_t end)
{
    return spell(worker, 0, 0, start, start, end);
}

static uint64_t sums[CSCHED_IDLE_REASONS];

/* Checks the reasons of that schedule, from 0 to `ended`, and returns the sum of all. */
static uint64_t idle(const csched_spell_t *spells, uint64_t count, uint32_t workers, uint64_t ended)
{
    uint64_t sum = 0;
    OK(csched_idle_of(spells, count, &(csched_workers_t){0, workers, 0}, 1, 0, ended, sums));
    for (int i = 0; i < CSCHED_IDLE_REASONS; i++)
        sum += sums[i];
    return sum;
}

#define IDLE(workers, ended, ...)                                                                                      \
    idle((csched_spell_t[]){__VA_ARGS__}, sizeof((csched_spell_t[]){__VA_ARGS__}) / sizeof(csched_spell_t), workers,   \
         ended)

static void a_chain_keeps_the_other_worker_waiting(void)
{
    EQUAL(IDLE(2, 4, task(0, 0, 1), task(1, 0, 1), task(0, 1, 2), spell(0, 0, 2, 2, 2, 3), spell(1, 0, 3, 3, 3, 4)), 3);
    EQUAL(sums[CSCHED_IDLE_CHAIN], 2);
    EQUAL(sums[CSCHED_IDLE_LAST], 1);
}

static void a_slow_last_task_is_told_from_imbalance(void)
{
    EQUAL(IDLE(3, 3, task(0, 0, 1), task(1, 0, 3), task(2, 0, 2)), 3);
    EQUAL(sums[CSCHED_IDLE_IMBALANCE], 1);
    EQUAL(sums[CSCHED_IDLE_LAST], 2);
    /* queued behind another task */
    EQUAL(IDLE(2, 3, task(0, 0, 1), task(1, 0, 2), spell(1, 0, 0, 0, 2, 3)), 2);
    EQUAL(sums[CSCHED_IDLE_IMBALANCE], 1);
    EQUAL(sums[CSCHED_IDLE_LAST], 1);
}

static void slow_submission_and_slow_delivery(void)
{
    EQUAL(IDLE(1, 13, spell(0, 0, 0, 0, 0, 1), spell(0, 4, 4, 4, 4, 5), spell(0, 8, 8, 8, 8, 9),
               spell(0, 12, 12, 12, 12, 13)),
          9);
    EQUAL(sums[CSCHED_IDLE_SUBMISSION], 9);
    EQUAL(IDLE(2, 8, spell(0, 0, 0, 1, 4, 8), spell(1, 0, 0, 4, 4, 8)), 8);
    EQUAL(sums[CSCHED_IDLE_DELIVERY], 8);
}

static void packing_is_told_from_the_cells_own_time(void)
{
    csched_spell_t large = spell(1, 6, 6, 6, 6, 8);
    large.packed = 2;
    EQUAL(IDLE(2, 8, task(0, 0, 8), large), 6);
    EQUAL(sums[CSCHED_IDLE_SUBMISSION], 2);
    EQUAL(sums[CSCHED_IDLE_PACKING], 4);
}

static csched_t *scheduler(void)
{
    csched_t *s;
    OK(csched_create(&(csched_config_t){.arena_bytes = 1 << 20, .journey_rows = 1024}, &s));
    return s;
}

/* A piece of work that began then. */
static void begin_work(csched_t *s, uint64_t began)
{
    OK(csched_account_begin(s));
    account_submitted(&s->accounts, &(task_t){.submitted = began});
}

static void append_at(csched_t *s, uint64_t submitted, uint32_t attempt, uint32_t worker, uint64_t start, uint64_t end)
{
    task_t task = {.submitted = submitted, .ready = submitted, .dispatched = start, .attempt = (uint8_t)attempt};
    attempts_ended(&s->attempts, &s->accounts, &task, &(result_entry_t){.received = start, .returned = end}, worker);
}

static void append(csched_t *s, uint32_t worker, uint64_t start, uint64_t end)
{
    append_at(s, 100, 0, worker, start, end);
}

static void workers_come_and_go(void)
{
    csched_t *s = scheduler();
    begin_work(s, 100);
    account_worker(&s->accounts, 1, 110);
    append(s, 0, 110, 150);
    account_worker(&s->accounts, 1, 120); /* late, and for nothing */
    account_worker(&s->accounts, -1, 130);
    OK(csched_idle(s, 100, 150, sums));
    EQUAL(sums[CSCHED_IDLE_UNUSED], 10);
    for (int i = 1; i < CSCHED_IDLE_REASONS; i++)
        EQUAL(sums[i], 0);
    for (uint64_t i = 0; i < CHANGES_KEPT; i++)
        account_worker(&s->accounts, i % 2 ? -1 : 1, 131 + i);
    EQUAL(csched_idle(s, 100, 150, sums), CSCHED_ESTALE); /* how many there were is not known any more */
    csched_destroy(s);
}

static void workers_without_any_task(void)
{
    EQUAL(IDLE(4, 2, task(0, 0, 2), task(1, 0, 1)), 5);
    EQUAL(sums[CSCHED_IDLE_UNUSED], 4);
    EQUAL(sums[CSCHED_IDLE_LAST], 1);
    EQUAL(idle(NULL, 0, 2, 3), 6); /* no task at all */
}

static void a_second_attempt_was_not_there_before_the_first_one_failed(void)
{
    csched_spell_t again = spell(1, 0, 2, 2, 2, 4);
    again.again = 1;
    EQUAL(IDLE(2, 4, task(0, 0, 2), again), 4);
    EQUAL(sums[CSCHED_IDLE_LAST], 4);
}

/* The rule, moment by moment, without sums that are kept up. */
static void add_moment(const csched_spell_t *spells, uint32_t count, uint32_t workers, uint64_t now, uint64_t *into)
{
    uint32_t later = 0, packed = 0, waits = 0, ready = 0, held = 0, sent[8] = {0}, runs[8] = {0}, known[8] = {0};
    for (uint32_t i = 0; i < count; i++) {
        const csched_spell_t *at = &spells[i];
        known[at->worker] = 1;
        if (now < at->packed && !at->again)
            later++;
        else if (now < at->submitted && !at->again)
            packed++;
        else if (now < at->ready)
            waits += !at->again;
        else if (now < at->dispatched)
            *(at->held ? &held : &ready) += 1;
        else if (now < at->received)
            sent[at->worker]++;
        else if (now < at->returned)
            runs[at->worker]++;
    }
    uint32_t running = 0, to_come = 0, behind = 0, unused = workers;
    for (int i = 0; i < 8; i++) {
        running += runs[i] > 0;
        to_come += !runs[i] && sent[i];
        behind += runs[i] ? sent[i] : 0;
        unused -= known[i];
    }
    const struct {
        int reason;
        uint32_t most;
    } order[] = {{CSCHED_IDLE_DELIVERY, to_come + ready},
                 {CSCHED_IDLE_HELD, held},
                 {CSCHED_IDLE_IMBALANCE, behind},
                 {CSCHED_IDLE_CHAIN, waits},
                 {packed ? CSCHED_IDLE_PACKING : CSCHED_IDLE_SUBMISSION, later + packed},
                 {CSCHED_IDLE_UNUSED, unused},
                 {running == 1 && !behind ? CSCHED_IDLE_LAST : CSCHED_IDLE_IMBALANCE, UINT32_MAX}};
    uint32_t rest = workers - running;
    for (int i = 0; i < 7; i++) {
        uint32_t part = rest < order[i].most ? rest : order[i].most;
        into[order[i].reason] += part;
        rest -= part;
    }
}

static void sums_are_those_of_each_moment(void)
{
    uint64_t random = 11;
    for (int round = 0; round < 2000; round++) {
        csched_spell_t spells[12];
        uint32_t count = (uint32_t)(next_random(&random) % 12);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t at[6], last = 0;
            for (int stage = 0; stage < 6; stage++)
                last = at[stage] = last + next_random(&random) % 6;
            spells[i] = spell((uint32_t)(next_random(&random) % 8), at[1], at[2], at[3], at[4], at[5]);
            spells[i].packed = at[0];
            spells[i].again = next_random(&random) % 5 == 0;
            spells[i].held = next_random(&random) % 4 == 0;
        }
        uint64_t expected[CSCHED_IDLE_REASONS] = {0};
        for (uint64_t now = 0; now < 25; now++)
            add_moment(spells, count, 8, now, expected);
        idle(spells, count, 8, 25);
        for (int i = 0; i < CSCHED_IDLE_REASONS; i++)
            EQUAL(sums[i], expected[i]);
    }
}

static void attempts_of_one_piece_of_work(void)
{
    csched_t *s = scheduler();
    account_worker(&s->accounts, 1, 3);
    account_worker(&s->accounts, 1, 4);
    begin_work(s, 5);
    append_at(s, 5, 0, 0, 10, 90);
    begin_work(s, 100);
    EQUAL(csched_idle(s, 5, 90, sums), CSCHED_ESTALE); /* another one has begun */
    OK(csched_idle(s, 100, 110, sums)); /* no task of it has ended */
    append_at(s, 5, 0, 0, 10, 99); /* of the one before */
    append(s, 0, 100, 160);
    append(s, 1, 100, 120);
    append_at(s, 100, 1, 1, 120, 140);
    OK(csched_idle(s, 100, 160, sums));
    EQUAL(sums[CSCHED_IDLE_LAST], 20);
    for (int i = 0; i < CSCHED_IDLE_LAST; i++)
        EQUAL(sums[i], 0);
    csched_destroy(s);
}

static void more_attempts_than_are_kept_are_said(void)
{
    csched_t *s = scheduler();
    account_worker(&s->accounts, 1, 3);
    begin_work(s, 100);
    for (uint64_t i = 0; i < ATTEMPTS_MOST; i++)
        append(s, 0, 100 + i, 101 + i);
    OK(csched_idle(s, 100, 100 + ATTEMPTS_MOST, sums));
    append(s, 0, 100 + ATTEMPTS_MOST, 101 + ATTEMPTS_MOST);
    EQUAL(csched_idle(s, 100, 101 + ATTEMPTS_MOST, sums), CSCHED_ESTALE);
    begin_work(s, 1 << 20);
    append_at(s, 1 << 20, 0, 0, 1 << 20, (1 << 20) + 1);
    OK(csched_idle(s, 1 << 20, (1 << 20) + 1, sums)); /* the next piece of work is told again */
    csched_destroy(s);
}

MAIN(TEST(a_chain_keeps_the_other_worker_waiting), TEST(a_slow_last_task_is_told_from_imbalance),
     TEST(slow_submission_and_slow_delivery), TEST(packing_is_told_from_the_cells_own_time), TEST(workers_come_and_go),
     TEST(workers_without_any_task), TEST(a_second_attempt_was_not_there_before_the_first_one_failed),
     TEST(sums_are_those_of_each_moment), TEST(attempts_of_one_piece_of_work),
     TEST(more_attempts_than_are_kept_are_said))
