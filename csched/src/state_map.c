/* The state map, and pictures of it, whose cells are for one task each or for several. */
#define _GNU_SOURCE
#include "state_map.h"

#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "segment.h"

enum {
    SLICE = 65536, /* positions read while the lock is held once */
    BLOCK = 128,   /* positions counted in one word: less than 256 */
    MOST_SPAN = SLICE
};
#define ONES UINT64_C(0x0101010101010101)

int state_map_open(state_map_t *map)
{
    /* mapped, not allocated: untouched pages cost nothing */
    void *at = mmap(NULL, MAP_POSITIONS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *map = (state_map_t){.of = at == MAP_FAILED ? NULL : at};
    return map->of ? CSCHED_OK : CSCHED_ENOMEM;
}

void state_map_close(state_map_t *map)
{
    if (map->of)
        munmap(map->of, MAP_POSITIONS);
    map->of = NULL;
}

/* Skips overwritten positions; false: all are. */
static bool still_there(const state_map_t *map, uint32_t *first, uint32_t *count)
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
static uint32_t piece(uint32_t first, uint32_t count)
{
    uint32_t room = MAP_POSITIONS - (first & (MAP_POSITIONS - 1));
    return count < room ? count : room;
}

void state_map_fill(state_map_t *map, uint32_t first, uint32_t count, uint8_t state)
{
    if (!still_there(map, &first, &count))
        return;
    while (count) {
        uint32_t n = piece(first, count);
        memset(map->of + (first & (MAP_POSITIONS - 1)), state, n);
        first += n;
        count -= n;
    }
}

/* Sets elements that have no outcome of their own yet; skips states below `least`. */
static void settle(state_map_t *map, uint32_t first, uint32_t count, uint8_t least, uint8_t state)
{
    if (!still_there(map, &first, &count))
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

static void look_at_workers(csched_t *s)
{
    for (uint32_t i = 0; i < s->worker_count; i++) {
        const segment_t *segment = s->workers[i]->segment;
        uint64_t ticket = segment ? u64_acquire(&segment->claim_ticket) : 0; /* partner: claim in worker.c */
        const task_t *task = ticket ? graph_find(&s->graph, ticket) : NULL;
        if (task && task->state == TASK_SENT && task->worker == i)
            state_map_look(&s->state_map, task, u32_relaxed(&segment->claim_element));
    }
}

/* Counts the states: eight one-byte counters in one word, and eight equal states at once. */
static void tally(const uint8_t *states, uint32_t count, uint32_t *counts)
{
    for (uint32_t done = 0; done < count; done += BLOCK) {
        uint32_t n = count - done < BLOCK ? count - done : BLOCK, i = 0;
        uint64_t sum = 0, word;
        for (; i + 8 <= n; i += 8) {
            memcpy(&word, states + done + i, sizeof word);
            if (word == states[done + i] * ONES)
                sum += UINT64_C(8) << 8 * states[done + i];
            else
                for (uint32_t j = i; j < i + 8; j++)
                    sum += UINT64_C(1) << 8 * states[done + j];
        }
        for (; i < n; i++)
            sum += UINT64_C(1) << 8 * states[done + i];
        for (uint32_t state = 0; state < CSCHED_MAP_STATES; state++)
            counts[state] += sum >> 8 * state & 255;
    }
}

/* A cell as csched_views.h defines it. */
static uint8_t cell_of(const uint32_t *counts, uint32_t count)
{
    uint32_t done = counts[CSCHED_MAP_DONE], share = done * UINT64_C(15) / count;
    if (done && done < count)
        share = share < 1 ? 1 : share > 14 ? 14 : share;
    return (uint8_t)(share | (counts[CSCHED_MAP_FAILED] || counts[CSCHED_MAP_LOST] ? CSCHED_CELL_FAILED : 0) |
                     (counts[CSCHED_MAP_RUNNING] ? CSCHED_CELL_RUNNING : 0) |
                     (counts[CSCHED_MAP_WAITING] || counts[CSCHED_MAP_QUEUED] ? CSCHED_CELL_WAITING : 0) |
                     (counts[CSCHED_MAP_CANCELLED] ? CSCHED_CELL_CANCELLED : 0));
}

/* Writes one cell for `count` positions, or a cell for each if `span` is 1. */
static void picture(const state_map_t *map, uint32_t first, uint32_t count, uint32_t span, uint64_t *totals,
                    uint8_t *cells)
{
    uint32_t counts[CSCHED_MAP_STATES] = {0};
    uint32_t all = count;
    while (count) {
        uint32_t n = piece(first, count);
        const uint8_t *states = map->of + (first & (MAP_POSITIONS - 1));
        tally(states, n, counts);
        if (span == 1) {
            memcpy(cells, states, n);
            cells += n;
        }
        first += n;
        count -= n;
    }
    if (span > 1)
        *cells = cell_of(counts, all);
    for (uint32_t state = 0; state < CSCHED_MAP_STATES; state++)
        totals[state] += counts[state];
}

/* Limits the request to existing positions; after overwritten ones it begins with a whole cell. */
static void clip(const state_map_t *map, csched_state_map_t *wanted)
{
    uint64_t oldest = map->next > MAP_POSITIONS ? map->next - MAP_POSITIONS : 0;
    if (wanted->last > map->next)
        wanted->last = map->next;
    if (wanted->first < oldest)
        wanted->first += (oldest - wanted->first + wanted->span - 1) / wanted->span * wanted->span;
    if (wanted->first > wanted->last)
        wanted->first = wanted->last;
    wanted->next = map->next;
}

CSCHED_EXPORT int csched_state_map(csched_t *s, csched_state_map_t *wanted, uint8_t *cells, uint32_t most)
{
    uint32_t span = wanted->span;
    if (!span || span & (span - 1) || span > MOST_SPAN || wanted->first > wanted->last)
        return CSCHED_EINVAL;
    memset(wanted->counts, 0, sizeof wanted->counts);
    pthread_mutex_lock(&s->lock);
    look_at_workers(s);
    clip(&s->state_map, wanted);
    uint64_t room = (uint64_t)most * span;
    if (wanted->last - wanted->first > room)
        wanted->last = wanted->first + room;
    wanted->cells = 0;
    for (uint64_t at = wanted->first; at < wanted->last;) {
        uint64_t end = wanted->last - at > SLICE ? at + SLICE : wanted->last;
        while (at < end) {
            uint32_t n = span == 1 || end - at < span ? (uint32_t)(end - at) : span;
            picture(&s->state_map, (uint32_t)at, n, span, wanted->counts, cells + wanted->cells);
            wanted->cells += span == 1 ? n : 1;
            at += n;
        }
        pthread_mutex_unlock(&s->lock); /* tasks begin and end meanwhile: the picture is not a snapshot */
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}

CSCHED_EXPORT uint64_t csched_state_map_next(csched_t *s)
{
    pthread_mutex_lock(&s->lock);
    uint64_t next = s->state_map.next;
    pthread_mutex_unlock(&s->lock);
    return next;
}

CSCHED_EXPORT int csched_state_map_add(csched_t *s, uint32_t count, uint32_t state)
{
    if (state >= CSCHED_MAP_STATES)
        return CSCHED_EINVAL;
    pthread_mutex_lock(&s->lock);
    state_map_add(&s->state_map, count, (uint8_t)state);
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

static uint32_t equal_from(const uint8_t *cells, uint32_t at, uint32_t count)
{
    uint32_t n = 1;
    while (n < 128 && at + n < count && cells[at + n] == cells[at])
        n++;
    return n;
}

CSCHED_EXPORT uint32_t csched_state_map_pack(const uint8_t *cells, uint32_t count, uint8_t *packed)
{
    uint32_t at = 0, size = 0;
    while (at < count) {
        uint32_t equal = equal_from(cells, at, count), others = 0;
        if (equal > 2) {
            packed[size++] = (uint8_t)(257 - equal);
            packed[size++] = cells[at];
            at += equal;
            continue;
        }
        while (others < 128 && at + others < count && equal_from(cells, at + others, count) <= 2)
            others++;
        packed[size++] = (uint8_t)(others - 1);
        memcpy(packed + size, cells + at, others);
        size += others;
        at += others;
    }
    return size;
}
