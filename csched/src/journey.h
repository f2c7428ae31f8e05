/* The journey ring: the stamps of finished tasks, the newest journey_rows of them.  Under the scheduler's lock.
 * What full means: the oldest row is overwritten; a reader learns how many it missed. */
#ifndef CSCHED_JOURNEY_H
#define CSCHED_JOURNEY_H

#include "csched.h"
#include "graph.h"

#ifdef CSCHED_NO_JOURNEY /* for one benchmark: the cost of journeys */
enum { JOURNEYS = 0 };
#else
enum { JOURNEYS = 1 };
#endif

#define APART UINT32_MAX

typedef struct {
    csched_journey_t *rows;
    /* By row: how long its element took, if it began as the one before in its chunk ended and the row is like that one else,
     * so that readers need not look at it; APART: it is not, or not known to be. */
    uint32_t *took;
    uint64_t *counts;  /* by row, of those that stand for a whole chunk: number of the row << 32 | its elements */
    uint64_t capacity; /* a power of two */
    uint64_t written;  /* rows in all */
} journey_t;

static inline csched_journey_t *journey_row(const journey_t *journey, uint64_t number)
{
    return &journey->rows[number & (journey->capacity - 1)];
}

/* Number of elements that a row stands for: those of a chunk that has no result of its own, else 1. */
static inline uint32_t journey_count(const journey_t *journey, uint64_t number)
{
    uint64_t count = journey->counts[number & (journey->capacity - 1)];
    return (uint32_t)count && (uint32_t)(count >> 32) == (uint32_t)number ? (uint32_t)count : 1;
}

static inline uint32_t *journey_took(const journey_t *journey, uint64_t number)
{
    return &journey->took[number & (journey->capacity - 1)];
}

/* Appends a row, which the caller writes completely; its number is written - 1. */
static inline csched_journey_t *journey_append(journey_t *journey)
{
    __builtin_prefetch(journey_row(journey, journey->written + 8), 1); /* used some hundred ns from now */
    journey->took[journey->written & (journey->capacity - 1)] = APART;
    return journey_row(journey, journey->written++);
}

int journey_open(journey_t *journey, uint64_t rows);
void journey_close(journey_t *journey);
/* Records a task that ran on worker `index`: one row per element; `marks`: entry->stamps of them. */
void journey_record(journey_t *journey, task_t *task, const result_entry_t *entry, const uint64_t *marks,
                    uint32_t index);
/* Records a task or attempt without a result of its own in one row, whatever its count, and returns the row's number.
 * NO_WORKER: it did not run. `ran`: the worker's four stamps, from received on, 0 where they are not known. */
uint64_t journey_record_incomplete(journey_t *journey, const task_t *task, uint32_t index, uint32_t status,
                                   const uint64_t ran[4]);
/* Changes the status of one row of a task; returns how long it ran, in nanoseconds, 0 if it was overwritten. */
uint64_t journey_mark(journey_t *journey, uint64_t row, uint64_t ticket, uint32_t status);
void journey_resolved(journey_t *journey, uint64_t row, uint32_t count, uint64_t when);
/* Moves a cursor to the oldest row where its own was overwritten, and returns how many it missed. */
uint64_t journey_missed(const journey_t *journey, uint64_t *cursor);
/* Number of rows from one on that follow one another in memory and whose results were taken, at most `most`. */
uint32_t journey_resolved_rows(const journey_t *journey, uint64_t number, uint32_t most);
uint32_t journey_read(const journey_t *journey, uint64_t *cursor, uint32_t most, csched_journey_t *rows,
                      uint64_t *dropped);
/* Copies the newest rows, oldest first, whether their results were taken or not. */
uint32_t journey_newest(const journey_t *journey, uint32_t most, csched_journey_t *rows);

#endif
