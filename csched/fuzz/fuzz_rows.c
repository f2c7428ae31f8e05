/* Packed journey rows of a file: whatever the bytes are, rows or an error; rows are packed to the same rows again. */
#include "csched.h"
#include "csched_rows.h"

#include "fuzz.h"

enum { ROWS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static csched_journey_t rows[ROWS], again[ROWS];
    static csched_group_t groups[ROWS];
    static uint8_t took[ROWS * CSCHED_TOOK_MOST];
    csched_look_t look = {.groups = groups, .took = took, .most = ROWS, .most_groups = ROWS};
    static char packed[ROWS * CSCHED_PACKED_MOST];
    input_t in = {bytes, size};
    csched_rows_packed_t done = {0};
    uint32_t count = below(&in, ROWS + 1);
    if (csched_rows_unpack((const char *)in.at, in.left, 1, count, rows) != CSCHED_OK)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (!rows[i].ticket || rows[i].stamps[0] == UINT64_MAX)
            return 0; /* no row of a scheduler */
    HOLDS(csched_rows_fold(&look, rows, count) == CSCHED_OK);
    HOLDS(csched_rows_unfold(&look, again) == CSCHED_OK);
    HOLDS(memcmp(rows, again, count * sizeof *rows) == 0);
    int64_t length = csched_rows_pack(&look, 1, 0, UINT64_MAX, packed, &done);
    HOLDS(done.count == count && length <= (int64_t)count * CSCHED_PACKED_MOST);
    HOLDS(csched_rows_unpack(packed, (uint64_t)length, 1, count, again) == CSCHED_OK);
    HOLDS(memcmp(rows, again, count * sizeof *rows) == 0);
    return 0;
}
