/* Pictures of the state map, whose cells are for one task each or for several: of all tasks, or of one run's. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "segment.h"

enum {
    SLICE = 65536, /* positions read while the lock is held once */
    BLOCK = 128,   /* positions counted in one word: less than 256 */
    STEP = 64,     /* positions that take about as long as a stretch */
    MOST_SPAN = SLICE
};
#define ONES UINT64_C(0x0101010101010101)

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

typedef struct {
    const state_map_t *map;
    csched_state_map_t *wanted;
    uint8_t *cells;
    uint32_t counts[CSCHED_MAP_STATES]; /* of the cell that is not full yet */
    uint32_t filled;                    /* positions in it */
    uint32_t steps;                     /* since the lock was taken */
} drawing_t;

static void end_cell(drawing_t *d)
{
    if (d->wanted->span > 1 && d->filled)
        d->cells[d->wanted->cells++] = cell_of(d->counts, d->filled);
    for (uint32_t state = 0; state < CSCHED_MAP_STATES; state++)
        d->wanted->counts[state] += d->counts[state];
    memset(d->counts, 0, sizeof d->counts);
    d->filled = 0;
}

/* Appends these positions, a cell for each if the span is 1. */
static void draw(drawing_t *d, uint32_t first, uint32_t count)
{
    uint32_t span = d->wanted->span;
    while (count) {
        uint32_t n = state_map_piece(first, count);
        if (span > 1 && n > span - d->filled)
            n = span - d->filled;
        const uint8_t *states = d->map->of + (first & (MAP_POSITIONS - 1));
        tally(states, n, d->counts);
        if (span == 1) {
            memcpy(d->cells + d->wanted->cells, states, n);
            d->wanted->cells += n;
        }
        d->filled += n;
        if (span == 1 || d->filled == span)
            end_cell(d);
        first += n;
        count -= n;
    }
}

/* Draws positions in steps: tasks begin and end meanwhile, and the picture is not a snapshot. */
static void draw_in_steps(csched_t *s, drawing_t *d, uint32_t first, uint32_t count)
{
    while (count) {
        uint32_t n = count < SLICE ? count : SLICE;
        draw(d, first, n);
        first += n;
        count -= n;
        d->steps += n + STEP;
        if (d->steps >= SLICE) {
            d->steps = 0;
            pthread_mutex_unlock(&s->lock);
            pthread_mutex_lock(&s->lock);
        }
    }
}

/* Limits the request to those from `oldest` up to `next`; it begins with a whole cell, and its cells fit into `most`. */
static void clip(csched_state_map_t *wanted, uint64_t oldest, uint64_t next, uint32_t most)
{
    uint64_t room = (uint64_t)most * wanted->span;
    if (wanted->last > next)
        wanted->last = next;
    if (wanted->first < oldest)
        wanted->first += (oldest - wanted->first + wanted->span - 1) / wanted->span * wanted->span;
    if (wanted->first > wanted->last)
        wanted->first = wanted->last;
    if (wanted->last - wanted->first > room)
        wanted->last = wanted->first + room;
    wanted->next = next;
    wanted->cells = 0;
    memset(wanted->counts, 0, sizeof wanted->counts);
}

static bool makes_sense(const csched_state_map_t *wanted)
{
    uint32_t span = wanted->span;
    return span && !(span & (span - 1)) && span <= MOST_SPAN && wanted->first <= wanted->last;
}

CSCHED_EXPORT int csched_state_map(csched_t *s, csched_state_map_t *wanted, uint8_t *cells, uint32_t most)
{
    if (!makes_sense(wanted))
        return CSCHED_EINVAL;
    pthread_mutex_lock(&s->lock);
    look_at_workers(s);
    uint64_t next = s->state_map.next;
    clip(wanted, next > MAP_POSITIONS ? next - MAP_POSITIONS : 0, next, most);
    drawing_t drawing = {.map = &s->state_map, .wanted = wanted, .cells = cells};
    draw_in_steps(s, &drawing, (uint32_t)wanted->first, (uint32_t)(wanted->last - wanted->first));
    end_cell(&drawing);
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}

typedef struct {
    stretch_t *of;
    uint32_t count, room;
} stretches_t;

static int keep(stretches_t *found, stretch_t one)
{
    if (found->count == found->room) {
        uint32_t room = found->room ? 2 * found->room : 64;
        stretch_t *grown = realloc(found->of, room * sizeof *grown);
        if (!grown)
            return CSCHED_ENOMEM;
        found->of = grown;
        found->room = room;
    }
    found->of[found->count++] = one;
    return CSCHED_OK;
}

/* Collects the stretches of a run, the latest first, as far as they are known and needed from place `from` on. */
static int collect(csched_t *s, uint32_t run, uint64_t from, stretches_t *found)
{
    const state_map_t *map = &s->state_map;
    uint32_t number = map->runs[run].last;
    bool more = map->runs[run].tasks > 0;
    for (uint32_t n = 1; more && map->stretched - number - 1 < MAP_STRETCHES; n++) {
        stretch_t one = *state_map_stretch(map, number);
        uint32_t first = one.first;
        if (!state_map_still_there(map, &one.first, &one.count))
            return CSCHED_OK;
        one.place += one.first - first;
        if (keep(found, one) < 0)
            return CSCHED_ENOMEM;
        more = one.place > from && one.first == first;
        number = one.previous;
        if (n % (SLICE / STEP) == 0) {
            pthread_mutex_unlock(&s->lock);
            pthread_mutex_lock(&s->lock);
        }
    }
    return CSCHED_OK;
}

static void draw_stretches(csched_t *s, drawing_t *d, const stretches_t *found)
{
    const csched_state_map_t *wanted = d->wanted;
    for (uint32_t i = found->count; i-- > 0;) {
        const stretch_t *one = &found->of[i];
        uint64_t from = one->place, to = from + one->count;
        uint64_t first = from > wanted->first ? from : wanted->first, last = to < wanted->last ? to : wanted->last;
        if (first < last)
            draw_in_steps(s, d, one->first + (uint32_t)(first - from), (uint32_t)(last - first));
    }
    end_cell(d);
}

CSCHED_EXPORT int csched_state_map_of_run(csched_t *s, uint32_t run, csched_state_map_t *wanted, uint8_t *cells,
                                          uint32_t most)
{
    if (!makes_sense(wanted))
        return CSCHED_EINVAL;
    stretches_t found = {0};
    pthread_mutex_lock(&s->lock);
    int rc = run < s->state_map.run_count ? CSCHED_OK : CSCHED_EINVAL;
    if (!rc) {
        look_at_workers(s);
        uint64_t next = s->state_map.runs[run].tasks;
        rc = collect(s, run, wanted->first, &found);
        clip(wanted, found.count ? found.of[found.count - 1].place : next, next, most);
        drawing_t drawing = {.map = &s->state_map, .wanted = wanted, .cells = cells};
        if (!rc)
            draw_stretches(s, &drawing, &found);
    }
    pthread_mutex_unlock(&s->lock);
    free(found.of);
    return rc;
}

CSCHED_EXPORT uint64_t csched_state_map_position(csched_t *s, uint32_t run, uint64_t place)
{
    stretches_t found = {0};
    uint64_t position = UINT64_MAX;
    pthread_mutex_lock(&s->lock);
    if (run < s->state_map.run_count && !collect(s, run, place, &found) && found.count) {
        const stretch_t *one = &found.of[found.count - 1];
        if (place >= one->place && place < (uint64_t)one->place + one->count) {
            uint32_t first = one->first + (uint32_t)(place - one->place);
            position = s->state_map.next - (uint32_t)((uint32_t)s->state_map.next - first);
        }
    }
    pthread_mutex_unlock(&s->lock);
    free(found.of);
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
