/* A lane of the world, and what was taken from it last. */
#pragma once

#include "lane.h"
#include "world.h"

enum { ROOM = 1 << 20, RECORDS = 4096 };

typedef struct {
    csched_lane_t *lane;
    uint32_t index;
    int n;
    uint64_t used;
    uint8_t *data;
    csched_packed_t *records;
} end_t;

static inline end_t open_lane(world_t *w)
{
    end_t e = {.data = malloc(ROOM), .records = malloc(RECORDS * sizeof(csched_packed_t))};
    OK(csched_lane_open(w->s, &e.index, &e.lane));
    OK(csched_lane_ready(e.lane));
    return e;
}

static inline void close_lane(world_t *w, end_t *e)
{
    OK(csched_worker_lost(w->s, e->index));
    OK(csched_lane_close(e->lane));
    free(e->data);
    free(e->records);
}

static inline world_t *open_scene(uint32_t helper, end_t *e)
{
    world_t *w = world_open(helper);
    *e = open_lane(w);
    return w;
}

static inline void close_scene(world_t *w, end_t *e)
{
    close_lane(w, e);
    world_close(w);
}

static inline int take(end_t *e, uint32_t most)
{
    e->n = csched_lane_take(e->lane, 0, most, e->data, ROOM, e->records, RECORDS, &e->used);
    return e->n;
}

/* Takes until there are so many tasks, as the window lets them come. */
static inline void take_tasks(end_t *e, uint32_t most)
{
    for (int tries = 0; take(e, most) == 0 && tries < 1000; tries++)
        csched_lane_wait(e->lane, 1);
    CHECK(e->n > 0);
}

static inline void answer_with(end_t *e, csched_outcome_t outcome, const void *data, int64_t ahead)
{
    csched_part_t part = {data, outcome.size};
    EQUAL(csched_lane_oldest(e->lane, 1, &outcome.ticket), 1);
    EQUAL(csched_lane_publish(e->lane, 1, &outcome, &part, 1, ahead), 1);
}

/* Ends the oldest task; so many bytes of its value stay at the lane. */
static inline void answer_staying(end_t *e, uint32_t status, const void *data, uint64_t size, int64_t ahead,
                                  uint64_t stays)
{
    uint64_t now = csched_now() + (uint64_t)ahead;
    csched_outcome_t outcome = {.kind = CSCHED_TASK,
                                .status = status,
                                .size = size,
                                .received = now,
                                .started = now,
                                .finished = now,
                                .stays = stays};
    answer_with(e, outcome, data, ahead);
}

/* Ends the oldest task, whose inputs took so long to come. */
static inline void answer_after(end_t *e, uint64_t fetching)
{
    uint64_t now = csched_now();
    in_flight_at(e->lane, 0)->dispatched = now - fetching;
    csched_outcome_t outcome = {
        .kind = CSCHED_TASK, .status = CSCHED_NONE, .received = now - fetching, .started = now, .finished = now};
    answer_with(e, outcome, NULL, 0);
}

static inline void answer(end_t *e, uint32_t status, const void *data, uint64_t size, int64_t ahead)
{
    answer_staying(e, status, data, size, ahead, 0);
}

static inline void answer_all(end_t *e)
{
    while (csched_lane_outstanding(e->lane))
        answer(e, CSCHED_NONE, NULL, 0, 0);
}

/* Submits so many tasks and takes them all. tickets: theirs, NULL if they are not asked for. */
static inline void submit_and_take(world_t *w, end_t *e, uint32_t count, uint64_t *tickets)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t ticket = submit(w, JOB_NONE, i, 0);
        if (tickets)
            tickets[i] = ticket;
    }
    while (csched_lane_outstanding(e->lane) < count)
        take_tasks(e, count);
}

static inline uint32_t first_tag(const end_t *e)
{
    return ((const job_t *)(e->data + e->records[0].at))->tag;
}
