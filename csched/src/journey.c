#include "journey.h"

#include <string.h>

#include "account.h"
#include "pages.h"

int journey_open(journey_t *journey, uint64_t rows)
{
    journey->capacity = rows;
    journey->written = 0;
    journey->rows = pages_open(rows * sizeof *journey->rows);
    journey->counts = pages_open(rows * sizeof *journey->counts);
    journey->took = pages_open(rows * sizeof *journey->took);
    return journey->rows && journey->counts && journey->took ? CSCHED_OK : CSCHED_ENOMEM;
}

void journey_close(journey_t *journey)
{
    pages_close(journey->rows, journey->capacity * sizeof *journey->rows);
    pages_close(journey->counts, journey->capacity * sizeof *journey->counts);
    pages_close(journey->took, journey->capacity * sizeof *journey->took);
    journey->rows = NULL;
    journey->counts = NULL;
    journey->took = NULL;
}

_Static_assert(offsetof(task_t, dispatched) - offsetof(task_t, submitted) == 2 * sizeof(uint64_t),
               "the kernel's three stamps are copied as one");
_Static_assert(offsetof(result_entry_t, returned) - offsetof(result_entry_t, received) == 3 * sizeof(uint64_t),
               "the worker's four stamps are copied as one");

/* Writes fields directly into the ring: copying a finished row takes twice as long. */
static csched_journey_t *record(journey_t *journey, const task_t *task, const result_entry_t *entry, uint32_t index,
                                uint32_t element)
{
    csched_journey_t *row = journey_append(journey);
    row->ticket = task->ticket;
    row->run = task->run;
    row->function = task->function;
    row->element = element;
    row->worker = (uint16_t)index;
    row->status = (uint8_t)entry->status;
    row->attempt = task->attempt;
    memcpy(&row->stamps[0], &task->submitted, 3 * sizeof row->stamps[0]);     /* submitted to dispatched */
    memcpy(&row->stamps[3], &entry->received, 4 * sizeof row->stamps[0]); /* received to returned */
    row->stamps[7] = 0;
    row->pack_ns = task->pack_ns;
    row->position = task->first + element;
    return row;
}

static uint32_t duration(uint64_t began, uint64_t ended)
{
    uint64_t took = ended - began; /* marks come from shared memory: any values are safe */
    return took < APART ? (uint32_t)took : APART;
}

void journey_record(journey_t *journey, task_t *task, const result_entry_t *entry, const uint64_t *marks,
                    uint32_t index)
{
    if (!JOURNEYS)
        return;
    task->row = journey->written;
    if (task->count == 1 && !entry->stamps) { /* most tasks: without the loop's bookkeeping */
        record(journey, task, entry, index, 0);
        return;
    }
    for (uint32_t i = 0; i < task->count; i++) {
        csched_journey_t *row = record(journey, task, entry, index, i);
        if (i + 1 >= entry->stamps)
            continue;
        row->stamps[4] = marks[i];
        row->stamps[5] = marks[i + 1];
        if (i)
            *journey_took(journey, journey->written - 1) = duration(marks[i], marks[i + 1]);
    }
}

uint64_t journey_record_incomplete(journey_t *journey, const task_t *task, uint32_t index, uint32_t status,
                                   const uint64_t ran[4])
{
    uint64_t number = journey->written;
    csched_journey_t *row = journey_append(journey);
    *row = (csched_journey_t){.ticket = task->ticket,
                              .run = task->run,
                              .function = task->function,
                              .worker = (uint16_t)index,
                              .status = (uint8_t)status,
                              .attempt = task->attempt,
                              .stamps = {task->submitted},
                              .pack_ns = task->pack_ns,
                              .position = task->first};
    if (task->count > 1)
        journey->counts[number & (journey->capacity - 1)] = number << 32 | task->count;
    if (index != NO_WORKER) {
        memcpy(&row->stamps[0], &task->submitted, 3 * sizeof row->stamps[0]);
        memcpy(&row->stamps[3], ran, 4 * sizeof row->stamps[0]);
    }
    return number;
}

/* The row is not like the one before any more. */
static void set_apart(journey_t *journey, uint64_t row)
{
    if (row < journey->written && journey->written - row <= journey->capacity)
        *journey_took(journey, row) = APART;
}

uint64_t journey_mark(journey_t *journey, uint64_t row, uint64_t ticket, uint32_t status)
{
    csched_journey_t *found = journey_row(journey, row);
    if (row >= journey->written || found->ticket != ticket)
        return 0;
    found->status = (uint8_t)status;
    set_apart(journey, row);
    set_apart(journey, row + 1);
    return ns_between(found->stamps[4], found->stamps[5]);
}

void journey_resolved(journey_t *journey, uint64_t row, uint32_t count, uint64_t when)
{
    uint64_t oldest = journey->written > journey->capacity ? journey->written - journey->capacity : 0;
    uint64_t end = row + count;
    for (uint64_t i = row < oldest ? oldest : row; i < end; i++)
        journey_row(journey, i)->stamps[7] = when;
    set_apart(journey, row);
    set_apart(journey, end);
}

uint64_t journey_missed(const journey_t *journey, uint64_t *cursor)
{
    uint64_t oldest = journey->written > journey->capacity ? journey->written - journey->capacity : 0;
    uint64_t missed = *cursor < oldest ? oldest - *cursor : 0;
    *cursor += missed;
    return missed;
}

uint32_t journey_resolved_rows(const journey_t *journey, uint64_t number, uint32_t most)
{
    if (number >= journey->written)
        return 0;
    const csched_journey_t *row = journey_row(journey, number);
    uint64_t written = journey->written - number, there = (uint64_t)(journey->rows + journey->capacity - row), n = 0;
    uint64_t end = written < there ? written : there;
    const uint32_t *took = journey_took(journey, number);
    for (end = end < most ? end : most; n < end && ((n && took[n] != APART) || row[n].stamps[7]);)
        n++;
    return (uint32_t)n;
}

uint32_t journey_read(const journey_t *journey, uint64_t *cursor, uint32_t most, csched_journey_t *rows,
                      uint64_t *dropped)
{
    uint32_t n = 0;
    *dropped = journey_missed(journey, cursor);
    for (uint32_t found; (found = journey_resolved_rows(journey, *cursor, most - n)); *cursor += found, n += found)
        memcpy(rows + n, journey_row(journey, *cursor), found * sizeof *rows);
    return n;
}

uint32_t journey_newest(const journey_t *journey, uint32_t most, csched_journey_t *rows)
{
    uint64_t kept = journey->written < journey->capacity ? journey->written : journey->capacity;
    uint32_t n = kept < most ? (uint32_t)kept : most;
    for (uint32_t i = 0; i < n; i++)
        rows[i] = *journey_row(journey, journey->written - n + i);
    return n;
}
