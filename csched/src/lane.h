/* Internals of lanes: lane.c (opening, taking) and lane_results.c (publishing, giving back). */
#ifndef CSCHED_LANE_H
#define CSCHED_LANE_H

#include "internal.h"

typedef struct {
    uint64_t ticket;
    uint64_t dispatched;
    uint32_t slot, count, attempt;
    bool urgent;
} in_flight_t;

struct csched_lane {
    csched_t *s;
    uint32_t index;
    segment_t *segment; /* the scheduler's mapping: invalid once the worker is declared lost */
    ring_t tasks, results;
    in_flight_t *in_flight; /* without a result, oldest first */
    uint32_t head, count, capacity;
    shared_u32 woken;
};

static inline in_flight_t *in_flight_at(const csched_lane_t *l, uint32_t i)
{
    return &l->in_flight[(l->head + i) & (l->capacity - 1)];
}

void lane_say_what_runs(csched_lane_t *l); /* sets the claim to the oldest task without a result */

#endif
