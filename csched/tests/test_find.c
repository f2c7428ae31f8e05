#include "world.h"

#include "internal.h"

enum { ALL_KINDS = 4095, MANY = SCALED(20000) };

static int find(world_t *w, uint32_t kinds, uint32_t order, uint32_t most, csched_row_t *rows)
{
    csched_query_t query = {.kinds = kinds, .order = order};
    return csched_find(w->s, &query, most, rows);
}

static void each_state_is_found(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    csched_row_t rows[16];
    EQUAL(find(w, ALL_KINDS, CSCHED_BY_NEWEST, 16, rows), 0);
    uint64_t failed = submit(w, JOB_FAIL, 0, 9);
    submit(w, JOB_NONE, 1, 0);
    finish(w, 2);
    uint64_t running = submit(w, JOB_GATE, 2, 1);
    UNTIL(csched_task_state(w->s, running) == 3);
    OK(csched_pause(w->s, 1));
    uint64_t queued = submit(w, JOB_NONE, 3, 0);
    csched_options_t options = plain();
    options.inputs = &running;
    options.input_count = 1;
    uint64_t waiting = submit_with(w, (job_t){JOB_NONE, 4, 0}, &options);
    options = plain();
    options.not_before = csched_now() + UINT64_C(3600000000000);
    options.priority = 7;
    uint64_t delayed = submit_with(w, (job_t){JOB_NONE, 5, 0}, &options);
    EQUAL(find(w, ALL_KINDS, CSCHED_BY_NEWEST, 16, rows), 6);
    EQUAL(rows[0].matched, 6);
    const uint64_t tickets[] = {delayed, waiting, queued, running};
    const uint32_t kinds[] = {CSCHED_IS_DELAYED, CSCHED_IS_WAITING, CSCHED_IS_QUEUED,
                              CSCHED_IS_RUNNING, CSCHED_IS_DONE,    CSCHED_IS_FAILED};
    for (int i = 0; i < 6; i++)
        EQUAL(rows[i].kind, kinds[i]);
    for (int i = 0; i < 4; i++)
        EQUAL(rows[i].journey.ticket, tickets[i]);
    EQUAL(rows[0].priority, 7);
    EQUAL(rows[3].journey.worker, 0);
    CHECK(rows[3].journey.stamps[3] > 0 && rows[3].journey.stamps[4] == 0);
    EQUAL(find(w, CSCHED_IS_FAILED | CSCHED_IS_LOST, CSCHED_BY_NEWS, 16, rows), 1);
    EQUAL(rows[0].journey.ticket, failed);
    OK(csched_pause(w->s, 0));
    EQUAL(csched_cancel(w->s, delayed), 1);
    EQUAL(find(w, CSCHED_IS_CANCELLED, CSCHED_BY_NEWS, 16, rows), 1);
    EQUAL(rows[0].journey.ticket, delayed);
    char bytes[64];
    EQUAL(csched_payload(w->s, waiting, bytes, sizeof bytes), sizeof(job_t));
    EQUAL(((const job_t *)(const void *)bytes)->tag, 4);
    EQUAL(csched_payload(w->s, waiting, NULL, 0), sizeof(job_t));
    EQUAL(csched_payload(w->s, failed, bytes, sizeof bytes), CSCHED_EINVAL);
    open_gate(1);
    finish(w, 6);
    world_close(w);
}

static void conditions_are_joined(void)
{
    world_t *w = world_open(1);
    csched_row_t rows[16];
    uint32_t run, function;
    OK(csched_run_open(w->s, &run));
    OK(csched_function_add(w->s, "f", 1, UINT64_MAX, &function));
    uint64_t tickets[6];
    OK(csched_reserve(w->s, 6));
    for (uint32_t i = 0; i < 6; i++) {
        job_t job = {JOB_NONE, i, 0};
        int64_t ticket =
            csched_submit(w->s, w->next_slot++, i & 1 ? function : 0, i & 2 ? run : UINT32_MAX, &job, sizeof job, 0);
        CHECK(ticket > 0);
        tickets[i] = (uint64_t)ticket;
    }
    csched_query_t query = {.kinds = ALL_KINDS, .order = CSCHED_BY_OLDEST, .by_run = 1, .run = run};
    EQUAL(csched_find(w->s, &query, 16, rows), 2);
    EQUAL(rows[0].journey.ticket, tickets[2]);
    EQUAL(rows[1].journey.ticket, tickets[3]);
    uint64_t functions = UINT64_C(1) << function;
    query = (csched_query_t){
        .kinds = ALL_KINDS, .order = CSCHED_BY_OLDEST, .by_text = 1, .functions = &functions, .function_words = 1};
    EQUAL(csched_find(w->s, &query, 16, rows), 3);
    EQUAL(rows[0].journey.ticket, tickets[1]);
    uint64_t named[2] = {tickets[4] >> 32, tickets[0]}; /* a serial number and a ticket */
    query.tickets = named;
    query.ticket_count = 2;
    EQUAL(csched_find(w->s, &query, 16, rows), 5);
    query.by_run = 1;
    query.run = run;
    EQUAL(csched_find(w->s, &query, 16, rows), 1);
    EQUAL(rows[0].journey.ticket, tickets[3]);
    EQUAL(csched_find(w->s, &query, 5000, rows), CSCHED_EINVAL);
    query.order = 99;
    EQUAL(csched_find(w->s, &query, 16, rows), CSCHED_EINVAL);
    world_thread(w);
    finish(w, 6);
    world_close(w);
}

static int at(world_t *w, uint64_t position, csched_row_t *rows)
{
    csched_query_t query = {.kinds = ALL_KINDS, .order = CSCHED_BY_NEWEST, .by_position = 1, .position = position};
    return csched_find(w->s, &query, 4, rows);
}

/* Positions 0 and 1 ran, 2 to 4 are a chunk that is cancelled before it runs, 5 waits, 6 there is none. */
static void by_position(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    csched_row_t rows[4];
    EQUAL(at(w, 0, rows), 0);
    uint64_t tickets[4] = {submit(w, JOB_NONE, 0, 0), submit(w, JOB_FAIL, 1, 9)};
    finish(w, 2);
    OK(csched_pause(w->s, 1));
    csched_options_t options = plain();
    options.count = 3;
    tickets[2] = submit_with(w, (job_t){JOB_NONE, 2, 0}, &options);
    tickets[3] = submit(w, JOB_NONE, 3, 0);
    const uint32_t places[] = {0, 1, 2, 2, 2, 3};
    for (int over = 0; over < 2; over++) {
        for (uint32_t i = 0; i < 6; i++) {
            EQUAL(at(w, i, rows), 1);
            EQUAL(rows[0].journey.ticket, tickets[places[i]]);
        }
        EQUAL(at(w, 4, rows), 1);
        EQUAL(rows[0].kind, over ? CSCHED_IS_CANCELLED : CSCHED_IS_QUEUED);
        EQUAL(rows[0].journey.position, 2);
        if (!over)
            EQUAL(csched_cancel(w->s, tickets[2]), 1);
    }
    EQUAL(at(w, 1, rows), 1);
    EQUAL(rows[0].kind, CSCHED_IS_FAILED);
    EQUAL(at(w, 6, rows), 0);
    OK(csched_pause(w->s, 0));
    finish(w, 4);
    world_close(w);
}

/* Positions 0 to 2 are a chunk that is cancelled by itself, 3 to 7 one that is cancelled with its run and leaves no row:
 * once its record is gone, what is at its positions is not told of the first. */
static void a_cancelled_neighbour(void)
{
    world_t *w = world_open(1);
    csched_row_t rows[4];
    uint32_t run;
    OK(csched_run_open(w->s, &run));
    OK(csched_pause(w->s, 1));
    csched_options_t options = plain();
    options.count = 3;
    uint64_t first = submit_with(w, (job_t){JOB_NONE, 0, 0}, &options);
    options.count = 5;
    job_t job = {JOB_NONE, 1, 0};
    int64_t second = csched_submit_with(w->s, w->next_slot++, 0, run, &job, sizeof job, 0, &options);
    CHECK(second > 0);
    EQUAL(csched_cancel(w->s, first), 1);
    EQUAL(csched_cancel_run(w->s, run), 1);
    for (int collected = 0; collected < 2; collected++) {
        for (uint32_t i = 0; i < 9; i++) {
            bool known = i < 3 || (i < 8 && !collected);
            EQUAL(at(w, i, rows), known);
            if (known) {
                EQUAL(rows[0].journey.ticket, i < 3 ? first : (uint64_t)second);
                EQUAL(rows[0].count, i < 3 ? 3 : 5);
            }
        }
        if (!collected)
            finish(w, 2);
    }
    OK(csched_pause(w->s, 0));
    world_close(w);
}

static int by_key(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return one < other ? 1 : one > other ? -1 : 0;
}

/* The heap against a sort of everything, on rows of random stamps. */
static void the_best_rows_come_in_order(void)
{
    world_t *w = world_open(0);
    enum { RANDOM = 4000, BEST = 100 };
    static uint64_t keys[RANDOM];
    csched_row_t rows[BEST];
    uint64_t seed = 42;
    for (uint32_t i = 0; i < RANDOM; i++) {
        csched_journey_t *row = journey_append(&w->s->journey);
        uint64_t start = 1000 + next_random(&seed) % 100000, run = next_random(&seed) % 1000000;
        *row = (csched_journey_t){.ticket = (uint64_t)(i + 1) << 32,
                                  .stamps = {start, start, start, start + 5, start + 9, start + 9 + run}};
        keys[i] = run;
    }
    EQUAL(find(w, ALL_KINDS, CSCHED_BY_RUN, BEST, rows), BEST);
    EQUAL(rows[0].matched, RANDOM);
    csched_query_t query = {.kinds = ALL_KINDS, .order = CSCHED_BY_RUN, .offset = 3000};
    qsort(keys, RANDOM, sizeof *keys, by_key);
    for (uint32_t i = 0; i < BEST; i++)
        EQUAL(rows[i].key, keys[i]);
    EQUAL(csched_find(w->s, &query, BEST, rows), BEST);
    for (uint32_t i = 0; i < BEST; i++)
        EQUAL(rows[i].key, keys[3000 + i]);
    query.offset = RANDOM;
    EQUAL(csched_find(w->s, &query, BEST, rows), 0);
    EQUAL(rows[0].matched, RANDOM);
    EQUAL(find(w, ALL_KINDS, CSCHED_BY_QUEUE, BEST, rows), BEST);
    EQUAL(rows[0].key, 5);
    EQUAL(rows[0].journey.ticket >> 32, RANDOM); /* all the same: the latest first */
    EQUAL(rows[1].journey.ticket >> 32, RANDOM - 1);
    world_close(w);
}

static void a_ring_that_ran_over(void)
{
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = 1 << 20, .journey_rows = 1024};
    world_t *w = world_open_with(&config);
    csched_row_t rows[8];
    for (uint64_t i = 1; i <= 3000; i++)
        *journey_append(&w->s->journey) = (csched_journey_t){.ticket = i << 32, .attempt = i == 2500, .stamps = {i}};
    EQUAL(find(w, ALL_KINDS, CSCHED_BY_OLDEST, 8, rows), 8);
    EQUAL(rows[0].journey.ticket >> 32, 3000 - 1024 + 1);
    EQUAL(rows[0].matched, 1024);
    EQUAL(find(w, ALL_KINDS, CSCHED_BY_ATTEMPTS, 8, rows), 8);
    EQUAL(rows[0].journey.ticket >> 32, 2500);
    EQUAL(find(w, ALL_KINDS, CSCHED_BY_NEWEST, 0, rows), 0);
    world_close(w);
}

/* Found by one thread while others submit, run and collect: every task is seen, in one of its states. */
static void nothing_is_missed_meanwhile(void)
{
    world_t *w = world_open(1);
    world_threads(w, 2);
    static csched_row_t rows[4];
    for (uint32_t i = 0; i < MANY; i++) {
        uint64_t ticket = submit(w, JOB_NONE, i, 0);
        if (i % 512 == 0) {
            csched_query_t query = {.kinds = ALL_KINDS, .by_text = 1, .tickets = &ticket, .ticket_count = 1};
            EQUAL(csched_find(w->s, &query, 4, rows), 1);
            EQUAL(rows[0].journey.ticket, ticket);
        }
        if (i % 64 == 0)
            collect_some(w);
    }
    finish(w, MANY);
    world_close(w);
}

static void what_a_failed_call_was(void)
{
    world_t *w = world_open(1);
    csched_ended_t ended;
    world_thread(w);
    EQUAL(csched_ended(w->s, 0, &ended), CSCHED_EINVAL);
    EQUAL(csched_ended(w->s, UINT32_MAX, &ended), CSCHED_EINVAL);
    uint64_t failed = submit(w, JOB_FAIL, 3, 9), good = submit(w, JOB_NONE, 4, 0);
    csched_completion_t completions[2];
    UNTIL(csched_poll(w->s, 0) == 2);
    EQUAL(csched_collect(w->s, 2, completions), 2);
    OK(csched_ended(w->s, (uint32_t)failed, &ended));
    EQUAL(ended.ticket, failed);
    EQUAL(ended.size, sizeof(job_t));
    EQUAL(((const job_t *)(uintptr_t)ended.address)->tag, 3);
    OK(csched_ended(w->s, (uint32_t)good, &ended));
    EQUAL(ended.ticket, good);
    EQUAL(ended.size, 0);
    finish(w, 2);
    EQUAL(csched_ended(w->s, (uint32_t)failed, &ended), CSCHED_EINVAL);
    world_close(w);
}

static void each_attempt_is_a_row(void)
{
    world_t *w = world_open(1);
    csched_row_t rows[8];
    csched_options_t options = plain();
    options.retries = 2;
    world_thread(w);
    submit_with(w, (job_t){JOB_FAIL, 0, 9}, &options);
    finish(w, 1);
    EQUAL(find(w, ALL_KINDS, CSCHED_BY_ATTEMPTS, 8, rows), 3);
    EQUAL(rows[0].kind, CSCHED_IS_FAILED);
    EQUAL(rows[1].kind, CSCHED_IS_RETRIED);
    EQUAL(rows[2].kind, CSCHED_IS_RETRIED);
    EQUAL(rows[2].journey.attempt, 0);
    world_close(w);
}

static void elements_that_failed_are_marked(void)
{
    world_t *w = world_open(1);
    csched_row_t rows[8];
    csched_completion_t completion;
    csched_options_t options = plain();
    options.count = 4;
    world_thread(w);
    uint64_t chunk = submit_with(w, (job_t){JOB_CHUNK, 0, 2}, &options);
    UNTIL(csched_poll(w->s, 0) == 1);
    EQUAL(csched_collect(w->s, 1, &completion), 1);
    uint32_t elements[] = {1, 3, 77};
    OK(csched_mark_elements(w->s, (uint32_t)chunk, CSCHED_ERROR, elements, 3));
    EQUAL(csched_mark_elements(w->s, 7777777, CSCHED_ERROR, elements, 3), CSCHED_EINVAL);
    finish(w, 1);
    EQUAL(csched_mark_elements(w->s, (uint32_t)chunk, CSCHED_ERROR, elements, 3), CSCHED_EINVAL);
    EQUAL(find(w, CSCHED_IS_FAILED, CSCHED_BY_NEWEST, 8, rows), 2);
    EQUAL(rows[0].journey.element, 1);
    EQUAL(rows[1].journey.element, 3);
    EQUAL(find(w, CSCHED_IS_DONE, CSCHED_BY_NEWEST, 8, rows), 2);
    world_close(w);
}

/* Of a chunk that is named, the element that is meant, also where a page holds fewer rows than the chunk. */
static void one_element_of_a_chunk(void)
{
    world_t *w = world_open(1);
    csched_row_t rows[2];
    csched_completion_t completion;
    csched_options_t options = plain();
    options.count = 4;
    world_thread(w);
    uint64_t chunk = submit_with(w, (job_t){JOB_CHUNK, 0, 0}, &options);
    UNTIL(csched_poll(w->s, 0) == 1);
    EQUAL(csched_collect(w->s, 1, &completion), 1);
    finish(w, 1);
    uint64_t tickets[2] = {chunk, chunk};
    uint32_t elements[2] = {1, 3};
    csched_query_t query = {.kinds = ALL_KINDS,
                            .order = CSCHED_BY_NEWEST,
                            .by_text = 1,
                            .tickets = tickets,
                            .elements = elements,
                            .ticket_count = 2};
    EQUAL(csched_find(w->s, &query, 2, rows), 2);
    EQUAL(rows[0].matched, 2);
    EQUAL(rows[0].journey.element, 1);
    EQUAL(rows[1].journey.element, 3);
    query.offset = 1;
    EQUAL(csched_find(w->s, &query, 2, rows), 1);
    EQUAL(rows[0].journey.element, 3);
    world_close(w);
}

/* Of a chunk of four that is cancelled one element had ended, and one is told as an error. */
static void what_ended_before_its_chunk(void)
{
    world_t *w = world_open(1);
    csched_row_t rows[8];
    csched_completion_t completion;
    csched_options_t options = plain();
    options.count = 4;
    uint64_t chunk = submit_with(w, (job_t){JOB_CHUNK, 0, 0}, &options);
    EQUAL(csched_cancel(w->s, chunk), 1);
    EQUAL(csched_collect(w->s, 1, &completion), 1);
    uint32_t statuses[] = {CSCHED_VALUE, CSCHED_ERROR};
    EQUAL(csched_elements_ended(w->s, (uint32_t)chunk, 4, 1, statuses, 2), CSCHED_EINVAL);
    EQUAL(csched_elements_ended(w->s, (uint32_t)chunk, 2, 3, statuses, 2), CSCHED_EINVAL);
    EQUAL(csched_elements_ended(w->s, 7777777, 2, 2, statuses, 2), CSCHED_EINVAL);
    OK(csched_elements_ended(w->s, (uint32_t)chunk, 2, 2, statuses, 2));
    EQUAL(find(w, CSCHED_IS_DONE, CSCHED_BY_NEWEST, 8, rows), 1);
    EQUAL(rows[0].journey.element, 0);
    EQUAL(find(w, CSCHED_IS_FAILED, CSCHED_BY_NEWEST, 8, rows), 1);
    EQUAL(rows[0].journey.element, 1);
    EQUAL(find(w, CSCHED_IS_CANCELLED, CSCHED_BY_NEWEST, 8, rows), 1);
    EQUAL(rows[0].journey.element, 2);
    EQUAL(rows[0].matched, 2);
    uint32_t first = 0;
    OK(csched_mark_elements(w->s, (uint32_t)chunk, CSCHED_RETRIED, &first, 1));
    EQUAL(find(w, CSCHED_IS_CANCELLED, CSCHED_BY_NEWEST, 8, rows), 0);
    OK(csched_mark_elements(w->s, (uint32_t)chunk, CSCHED_CANCELLED, &first, 1));
    EQUAL(find(w, CSCHED_IS_CANCELLED, CSCHED_BY_NEWEST, 8, rows), 1);
    EQUAL(csched_mark_elements(w->s, (uint32_t)chunk, CSCHED_ERROR, &first, 1), CSCHED_EINVAL);
    finish(w, 1);
    EQUAL(csched_elements_ended(w->s, (uint32_t)chunk, 2, 2, statuses, 2), CSCHED_EINVAL);
    world_close(w);
}

MAIN(TEST(each_state_is_found), TEST(conditions_are_joined), TEST(by_position), TEST(a_cancelled_neighbour),
     TEST(the_best_rows_come_in_order), TEST(a_ring_that_ran_over), TEST(nothing_is_missed_meanwhile),
     TEST(what_a_failed_call_was), TEST(each_attempt_is_a_row), TEST(elements_that_failed_are_marked),
     TEST(one_element_of_a_chunk), TEST(what_ended_before_its_chunk))
