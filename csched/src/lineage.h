/* The log of dependencies, for drawing: which task took the result of which, the newest LINEAGE_ROWS of them.
 * Under the scheduler's lock; written only for tasks that have inputs.
 * What full means: the oldest row is overwritten; a reader learns how many it missed. */
#ifndef CSCHED_LINEAGE_H
#define CSCHED_LINEAGE_H

#include <stdint.h>

enum { LINEAGE_ROWS = 65536 };

typedef struct {
    uint64_t from, to; /* tickets */
    uint32_t from_function, to_function;
    uint32_t from_run, to_run; /* UINT32_MAX: none, or unknown */
} lineage_row_t;

typedef struct {
    lineage_row_t *rows; /* NULL until the first dependency */
    uint64_t written;    /* rows in all */
} lineage_t;

void lineage_append(lineage_t *lineage, const lineage_row_t *row);
void lineage_close(lineage_t *lineage);
/* Rows from `*cursor` on, at most `most`; the cursor moves past them, and past what was overwritten. */
uint32_t lineage_read(const lineage_t *lineage, uint64_t *cursor, uint32_t most, lineage_row_t *rows,
                      uint64_t *dropped);

#endif
