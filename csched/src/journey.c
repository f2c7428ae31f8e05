#define _GNU_SOURCE
#include "journey.h"

#include <sys/mman.h>

int journey_open(journey_t *journey, uint64_t rows)
{
    journey->capacity = rows;
    journey->written = 0;
    /* mapped, not allocated: pages that no task has reached yet cost nothing */
    void *at = mmap(NULL, rows * sizeof(csched_journey_t), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        journey->rows = NULL;
        return CSCHED_ENOMEM;
    }
    journey->rows = at;
    return CSCHED_OK;
}

void journey_close(journey_t *journey)
{
    if (journey->rows)
        munmap(journey->rows, journey->capacity * sizeof(csched_journey_t));
    journey->rows = NULL;
}

void journey_resolved(journey_t *journey, uint64_t row, uint32_t count, uint64_t when)
{
    uint64_t oldest = journey->written > journey->capacity ? journey->written - journey->capacity : 0;
    uint64_t end = row + count;
    for (uint64_t i = row < oldest ? oldest : row; i < end; i++)
        journey_row(journey, i)->stamps[7] = when;
}

uint32_t journey_read(const journey_t *journey, uint64_t *cursor, uint32_t most, csched_journey_t *rows,
                      uint64_t *dropped)
{
    uint64_t oldest = journey->written > journey->capacity ? journey->written - journey->capacity : 0;
    *dropped = 0;
    if (*cursor < oldest) {
        *dropped = oldest - *cursor;
        *cursor = oldest;
    }
    uint32_t n = 0;
    while (n < most && *cursor < journey->written) {
        const csched_journey_t *row = journey_row(journey, *cursor);
        if (!row->stamps[7]) /* not resolved yet: it and the rest come next time */
            break;
        rows[n++] = *row;
        ++*cursor;
    }
    return n;
}
