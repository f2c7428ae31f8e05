/* The state map: what became of each task, one byte each, in the order of submission.  Private memory of the kernel,
 * under the scheduler's lock.  An element of a chunk counts as a task; one that is submitted again keeps its position.
 * What full means: the oldest positions are overwritten; a reader learns where those begin that are known.
 * The positions of a run are kept as stretches of consecutive ones, linked from the latest back to the first.
 * Running tasks are not written by the scheduler: a reader of the map asks the workers first (state_map_look). */
#ifndef CSCHED_STATE_MAP_H
#define CSCHED_STATE_MAP_H

#include <stdbool.h>

#include "csched.h"
#include "graph.h"

enum { MAP_POSITIONS = 1 << 22, MAP_STRETCHES = 1 << 18 };

typedef struct { /* consecutive positions of one run */
    uint32_t first, count;
    uint32_t place;    /* number of the run's tasks before it */
    uint32_t previous; /* number of the run's stretch before it, if `place` is not 0 */
} stretch_t;

typedef struct { /* of a run */
    uint32_t tasks;
    uint32_t last; /* number of its latest stretch, if it has tasks */
} map_run_t;

typedef struct {
    uint8_t *of;   /* MAP_POSITIONS states */
    uint64_t next; /* positions given so far */
    stretch_t *stretches; /* MAP_STRETCHES, the oldest are overwritten */
    uint32_t stretched;   /* stretches so far */
    map_run_t *runs;
    uint32_t run_count;
} state_map_t;

int state_map_open(state_map_t *map);
void state_map_close(state_map_t *map);
int state_map_open_run(state_map_t *map, uint32_t run);
/* the run's tasks, which have just been given these positions; and back */
void state_map_own(state_map_t *map, uint32_t run, uint32_t first, uint32_t count);
void state_map_disown(state_map_t *map, uint32_t run, uint32_t count);
void state_map_fill(state_map_t *map, uint32_t first, uint32_t count, uint8_t state);
void state_map_end_chunk(state_map_t *map, const task_t *task, uint8_t state);
/* the running element; past the last one: unknown */
void state_map_look(state_map_t *map, const task_t *task, uint32_t element);

/* The stretch with this number, or a later one in its place. */
static inline stretch_t *state_map_stretch(const state_map_t *map, uint32_t number)
{
    return &map->stretches[number & (MAP_STRETCHES - 1)];
}

/* Skips overwritten positions; false: all are. */
static inline bool state_map_still_there(const state_map_t *map, uint32_t *first, uint32_t *count)
{
    uint32_t age = (uint32_t)map->next - *first;
    uint32_t gone = age > MAP_POSITIONS ? age - MAP_POSITIONS : 0;
    if (gone >= *count)
        return false;
    *first += gone;
    *count -= gone;
    return true;
}

/* Number of positions from `first` on that are contiguous in memory. */
static inline uint32_t state_map_piece(uint32_t first, uint32_t count)
{
    uint32_t room = MAP_POSITIONS - (first & (MAP_POSITIONS - 1));
    return count < room ? count : room;
}

/* Positions have 32 bits: those in the map are less than 2^32 before `next`. */
static inline void state_map_set(state_map_t *map, uint32_t position, uint8_t state)
{
    if ((uint32_t)map->next - position - 1 < MAP_POSITIONS) /* else overwritten */
        map->of[position & (MAP_POSITIONS - 1)] = state;
}

/* Takes the next `count` positions for tasks of a run, in this state, and returns the first. */
static inline uint32_t state_map_add(state_map_t *map, uint32_t run, uint32_t count, uint8_t state)
{
    uint32_t first = (uint32_t)map->next;
    map->next += count;
    if (count == 1)
        map->of[first & (MAP_POSITIONS - 1)] = state;
    else
        state_map_fill(map, first, count, state);
    if (run < map->run_count)
        state_map_own(map, run, first, count);
    return first;
}

static inline void state_map_task(state_map_t *map, const task_t *task, uint8_t state)
{
    if (task->count == 1)
        state_map_set(map, task->first, state);
    else
        state_map_fill(map, task->first, task->count, state);
}

/* Sets the state of a finished task. */
static inline void state_map_end(state_map_t *map, const task_t *task)
{
    static const uint8_t states[] = {[CSCHED_VALUE] = CSCHED_MAP_DONE,          [CSCHED_NONE] = CSCHED_MAP_DONE,
                                     [CSCHED_ERROR] = CSCHED_MAP_FAILED,        [CSCHED_LOST] = CSCHED_MAP_LOST,
                                     [CSCHED_CANCELLED] = CSCHED_MAP_CANCELLED, [CSCHED_DEPENDENCY] = CSCHED_MAP_FAILED,
                                     [CSCHED_TIMEOUT] = CSCHED_MAP_FAILED,      [CSCHED_NOROOM] = CSCHED_MAP_FAILED};
    uint8_t state = states[task->status];
    if (task->count == 1)
        state_map_set(map, task->first, state == CSCHED_MAP_DONE && task->detail ? CSCHED_MAP_FAILED : state);
    else
        state_map_end_chunk(map, task, state);
}

#endif
