#define _GNU_SOURCE
#include "csched.h"
#include "csched_views.h"

#include "harness.h"

#include <string.h>

enum { ROWS = 600 };

static csched_journey_t rows[ROWS], copy[ROWS], back[ROWS];
static char packed[ROWS * CSCHED_PACKED_MOST];

/* Single tasks, chunks, rows without stamps, the largest numbers that there are. */
static void make(void)
{
    uint64_t state = 88172645463325252u;
    for (uint32_t i = 0; i < ROWS; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        csched_journey_t *row = &rows[i];
        *row = (csched_journey_t){.ticket = (uint64_t)(i / 3 + 1) << 32 | (state & 1023),
                                  .run = i % 5 == 4 ? 8 : 7,
                                  .function = (uint32_t)(state >> 20 & 3),
                                  .element = i % 3,
                                  .worker = (uint16_t)(state >> 30 & 7),
                                  .status = (uint8_t)(state >> 40 & 7),
                                  .pack_ns = (float)(state >> 50),
                                  .position = i % 100 == 99 ? UINT32_MAX : i};
        for (int stamp = 0; stamp < 8; stamp++)
            row->stamps[stamp] = i % 50 == 49 && stamp ? 0 : 1000000000000u + 1000u * i + (uint64_t)stamp * 100;
        if (i % 97 == 96)
            row->stamps[7] = UINT64_MAX;
        if (i > 300) /* of a chunk: all but two stamps are those of the row before */
            memcpy(row->stamps, rows[i - 1].stamps, sizeof row->stamps);
    }
    memcpy(copy, rows, sizeof rows);
}

static void rows_come_back_as_they_were(void)
{
    make();
    csched_rows_packed_t done = {0};
    uint32_t n = 0;
    int64_t size = csched_rows_pack(rows, ROWS, 7, 0, UINT64_MAX, packed, &done);
    EQUAL(done.count, 480);
    EQUAL(done.next, 4); /* the first row of the other run */
    EQUAL(done.functions, 4);
    OK(csched_rows_unpack(packed, (uint64_t)size, 7, done.count, back));
    for (uint32_t i = 0; i < ROWS; i++)
        if (copy[i].run == 7)
            EQUAL(memcmp(&copy[i], &back[n++], sizeof *back), 0);
    EQUAL(n, done.count);
    EQUAL(csched_rows_pack(rows, ROWS, 8, 0, UINT64_MAX, NULL, &done), 0);
    EQUAL(done.next, ROWS);
}

static void runs_with_one_number_are_told_apart_by_time(void)
{
    make();
    csched_rows_packed_t done = {0};
    uint64_t middle = copy[200].stamps[0];
    csched_rows_pack(rows, 300, 7, middle, UINT64_MAX, packed, &done);
    EQUAL(done.count, 80);
    EQUAL(done.next, 0);
    csched_rows_pack(rows, 300, 7, 0, middle, packed, &done);
    EQUAL(done.count, 160);
}

static void what_is_cut_off_or_changed_is_refused(void)
{
    make();
    csched_rows_packed_t done = {0};
    uint64_t size = (uint64_t)csched_rows_pack(rows, ROWS, 7, 0, UINT64_MAX, packed, &done);
    for (uint64_t end = 0; end < size; end++)
        EQUAL(csched_rows_unpack(packed, end, 7, done.count, back), CSCHED_ECORRUPT);
    EQUAL(csched_rows_unpack(packed, size, 7, done.count - 1, back), CSCHED_ECORRUPT);
    for (uint64_t at = 0; at < size; at++) { /* any bytes: an answer, and no access outside */
        char was = packed[at];
        packed[at] = (char)0xff;
        csched_rows_unpack(packed, size, 7, done.count, back);
        packed[at] = was;
    }
}

MAIN(TEST(rows_come_back_as_they_were), TEST(runs_with_one_number_are_told_apart_by_time),
     TEST(what_is_cut_off_or_changed_is_refused))
