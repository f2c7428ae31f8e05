#include "lineage.h"

#include "harness.h"

static void rows_come_in_order_and_the_oldest_go(void)
{
    lineage_t lineage = {0};
    lineage_row_t rows[8];
    uint64_t cursor = 0, dropped;
    EQUAL(lineage_read(&lineage, &cursor, 8, rows, &dropped), 0); /* before the first one there is no memory */
    for (uint64_t i = 0; i < 5; i++)
        lineage_append(&lineage, &(lineage_row_t){.from = i, .to = i + 1});
    EQUAL(lineage_read(&lineage, &cursor, 3, rows, &dropped), 3);
    EQUAL(rows[2].from, 2);
    EQUAL(lineage_read(&lineage, &cursor, 8, rows, &dropped), 2);
    EQUAL(rows[1].to, 5);
    EQUAL(dropped, 0);
    for (uint64_t i = 5; i < 2 * LINEAGE_ROWS; i++)
        lineage_append(&lineage, &(lineage_row_t){.from = i, .to = i + 1});
    EQUAL(lineage_read(&lineage, &cursor, 8, rows, &dropped), 8);
    EQUAL(dropped, LINEAGE_ROWS - 5);
    EQUAL(rows[0].from, LINEAGE_ROWS);
    lineage_close(&lineage);
}

MAIN(TEST(rows_come_in_order_and_the_oldest_go))
