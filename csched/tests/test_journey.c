#include "journey.h"

#include "harness.h"
#include "segment.h"
#include "task.h"

enum { ROWS = 1024 };

static void append(journey_t *journey, uint64_t ticket, uint64_t resolved)
{
    csched_journey_t *row = journey_append(journey);
    row->ticket = ticket;
    row->stamps[7] = resolved;
}

static void rows_come_in_order_once_resolved(void)
{
    journey_t journey;
    csched_journey_t rows[8];
    uint64_t cursor = 0, dropped;
    OK(journey_open(&journey, ROWS));
    EQUAL(journey_read(&journey, &cursor, 8, rows, &dropped), 0);
    for (uint64_t i = 0; i < 6; i++)
        append(&journey, i + 1, 0);
    EQUAL(journey_read(&journey, &cursor, 8, rows, &dropped), 0);
    journey_resolved(&journey, 0, 2, 99);
    journey_resolved(&journey, 3, 3, 99); /* row 2 is still open: those behind it wait */
    EQUAL(journey_read(&journey, &cursor, 8, rows, &dropped), 2);
    EQUAL(rows[0].ticket, 1);
    EQUAL(rows[1].ticket, 2);
    EQUAL(rows[1].stamps[7], 99);
    journey_resolved(&journey, 2, 1, 100);
    EQUAL(journey_read(&journey, &cursor, 3, rows, &dropped), 3); /* no more than asked for */
    EQUAL(journey_read(&journey, &cursor, 8, rows, &dropped), 1);
    EQUAL(rows[0].ticket, 6);
    EQUAL(dropped, 0);
    journey_close(&journey);
}

static void overwritten_rows_are_counted(void)
{
    journey_t journey;
    csched_journey_t rows[8];
    uint64_t cursor = 10, dropped;
    OK(journey_open(&journey, ROWS));
    for (uint64_t i = 0; i < 3 * ROWS; i++)
        append(&journey, i, 1);
    EQUAL(journey_read(&journey, &cursor, 8, rows, &dropped), 8);
    EQUAL(dropped, 2 * ROWS - 10);
    EQUAL(rows[0].ticket, 2 * ROWS);
    journey_close(&journey);
}

static void late_resolution_of_overwritten_rows_is_harmless(void)
{
    journey_t journey;
    OK(journey_open(&journey, ROWS));
    for (uint64_t i = 0; i < 2 * ROWS; i++)
        append(&journey, i, 0);
    journey_resolved(&journey, 5, 1, 7);         /* long gone: touches no row of another task */
    journey_resolved(&journey, ROWS - 2, 4, 7);  /* half gone */
    for (uint64_t i = 0; i < ROWS; i++)
        EQUAL(journey.rows[i].stamps[7], i < 2 ? 7 : 0);
    journey_close(&journey);
}

static uint32_t below(uint32_t most)
{
    static uint64_t random = 5;
    return (uint32_t)(next_random(&random) % most);
}

static void record_a_chunk(journey_t *journey, uint64_t ticket, task_t *task, uint32_t count)
{
    uint64_t marks[9];
    uint32_t stamps = below(3) ? count + 1 : below(count + 2);
    for (uint32_t i = 0, at = 1000; i < stamps; i++)
        marks[i] = at += below(4) ? below(500) : 0;
    if (stamps > 2 && !below(20))
        marks[1] = UINT64_MAX - 5; /* from a worker that writes what it likes */
    result_entry_t entry = {.received = 900, .started = 950, .finished = 7000, .returned = 7100, .stamps = stamps};
    *task =
        (task_t){.ticket = ticket, .count = count, .first = below(100), .submitted = 1, .ready = 2, .dispatched = 3};
    journey_record(journey, task, &entry, marks, below(3));
}

/* Whether the element of `row` goes on where the one before it ended, took so long, and is like it else. */
static bool goes_on(const csched_journey_t *last, const csched_journey_t *row, uint32_t took)
{
    csched_journey_t next = *last;
    next.element++;
    next.position++;
    next.stamps[4] = last->stamps[5];
    next.stamps[5] += took;
    return memcmp(&next, row, sizeof next) == 0;
}

static void what_is_known_of_rows_is_so(void)
{
    journey_t journey;
    task_t tasks[64] = {0};
    uint64_t known = 0;
    OK(journey_open(&journey, ROWS));
    for (uint32_t round = 0; round < 20000; round++) {
        task_t *task = &tasks[round % 64];
        if (task->ticket && below(10)) /* else its results are not taken in time, or never */
            journey_resolved(&journey, task->row, below(8) ? task->count : 1 + below(task->count), round);
        record_a_chunk(&journey, round + 1, task, 1 + below(8));
        task = &tasks[below(round < 64 ? round + 1 : 64)];
        if (!below(5))
            journey_mark(&journey, task->row + below(task->count), task->ticket, CSCHED_ERROR);
        for (uint64_t i = journey.written > 32 ? journey.written - 32 : 1; i < journey.written; i++) {
            uint32_t took = *journey_took(&journey, i);
            known += took != APART;
            CHECK(took == APART || goes_on(journey_row(&journey, i - 1), journey_row(&journey, i), took));
        }
    }
    for (uint64_t i = journey.written - ROWS + 1; i < journey.written; i++)
        CHECK(*journey_took(&journey, i) == APART ||
              goes_on(journey_row(&journey, i - 1), journey_row(&journey, i), *journey_took(&journey, i)));
    CHECK(known > 100000);
    journey_close(&journey);
}

MAIN(TEST(rows_come_in_order_once_resolved), TEST(overwritten_rows_are_counted),
     TEST(late_resolution_of_overwritten_rows_is_harmless), TEST(what_is_known_of_rows_is_so))
