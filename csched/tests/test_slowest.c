#include "internal.h"
#include "slowest.h"
#include "world.h"

enum { TASKS = 5000, ELEMENTS = 40 };

static void ended(slowest_t *slowest, uint64_t ticket, uint64_t ran, const void *payload, uint64_t size)
{
    task_t task = {.ticket = ticket, .function = 3, .count = 1};
    result_entry_t entry = {.status = CSCHED_NONE, .started = 1000, .finished = 1000 + ran};
    slowest_ended(slowest, 1, &task, &entry, NULL, payload, size);
}

static int descending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a > b ? -1 : a < b;
}

static void the_longest_of_many_are_kept_exactly(void)
{
    static uint64_t times[TASKS];
    slowest_t slowest = {0};
    uint64_t random = 7;
    for (uint32_t i = 0; i < TASKS; i++) {
        times[i] = 1 + next_random(&random) % 1000000000;
        ended(&slowest, i + 1, times[i], &times[i], sizeof times[i]);
    }
    qsort(times, TASKS, sizeof *times, descending);
    EQUAL(slowest.count, CSCHED_SLOWEST);
    for (uint32_t i = 0; i < CSCHED_SLOWEST; i++) {
        EQUAL(slowest.of[i].ran, times[i]);
        CHECK(slowest.of[i].kept && slowest.of[i].size == sizeof times[i]);
        EQUAL(*(uint64_t *)(void *)slowest.payloads[i], times[i]);
    }
    slowest_close(&slowest);
}

static void elements_of_chunks_are_told_apart(void)
{
    slowest_t slowest = {0};
    uint64_t marks[ELEMENTS + 1] = {1000};
    for (uint32_t i = 0; i < ELEMENTS; i++)
        marks[i + 1] = marks[i] + (i == 17 ? 900 : i + 1);
    task_t task = {.ticket = 5, .function = 3, .count = ELEMENTS};
    result_entry_t entry = {
        .status = CSCHED_VALUE, .started = 1000, .finished = marks[ELEMENTS], .stamps = ELEMENTS + 1};
    slowest_ended(&slowest, 1, &task, &entry, marks, (const uint8_t *)"items", 5);
    EQUAL(slowest.of[0].element, 17);
    EQUAL(slowest.of[0].ran, 900);
    EQUAL(slowest.of[1].element, ELEMENTS - 1);
    slowest_mark(&slowest, 5, 17, CSCHED_ERROR);
    EQUAL(slowest.of[0].status, CSCHED_ERROR);
    EQUAL(slowest.of[1].status, CSCHED_VALUE);
    slowest_close(&slowest);
}

static void large_payloads_are_not_kept_and_other_work_begins_anew(void)
{
    static uint8_t large[SLOWEST_BYTES + 1];
    slowest_t slowest = {0};
    ended(&slowest, 1, 10, large, sizeof large);
    ended(&slowest, 2, 20, NULL, 0);
    EQUAL(slowest.count, 2);
    CHECK(slowest.of[0].kept && !slowest.payloads[0]); /* it has no arguments */
    CHECK(!slowest.of[1].kept && slowest.of[1].size == sizeof large);
    task_t task = {.ticket = 9, .count = 1};
    result_entry_t entry = {.status = CSCHED_NONE, .started = 1, .finished = 3};
    slowest_ended(&slowest, 2, &task, &entry, NULL, NULL, 0);
    EQUAL(slowest.count, 1);
    EQUAL(slowest.of[0].ticket, 9);
    slowest_close(&slowest);
}

static void a_scheduler_tells_them_with_their_payloads(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint64_t ticket = submit(w, JOB_NONE, 0, 4711);
    next_item(worker, CSCHED_TASK);
    OK(csched_worker_started(worker));
    uint32_t function;
    CHECK(csched_worker_in_user_code(worker, &function));
    publish_none(worker);
    CHECK(!csched_worker_in_user_code(worker, &function));
    finish(w, 1);
    csched_slow_t slow[CSCHED_SLOWEST];
    EQUAL(csched_slowest(w->s, slow), 1);
    EQUAL(slow[0].ticket, ticket);
    uint8_t data[256];
    EQUAL((uint64_t)csched_slow_payload(w->s, ticket, slow[0].element, data, sizeof data), slow[0].size);
    EQUAL(csched_slow_payload(w->s, ticket + 1, slow[0].element, data, sizeof data), CSCHED_EINVAL);
    OK(csched_worker_detach(worker));
    world_close(w);
}

MAIN(TEST(the_longest_of_many_are_kept_exactly), TEST(elements_of_chunks_are_told_apart),
     TEST(large_payloads_are_not_kept_and_other_work_begins_anew), TEST(a_scheduler_tells_them_with_their_payloads))
