/* Finding tasks: the best rows of the journey ring and of the records of unfinished tasks, in one scan.
 *
 * The lock is held for some thousand rows at a time.  Records come first: a task that ends meanwhile may be seen twice,
 * never missed, and its journey row counts. */
#include <stdlib.h>
#include <string.h>

#include "blob.h"
#include "internal.h"
#include "segment.h"

enum { ROWS_AT_A_TIME = 4096, SLOTS_AT_A_TIME = 4096, MOST_ROWS = 4096, MOST_OFFSET = 100000 };

typedef struct {
    const csched_query_t *query;
    csched_row_t *rows; /* a heap with the worst on top; sorted at the end */
    uint32_t *heap;
    uint32_t most, count;
    uint64_t matched, now;
} search_t;

/* -- order */

static uint64_t last_news(const csched_journey_t *row)
{
    uint64_t latest = 0;
    for (int i = 0; i < CSCHED_STAGES; i++)
        latest = row->stamps[i] > latest ? row->stamps[i] : latest;
    return latest;
}

static uint64_t span(uint64_t from, uint64_t to)
{
    return from && to > from ? to - from : 0;
}

static uint64_t key_of(const search_t *search, const csched_journey_t *row, uint32_t kind)
{
    const uint64_t *stamps = row->stamps;
    bool runs = kind & (CSCHED_IS_RUNNING | CSCHED_IS_STOPPING), waits = kind & (CSCHED_IS_QUEUED | CSCHED_IS_SENT);
    switch (search->query->order) {
    case CSCHED_BY_NEWEST:
        return stamps[0];
    case CSCHED_BY_OLDEST:
        return UINT64_MAX - stamps[0];
    case CSCHED_BY_RUN:
        return runs ? span(stamps[3], search->now) : span(stamps[4], stamps[5]);
    case CSCHED_BY_QUEUE:
        return span(stamps[1], waits ? search->now : stamps[3]);
    case CSCHED_BY_ATTEMPTS:
        return row->attempt;
    default:
        return last_news(row);
    }
}

/* Orders equal keys by later task, then by earlier element; the other way round for the oldest first. */
static bool better(const search_t *search, const csched_row_t *a, const csched_row_t *b)
{
    if (a->key != b->key)
        return a->key > b->key;
    uint32_t one = (uint32_t)(a->journey.ticket >> 32), other = (uint32_t)(b->journey.ticket >> 32);
    if (one != other)
        return ((int32_t)(one - other) > 0) != (search->query->order == CSCHED_BY_OLDEST);
    if (a->journey.element != b->journey.element)
        return a->journey.element < b->journey.element;
    return a->journey.attempt > b->journey.attempt;
}

static bool worse_at(const search_t *search, uint32_t a, uint32_t b)
{
    return better(search, &search->rows[search->heap[b]], &search->rows[search->heap[a]]);
}

static void swap(search_t *search, uint32_t a, uint32_t b)
{
    uint32_t row = search->heap[a];
    search->heap[a] = search->heap[b];
    search->heap[b] = row;
}

static void sink(search_t *search, uint32_t place)
{
    for (uint32_t below; (below = 2 * place + 1) < search->count; place = below) {
        if (below + 1 < search->count && worse_at(search, below + 1, below))
            below++;
        if (!worse_at(search, below, place))
            return;
        swap(search, below, place);
    }
}

static void rise(search_t *search, uint32_t place)
{
    for (; place && worse_at(search, place, (place - 1) / 2); place = (place - 1) / 2)
        swap(search, place, (place - 1) / 2);
}

/* Distance of the wanted position from a row's first: 0 for its own; UINT32_MAX if it is not in the row. A task that
 * never ran has one row for all its elements. */
static uint32_t behind(const csched_query_t *query, const csched_row_t *row)
{
    uint32_t far = (uint32_t)query->position - row->journey.position;
    if (far >= row->count)
        return UINT32_MAX;
    return row->kind < CSCHED_IS_DONE ? 0 : far;
}

static void keep(search_t *search, csched_row_t *row)
{
    if (search->query->by_position) {
        uint32_t far = behind(search->query, row);
        if (far == UINT32_MAX)
            return;
        row->key = UINT32_MAX - far;
    }
    search->matched += row->count;
    if (search->count < search->most) {
        search->heap[search->count] = search->count;
        search->rows[search->count++] = *row;
        rise(search, search->count - 1);
    } else if (search->most && better(search, row, &search->rows[search->heap[0]])) {
        search->rows[search->heap[0]] = *row;
        sink(search, 0);
    }
}

/* -- conditions */

/* The place of the first named task that does not come before this one. */
static uint32_t named_from(const csched_query_t *query, uint64_t ticket, uint32_t element)
{
    uint32_t low = 0, high = query->ticket_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint64_t named = query->tickets[middle];
        if (named < ticket || (named == ticket && query->elements && query->elements[middle] < element))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether so many elements from this one on have one that is named. */
static bool ticket_wanted(const csched_query_t *query, uint64_t ticket, uint32_t element, uint32_t count)
{
    uint64_t names[2] = {ticket, ticket >> 32};
    for (int i = 0; i < 2; i++) {
        uint32_t place = named_from(query, names[i], element);
        if (place < query->ticket_count && query->tickets[place] == names[i] &&
            (!query->elements || query->elements[place] - element < count))
            return true;
    }
    return false;
}

/* Whether a row of an attempt or a record fulfils the conditions; its element and count are those of the elements that
 * it stands for. */
static bool wanted(const csched_query_t *query, uint32_t kind, const csched_journey_t *row, uint32_t element,
                   uint32_t count)
{
    if (!(query->kinds & kind) || (query->by_run && query->run != row->run))
        return false;
    if (!query->by_text)
        return true;
    uint32_t function = row->function;
    if (function / 64 < query->function_words && query->functions[function / 64] >> function % 64 & 1)
        return true;
    return ticket_wanted(query, row->ticket, element, count);
}

static uint32_t kind_of_status(uint32_t status)
{
    static const uint32_t kinds[] = {CSCHED_IS_DONE,   CSCHED_IS_DONE,      CSCHED_IS_FAILED,
                                     CSCHED_IS_LOST,   CSCHED_IS_CANCELLED, CSCHED_IS_NOT_RUN,
                                     CSCHED_IS_FAILED, CSCHED_IS_FAILED,    CSCHED_IS_RETRIED};
    return status < sizeof kinds / sizeof *kinds ? kinds[status] : CSCHED_IS_FAILED;
}

static bool runs_now(const csched_t *s, const task_t *task)
{
    const segment_t *segment = s->workers[task->worker]->segment;
    return segment && u64_acquire(&segment->claim_ticket) == task->ticket; /* partner: claim in worker.c */
}

static uint32_t kind_of_record(const csched_t *s, const task_t *task)
{
    switch (task->state) {
    case TASK_WAITING:
        return CSCHED_IS_WAITING;
    case TASK_DELAYED:
        return CSCHED_IS_DELAYED;
    case TASK_QUEUED:
        return graph_parked(&s->graph, task) ? CSCHED_IS_DELAYED : CSCHED_IS_QUEUED;
    case TASK_SENT:
        if (!runs_now(s, task))
            return CSCHED_IS_SENT;
        return task->flags & FLAG_STOPPING ? CSCHED_IS_STOPPING : CSCHED_IS_RUNNING;
    case TASK_DONE: /* finished otherwise: it has journey rows */
        return task->row == NO_ROW ? kind_of_status(task->status) : 0;
    default:
        return 0;
    }
}

/* -- records */

static csched_row_t row_of_record(const csched_t *s, const task_t *task, uint32_t kind)
{
    csched_row_t row = {.journey = {.ticket = task->ticket,
                                    .run = task->run,
                                    .function = task->function,
                                    .element = UINT32_MAX,
                                    .worker = NO_WORKER,
                                    .status = task->status,
                                    .attempt = task->attempt,
                                    .stamps = {task->submitted},
                                    .pack_ns = task->pack_ns,
                                    .position = task->first},
                        .kind = kind,
                        .count = task->count,
                        .priority = (int32_t)task->priority + PRIORITY_MIN};
    if (task->state == TASK_QUEUED || task->state == TASK_SENT)
        row.journey.stamps[1] = task->ready;
    if (task->state == TASK_SENT) {
        row.journey.stamps[2] = task->dispatched;
        row.journey.worker = task->worker;
    }
    if (kind & (CSCHED_IS_RUNNING | CSCHED_IS_STOPPING)) {
        const segment_t *segment = s->workers[task->worker]->segment;
        row.journey.stamps[3] = u64_relaxed(&segment->claim_since);
        row.journey.element = task->count > 1 ? u32_relaxed(&segment->claim_element) : 0;
    }
    return row;
}

static void search_records(csched_t *s, search_t *search)
{
    uint32_t slot = 0;
    bool more = true;
    while (more) {
        pthread_mutex_lock(&s->lock);
        uint32_t end = slot + SLOTS_AT_A_TIME < s->graph.capacity ? slot + SLOTS_AT_A_TIME : s->graph.capacity;
        for (; slot < end; slot++) {
            const task_t *task = task_at(s, slot);
            if (task->state == TASK_FREE)
                continue;
            uint32_t kind = kind_of_record(s, task);
            const csched_journey_t asked = {.ticket = task->ticket, .run = task->run, .function = task->function};
            if (!wanted(search->query, kind, &asked, 0, task->count))
                continue;
            csched_row_t row = row_of_record(s, task, kind);
            row.key = key_of(search, &row.journey, kind);
            keep(search, &row);
        }
        more = slot < s->graph.capacity;
        pthread_mutex_unlock(&s->lock);
    }
}

/* -- the journey ring */

static void look_at_row(search_t *search, const journey_t *rows, uint64_t number)
{
    const csched_journey_t *journey = journey_row(rows, number);
    uint32_t kind = kind_of_status(journey->status);
    bool unrun = kind & (CSCHED_IS_CANCELLED | CSCHED_IS_NOT_RUN);
    uint32_t count = unrun ? journey_count(rows, number) : 1;
    if (!wanted(search->query, kind, journey, journey->element, count))
        return;
    csched_row_t row = {.kind = kind, .count = count, .key = key_of(search, journey, kind)};
    memcpy(&row.journey, journey, sizeof *journey);
    keep(search, &row);
}

/* Scans from the newest row back, or from the oldest on, so that the best come early. */
static void search_journeys(csched_t *s, search_t *search)
{
    bool forward = search->query->order == CSCHED_BY_OLDEST, more = true, begun = false;
    uint64_t at = 0, end = 0;
    while (more) {
        pthread_mutex_lock(&s->lock);
        const journey_t *journey = &s->journey;
        uint64_t oldest = journey->written > journey->capacity ? journey->written - journey->capacity : 0;
        if (!begun) {
            at = forward ? oldest : journey->written;
            end = journey->written;
            begun = true;
        }
        at = at < oldest ? oldest : at;
        for (uint32_t n = 0; n < ROWS_AT_A_TIME && (more = forward ? at < end : at > oldest); n++)
            look_at_row(search, journey, forward ? at++ : --at);
        pthread_mutex_unlock(&s->lock);
    }
}

/* -- the whole */

static uint32_t sorted(search_t *search, csched_row_t *out)
{
    uint32_t offset = search->query->offset, count = search->count > offset ? search->count - offset : 0;
    for (uint32_t i = count; i-- > 0;) { /* moves the worst to the end */
        out[i] = search->rows[search->heap[0]];
        search->heap[0] = search->heap[--search->count];
        sink(search, 0);
    }
    return count;
}

/* Drops the record of a task that ended during the scan and has a row, too. */
static uint32_t without_doubles(csched_row_t *rows, uint32_t count)
{
    const uint32_t live = CSCHED_IS_DONE - 1;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool twice = false;
        for (uint32_t j = 0; rows[i].kind & live && !twice && j < count; j++)
            twice = !(rows[j].kind & (live | CSCHED_IS_RETRIED)) && rows[j].journey.ticket == rows[i].journey.ticket;
        if (!twice)
            rows[kept++] = rows[i];
    }
    return kept;
}

/* Whether a row that stands for a whole chunk tells the state of this position: of a chunk that was interrupted some
 * elements had ended before. */
static bool tells_state(csched_t *s, const csched_row_t *row, uint32_t position)
{
    pthread_mutex_lock(&s->lock);
    const state_map_t *map = &s->state_map;
    uint8_t state = map->of[position & (MAP_POSITIONS - 1)];
    bool there = (uint32_t)map->next - position - 1 < MAP_POSITIONS;
    pthread_mutex_unlock(&s->lock);
    return there && state == (row->kind & CSCHED_IS_CANCELLED ? CSCHED_MAP_CANCELLED : CSCHED_MAP_FAILED);
}

/* Of rows by position: keeps the nearest ones, if they tell of it. */
static uint32_t nearest(csched_t *s, const search_t *search, const csched_row_t *rows, uint32_t count)
{
    uint32_t kept = 0;
    while (kept < count && rows[kept].key == rows[0].key)
        kept++;
    if (kept && rows[0].kind >= CSCHED_IS_DONE && rows[0].count > 1 &&
        !tells_state(s, &rows[0], (uint32_t)search->query->position))
        return 0;
    return kept;
}

CSCHED_EXPORT int csched_find(csched_t *s, const csched_query_t *query, uint32_t most, csched_row_t *rows)
{
    if (most > MOST_ROWS || query->offset > MOST_OFFSET || query->order > CSCHED_BY_ATTEMPTS)
        return CSCHED_EINVAL;
    search_t search = {.query = query, .most = query->offset + most, .now = csched_now()};
    search.rows = malloc((search.most + 1) * sizeof *search.rows);
    search.heap = malloc((search.most + 1) * sizeof *search.heap);
    int rc = CSCHED_ENOMEM;
    if (search.rows && search.heap) {
        search_records(s, &search);
        search_journeys(s, &search);
        rc = (int)without_doubles(rows, sorted(&search, rows));
        if (query->by_position)
            rc = (int)nearest(s, &search, rows, (uint32_t)rc);
        if (most)
            rows[0].matched = search.matched;
    }
    free(search.rows);
    free(search.heap);
    return rc;
}

CSCHED_EXPORT int csched_ended(csched_t *s, uint32_t slot, csched_ended_t *ended)
{
    pthread_mutex_lock(&s->lock);
    const task_t *task = slot < s->graph.capacity ? task_at(s, slot) : NULL;
    int rc = task && task->state != TASK_FREE ? CSCHED_OK : CSCHED_EINVAL;
    if (!rc) {
        bool failed = task->state == TASK_DONE && task->payload;
        *ended = (csched_ended_t){.ticket = task->ticket,
                                  .address = failed ? (uint64_t)(uintptr_t)blob_data(s, task->payload) : 0,
                                  .size = failed ? task->payload->size : 0,
                                  .run = task->run,
                                  .function = task->function,
                                  .worker = task->worker,
                                  .attempt = task->attempt};
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int64_t csched_payload(csched_t *s, uint64_t ticket, void *data, uint64_t room)
{
    pthread_mutex_lock(&s->lock);
    const task_t *task = graph_find(&s->graph, ticket);
    int64_t size = !task || (task->state == TASK_DONE && !task->payload) ? CSCHED_EINVAL : 0;
    if (!size && task->payload)
        size = (int64_t)task->payload->size;
    if (size > 0 && (uint64_t)size <= room)
        memcpy(data, blob_data(s, task->payload), (size_t)size);
    pthread_mutex_unlock(&s->lock);
    return size;
}
