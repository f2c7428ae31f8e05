#define _GNU_SOURCE
#include "csched.h"
#include "csched_rows.h"

#include "harness.h"

#include <string.h>

enum { ROWS = 600 };

static csched_journey_t rows[ROWS], back[ROWS];
static char packed[ROWS * CSCHED_PACKED_MOST];
static csched_group_t groups[ROWS];
static uint8_t took[ROWS * CSCHED_TOOK_MOST];
static csched_look_t look;

/* One look at the first rows. */
static void look_at(uint32_t count)
{
    look = (csched_look_t){.groups = groups, .took = took, .most = ROWS, .most_groups = ROWS};
    OK(csched_rows_fold(&look, rows, count));
    EQUAL(look.rows, count);
}

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
    look_at(ROWS);
}

static void rows_come_back_as_they_were(void)
{
    make();
    csched_rows_packed_t done = {0};
    uint32_t n = 0;
    OK(csched_rows_unfold(&look, back));
    EQUAL(memcmp(rows, back, sizeof rows), 0);
    EQUAL(csched_rows_fold(&look, rows, 1), CSCHED_EFULL);
    int64_t size = csched_rows_pack(&look, 7, 0, UINT64_MAX, packed, &done);
    EQUAL(done.count, 480);
    EQUAL(done.next, 4); /* the first row of the other run */
    EQUAL(done.functions, 4);
    OK(csched_rows_unpack(packed, (uint64_t)size, 7, done.count, back));
    for (uint32_t i = 0; i < ROWS; i++)
        if (rows[i].run == 7)
            EQUAL(memcmp(&rows[i], &back[n++], sizeof *back), 0);
    EQUAL(n, done.count);
    EQUAL(csched_rows_pack(&look, 8, 0, UINT64_MAX, NULL, &done), 0);
    EQUAL(done.next, look.count);
}

static void runs_with_one_number_are_told_apart_by_time(void)
{
    make();
    csched_rows_packed_t done = {0};
    look_at(300);
    uint64_t middle = rows[200].stamps[0];
    csched_rows_pack(&look, 7, middle, UINT64_MAX, packed, &done);
    EQUAL(done.count, 80);
    EQUAL(done.next, 0);
    csched_rows_pack(&look, 7, 0, middle, packed, &done);
    EQUAL(done.count, 160);
}

static void what_is_cut_off_or_changed_is_refused(void)
{
    make();
    csched_rows_packed_t done = {0};
    uint64_t size = (uint64_t)csched_rows_pack(&look, 7, 0, UINT64_MAX, packed, &done);
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

/* Elements of chunks that follow one another, and each way in which the next row is none of them. */
static void elements_take_a_byte_or_two(void)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        csched_journey_t *row = &rows[i];
        *row =
            (csched_journey_t){.ticket = UINT64_C(1) << 32, .run = 7, .function = 1, .element = i, .position = 40 + i};
        for (int stamp = 0; stamp < 8; stamp++)
            row->stamps[stamp] = 1000000000000u + 100u * (unsigned)stamp;
        row->stamps[4] += 200 * i;
        row->stamps[5] = row->stamps[4] + 200;
    }
    look_at(ROWS);
    EQUAL(look.count, 1);
    csched_rows_packed_t done = {0};
    CHECK(csched_rows_pack(&look, 7, 0, UINT64_MAX, packed, &done) < 3 * ROWS);
    EQUAL(done.count, ROWS);
    for (int field = 0; field < 12; field++) {
        csched_journey_t was = rows[300], *row = &rows[300];
        switch (field) {
        case 0:
            row->ticket++;
            break;
        case 1:
            row->function++;
            break;
        case 2:
            row->element++;
            break;
        case 3:
            row->position++;
            break;
        case 4:
            row->worker++;
            break;
        case 5:
            row->status++;
            break;
        case 6:
            row->attempt++;
            break;
        case 7:
            row->pack_ns++;
            break;
        case 8:
            row->stamps[4]++;
            break;
        case 9:
            row->stamps[5] = row->stamps[4] - 1;
            break;
        case 10:
            row->stamps[0]++;
            break;
        default:
            row->stamps[7]++;
            break;
        }
        look_at(ROWS);
        CHECK(look.count == 2 || look.count == 3);
        OK(csched_rows_unfold(&look, back));
        EQUAL(memcmp(rows, back, sizeof rows), 0);
        done = (csched_rows_packed_t){0};
        int64_t size = csched_rows_pack(&look, 7, 0, UINT64_MAX, packed, &done);
        EQUAL(done.count, ROWS);
        OK(csched_rows_unpack(packed, (uint64_t)size, 7, ROWS, back));
        EQUAL(memcmp(rows, back, sizeof rows), 0);
        EQUAL(csched_rows_unpack(packed, (uint64_t)size, 7, 200, back), CSCHED_ECORRUPT);
        rows[300] = was;
    }
}

MAIN(TEST(rows_come_back_as_they_were), TEST(runs_with_one_number_are_told_apart_by_time),
     TEST(elements_take_a_byte_or_two), TEST(what_is_cut_off_or_changed_is_refused))
