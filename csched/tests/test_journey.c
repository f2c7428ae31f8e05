#include "journey.h"

#include "harness.h"

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

MAIN(TEST(rows_come_in_order_once_resolved), TEST(overwritten_rows_are_counted),
     TEST(late_resolution_of_overwritten_rows_is_harmless))
