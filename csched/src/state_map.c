/* The state map: positions are given, and states written. */
#include "state_map.h"

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "pages.h"
#include "growth.h"
#include "segment.h"

int state_map_open(state_map_t *map)
{
    size_t states = MAP_POSITIONS, stretches = MAP_STRETCHES * sizeof(stretch_t);
    uint8_t *at = pages_open(states + stretches);
    *map = (state_map_t){0};
    if (!at)
        return CSCHED_ENOMEM;
    map->of = at;
    map->stretches = (stretch_t *)(void *)(at + states);
    return CSCHED_OK;
}

void state_map_close(state_map_t *map)
{
    pages_close(map->of, MAP_POSITIONS + MAP_STRETCHES * sizeof(stretch_t));
    free(map->runs);
    *map = (state_map_t){0};
}

int state_map_open_run(state_map_t *map, uint32_t run)
{
    if (run >= map->run_count) {
        map_run_t *runs = rows_grow(map->runs, map->run_count, run + 1, sizeof *runs);
        if (!runs)
            return CSCHED_ENOMEM;
        map->runs = runs;
        map->run_count = run + 1; /* runs are opened in the order of their numbers at first */
    }
    map->runs[run] = (map_run_t){0};
    return CSCHED_OK;
}

void state_map_own(state_map_t *map, uint32_t run, uint32_t first, uint32_t count)
{
    map_run_t *of = &map->runs[run];
    uint32_t number = map->stretched;
    stretch_t *last = state_map_stretch(map, number - 1);
    if (of->tasks && of->last == number - 1 && last->first + last->count == first) {
        last->count += count;
    } else {
        *state_map_stretch(map, number) =
            (stretch_t){.first = first, .count = count, .place = of->tasks, .previous = of->last};
        of->last = number;
        map->stretched++;
    }
    of->tasks += count;
}

void state_map_disown(state_map_t *map, uint32_t run, uint32_t count)
{
    if (run >= map->run_count)
        return;
    map_run_t *of = &map->runs[run];
    stretch_t *last = state_map_stretch(map, of->last);
    of->tasks -= count;
    last->count -= count;
    if (!last->count) {
        of->last = last->previous;
        map->stretched--;
    }
}

void state_map_fill(state_map_t *map, uint32_t first, uint32_t count, uint8_t state)
{
    if (!state_map_still_there(map, &first, &count))
        return;
    while (count) {
        uint32_t n = state_map_piece(first, count);
        memset(map->of + (first & (MAP_POSITIONS - 1)), state, n);
        first += n;
        count -= n;
    }
}

/* Sets elements that have no outcome of their own yet; skips states below `least`. */
static void settle(state_map_t *map, uint32_t first, uint32_t count, uint8_t least, uint8_t state)
{
    if (!state_map_still_there(map, &first, &count))
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *at = &map->of[(first + i) & (MAP_POSITIONS - 1)];
        if (*at >= least && *at < CSCHED_MAP_DONE)
            *at = state;
    }
}

/* csched_state_map_set sets the failed elements, before or after this. An element that failed early may wait for its
 * retry by then. */
void state_map_end_chunk(state_map_t *map, const task_t *task, uint8_t state)
{
    if (state != CSCHED_MAP_DONE)
        settle(map, task->first, task->count, CSCHED_MAP_WAITING, state);
    else if (task->detail)
        settle(map, task->first, task->count, CSCHED_MAP_QUEUED, state);
    else
        state_map_fill(map, task->first, task->count, state);
}

/* Elements before the running one count as done until their outcomes come. */
void state_map_look(state_map_t *map, const task_t *task, uint32_t element)
{
    if (task->count == 1) {
        state_map_set(map, task->first, CSCHED_MAP_RUNNING);
    } else if (element < task->count) {
        settle(map, task->first, element, CSCHED_MAP_QUEUED, CSCHED_MAP_DONE);
        if (element + 1 < task->count) /* while the running element was unknown, all were set to running */
            settle(map, task->first + element + 1, task->count - element - 1, CSCHED_MAP_QUEUED, CSCHED_MAP_QUEUED);
        state_map_set(map, task->first + element, CSCHED_MAP_RUNNING);
    } else { /* a batch, or the chunk is being unpacked or packed */
        settle(map, task->first, task->count, CSCHED_MAP_QUEUED, CSCHED_MAP_RUNNING);
    }
}

CSCHED_EXPORT uint64_t csched_state_map_next(csched_t *s)
{
    pthread_mutex_lock(&s->lock);
    uint64_t next = s->state_map.next;
    pthread_mutex_unlock(&s->lock);
    return next;
}

CSCHED_EXPORT int csched_state_map_add(csched_t *s, uint32_t run, uint32_t count, uint32_t state)
{
    if (state >= CSCHED_MAP_STATES)
        return CSCHED_EINVAL;
    pthread_mutex_lock(&s->lock);
    state_map_add(&s->state_map, run, count, (uint8_t)state);
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_state_map_set(csched_t *s, uint64_t position, uint32_t count, uint32_t state)
{
    if (state >= CSCHED_MAP_STATES)
        return CSCHED_EINVAL;
    pthread_mutex_lock(&s->lock);
    int rc = position <= s->state_map.next && count <= s->state_map.next - position ? CSCHED_OK : CSCHED_EINVAL;
    if (!rc && s->state_map.next - position <= UINT32_MAX)
        state_map_fill(&s->state_map, (uint32_t)position, count, (uint8_t)state);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT uint64_t csched_task_position(csched_t *s, uint32_t slot)
{
    pthread_mutex_lock(&s->lock);
    uint64_t position = UINT64_MAX;
    if (slot < s->graph.capacity && task_at(s, slot)->state != TASK_FREE)
        position = s->state_map.next - (uint32_t)((uint32_t)s->state_map.next - task_at(s, slot)->first);
    pthread_mutex_unlock(&s->lock);
    return position;
}
