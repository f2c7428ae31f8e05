/* Folds journeys for views: statistics of each interval by function, and spans of what the workers ran. A fold reads at
 * most ROWS_A_FOLD rows: of more, an even sample, each row with the weight of those skipped. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "histogram.h"
#include "internal.h"
#include "spans.h"

enum { ROWS_A_FOLD = 8192, ROWS_A_LOCK = 256, ROWS_A_LOOK = 2048, FUNCTIONS_MOST = 256, OTHERS = FUNCTIONS_MOST };
enum { SAMPLES_A_SPAN = 64 };
#define PATIENCE_NS UINT64_C(500000000) /* how long a row waits for its last stamp */

_Static_assert(sizeof(csched_span_t) == 64, "views read spans of 64 bytes");
_Static_assert(sizeof(csched_figures_t) == 464, "views read figures of 464 bytes");

typedef struct {
    uint32_t function, lost;
    uint64_t tasks, failed, cut;
    histogram_t of[CSCHED_INTERVALS];
} figures_t;

typedef struct {
    csched_journey_t row;
    uint32_t weight;
    bool more; /* whether the next row is of the same chunk */
} sample_t;

struct csched_timeline {
    uint64_t since;
    int64_t run;
    uint64_t cursor, written; /* next row to read; rows in all at the last fold */
    uint64_t random;
    uint64_t folded; /* time of the last fold */
    csched_timeline_state_t state;
    spans_t spans;
    figures_t *figures[FUNCTIONS_MOST + 1];
    uint32_t function_count;
    sample_t samples[ROWS_A_LOCK];
};

CSCHED_EXPORT int csched_timeline_open(csched_timeline_t **timeline)
{
    csched_timeline_t *t = calloc(1, sizeof *t);
    if (!t || spans_open(&t->spans) < 0) {
        free(t);
        return CSCHED_ENOMEM;
    }
    t->random = UINT64_C(0x9e3779b97f4a7c15);
    *timeline = t;
    return CSCHED_OK;
}

static void forget_figures(csched_timeline_t *t)
{
    for (uint32_t i = 0; i <= FUNCTIONS_MOST; i++)
        free(t->figures[i]);
    memset(t->figures, 0, sizeof t->figures);
    t->function_count = 0;
}

CSCHED_EXPORT int csched_timeline_close(csched_timeline_t *t)
{
    forget_figures(t);
    spans_close(&t->spans);
    free(t);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_timeline_begin(csched_timeline_t *t, csched_t *s, uint64_t since, int64_t run)
{
    forget_figures(t);
    spans_clear(&t->spans);
    t->state = (csched_timeline_state_t){.fold = t->state.fold};
    t->since = since;
    t->run = run;
    pthread_mutex_lock(&s->lock);
    /* existing rows are read completely, however many */
    uint64_t written = s->journey.written, capacity = s->journey.capacity;
    pthread_mutex_unlock(&s->lock);
    t->cursor = written > capacity ? written - capacity : 0;
    t->written = written;
    return CSCHED_OK;
}

static figures_t *figures_of(csched_timeline_t *t, uint32_t function)
{
    uint32_t i = 0;
    while (i < t->function_count && t->figures[i]->function != function)
        i++;
    if (i == FUNCTIONS_MOST) {
        i = OTHERS;
        function = UINT32_MAX;
    }
    if (!t->figures[i]) {
        figures_t *made = calloc(1, sizeof *made);
        if (!made)
            return NULL;
        made->function = function;
        t->figures[i] = made;
        t->function_count += i < FUNCTIONS_MOST;
    }
    return t->figures[i];
}

static void add(figures_t *figures, uint32_t interval, uint64_t from, uint64_t to, uint64_t weight)
{
    if (from && to >= from)
        histogram_add(&figures->of[interval], to - from, weight);
}

/* Elements of a chunk wait for each other: only the time before the first start is unpacking, and only that after the
 * last end is packing. */
static void add_intervals(figures_t *figures, const sample_t *sample)
{
    const csched_journey_t *row = &sample->row;
    const uint64_t *at = row->stamps;
    for (uint32_t i = 0; i < 3; i++)
        add(figures, i, at[i], at[i + 1], sample->weight);
    add(figures, 4, at[4], at[5], sample->weight);
    add(figures, 6, at[6], at[7], sample->weight);
    if (row->element == 0)
        add(figures, 3, at[3], at[4], sample->weight);
    if (!sample->more)
        add(figures, 5, at[5], at[6], sample->weight);
    if ((row->element || sample->more) && at[4] && at[6]) {
        uint64_t before = row->element && at[4] > at[3] ? at[4] - at[3] : 0;
        uint64_t after = sample->more && at[6] > at[5] ? at[6] - at[5] : 0;
        histogram_add(&figures->of[CSCHED_BESIDE], before + after, sample->weight);
    }
    if (row->element == 0) /* a chunk is pickled once: counted with its first element */
        histogram_add(&figures->of[CSCHED_PICKLE], row->pack_ns, sample->weight);
}

static bool failed(const csched_journey_t *row)
{
    return row->status == CSCHED_ERROR || row->status == CSCHED_TIMEOUT || row->status == CSCHED_RETRIED ||
           row->status == CSCHED_NOROOM || row->status == CSCHED_DEPENDENCY;
}

static bool cut(const csched_journey_t *row)
{
    return row->status == CSCHED_LOST || row->status == CSCHED_CANCELLED;
}

/* Makes a span's piece from a row; false: the task did not run. */
static bool piece_of(const csched_journey_t *row, uint64_t weight, piece_t *piece)
{
    uint64_t start = row->stamps[4] ? row->stamps[4] : row->stamps[3];
    uint64_t end = row->stamps[5] ? row->stamps[5] : row->stamps[6] ? row->stamps[6] : row->stamps[7];
    if (!start || !end || row->worker == NO_WORKER)
        return false;
    *piece = (piece_t){.start = start,
                       .end = end,
                       .ticket = row->ticket,
                       .worker = row->worker,
                       .function = row->function,
                       .failed = failed(row),
                       .cut = cut(row),
                       .lost = row->status == CSCHED_LOST,
                       .weight = weight};
    return true;
}

static void fold_one(csched_timeline_t *t, const sample_t *sample)
{
    const csched_journey_t *row = &sample->row;
    piece_t piece;
    if (row->stamps[0] < t->since || (t->run != CSCHED_EVERY_RUN && row->run != t->run))
        return; /* of other work */
    t->state.tasks += sample->weight;
    t->state.sampled += sample->weight - 1;
    figures_t *figures = figures_of(t, row->function);
    if (figures) {
        uint64_t last = row->status == CSCHED_RETRIED ? 0 : sample->weight; /* an attempt before is no task */
        figures->tasks += last;
        figures->failed += failed(row) ? last : 0;
        figures->cut += cut(row) ? sample->weight : 0;
        figures->lost += row->status == CSCHED_LOST ? sample->weight : 0;
        add_intervals(figures, sample);
    }
    if (piece_of(row, sample->weight, &piece))
        spans_add(&t->spans, &piece);
}

static uint32_t next_step(csched_timeline_t *t, uint32_t stride)
{
    if (stride <= 1)
        return 1;
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return 1 + (uint32_t)(t->random % (2 * stride - 1));
}

static bool of_one_chunk(const csched_journey_t *row, const csched_journey_t *next)
{
    return next->ticket == row->ticket && next->element == row->element + 1;
}

/* Under the lock: reads the next rows, every `stride`-th on average; fewer than asked for: there are no more yet. Steps
 * have random lengths, since equal ones could hit the same worker, or the same place in a chunk, each time. */
static uint32_t read_some(csched_timeline_t *t, const csched_t *s, uint32_t stride, uint64_t now)
{
    const journey_t *journey = &s->journey;
    uint32_t n = 0;
    while (n < ROWS_A_LOCK) {
        uint32_t step = next_step(t, stride);
        uint64_t number = t->cursor + step - 1;
        if (number >= journey->written)
            break;
        const csched_journey_t *row = journey_row(journey, number);
        uint64_t latest = row->stamps[6] ? row->stamps[6] : row->stamps[0];
        if (!row->stamps[7] && now - latest < PATIENCE_NS)
            break; /* its result has not been collected yet */
        bool last = number + 1 == journey->written;
        t->samples[n++] = (sample_t){
            .row = *row, .weight = step, .more = !last && of_one_chunk(row, journey_row(journey, number + 1))};
        t->cursor = number + 1;
    }
    return n;
}

/* Under the lock: reads every row, over several folds if need be, as long as rows are read faster than they come. */
static uint32_t choose_stride(csched_timeline_t *t, const csched_t *s)
{
    const journey_t *journey = &s->journey;
    uint64_t fresh = journey->written - t->written, there = journey->written - t->cursor;
    t->written = journey->written;
    if (fresh <= ROWS_A_FOLD && (!fresh || there <= journey->capacity / 2))
        return 1;
    there = there < journey->capacity ? there : journey->capacity;
    return (uint32_t)((there + ROWS_A_FOLD - 1) / ROWS_A_FOLD);
}

static void skip_overwritten(csched_timeline_t *t, const csched_t *s)
{
    const journey_t *journey = &s->journey;
    uint64_t oldest = journey->written > journey->capacity ? journey->written - journey->capacity : 0;
    if (t->cursor >= oldest)
        return;
    t->state.dropped += oldest - t->cursor;
    t->cursor = oldest;
}

/* Coarsens the spans so that each is likely to contain rows of the sample. */
static void make_room_for_samples(csched_timeline_t *t, uint64_t now, uint32_t workers)
{
    uint64_t covered = t->folded ? now - t->folded : 0;
    spans_coarsen(&t->spans, covered / ROWS_A_FOLD * SAMPLES_A_SPAN * (workers ? workers : 1));
}

CSCHED_EXPORT int csched_timeline_fold(csched_timeline_t *t, csched_t *s, csched_timeline_state_t *state)
{
    uint64_t now = csched_now();
    csched_stats_t stats;
    csched_stats(s, &stats);
    t->spans.fold = ++t->state.fold;
    pthread_mutex_lock(&s->lock);
    uint32_t stride = choose_stride(t, s);
    pthread_mutex_unlock(&s->lock);
    if (stride > 1)
        make_room_for_samples(t, now, stats.ready_workers);
    uint32_t rows = 0, n = ROWS_A_LOCK;
    while (n == ROWS_A_LOCK && rows < ROWS_A_FOLD) {
        pthread_mutex_lock(&s->lock);
        skip_overwritten(t, s);
        n = read_some(t, s, stride, now);
        pthread_mutex_unlock(&s->lock);
        for (uint32_t i = 0; i < n; i++)
            fold_one(t, &t->samples[i]);
        rows += n;
    }
    t->folded = t->state.now = now;
    t->state.behind = n == ROWS_A_LOCK && stride == 1;
    t->state.forgotten = t->spans.forgotten;
    t->state.threshold = t->spans.threshold;
    t->state.generation = t->spans.generation;
    t->state.spans = t->spans.count;
    t->state.functions = t->function_count + (t->figures[OTHERS] != NULL);
    *state = t->state;
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_timeline_spans(const csched_timeline_t *t, uint64_t after, uint32_t most, csched_span_t *spans)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->spans.count && n < most; i++)
        if (after == UINT64_MAX || t->spans.of[i].changed > after)
            spans[n++] = span_public(&t->spans.of[i], i);
    return (int)n;
}

CSCHED_EXPORT int csched_timeline_figures(const csched_timeline_t *t, uint32_t most, csched_figures_t *figures)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i <= FUNCTIONS_MOST && n < most; i++) {
        const figures_t *from = t->figures[i];
        if (!from)
            continue;
        csched_figures_t *to = &figures[n++];
        *to = (csched_figures_t){.function = from->function,
                                 .lost = from->lost,
                                 .tasks = from->tasks,
                                 .failed = from->failed,
                                 .cut = from->cut};
        for (uint32_t k = 0; k < CSCHED_INTERVALS; k++) {
            const histogram_t *of = &from->of[k];
            to->of[k] = (csched_figure_t){.count = of->count,
                                          .sum = of->sum,
                                          .median = histogram_quantile(of, 500),
                                          .p95 = histogram_quantile(of, 950),
                                          .p99 = histogram_quantile(of, 990),
                                          .largest = of->largest};
        }
    }
    return (int)n;
}

static const histogram_t *histogram_of(const csched_timeline_t *t, uint32_t function, uint32_t interval)
{
    for (uint32_t i = 0; i <= FUNCTIONS_MOST && interval < CSCHED_INTERVALS; i++)
        if (t->figures[i] && t->figures[i]->function == function)
            return &t->figures[i]->of[interval];
    return NULL;
}

CSCHED_EXPORT int csched_timeline_histogram(const csched_timeline_t *t, uint32_t function, uint32_t interval,
                                            uint32_t most, uint64_t *edges, uint64_t *counts)
{
    const histogram_t *of = histogram_of(t, function, interval);
    if (!of || !of->count || !most)
        return 0;
    uint32_t first = 0, last = HISTOGRAM_STEPS - 1, width = 1; /* of a bar, in steps */
    while (!of->steps[first])
        first++;
    while (!of->steps[last])
        last--;
    while (last / width - first / width + 1 > most)
        width *= 2;
    uint32_t bars = last / width - first / width + 1;
    memset(counts, 0, bars * sizeof *counts);
    for (uint32_t step = first; step <= last; step++)
        counts[step / width - first / width] += of->steps[step];
    for (uint32_t i = 0; i <= bars; i++)
        edges[i] = histogram_start((first / width + i) * width);
    return (int)bars;
}

CSCHED_EXPORT int csched_timeline_running(csched_t *s, int64_t run, uint32_t most, csched_span_t *spans)
{
    csched_worker_info_t info;
    uint32_t n = 0;
    for (uint32_t i = 0; n < most && csched_worker_info(s, i, &info) == CSCHED_OK; i++) {
        if (!info.ticket || !info.since || !csched_task_state(s, info.ticket))
            continue; /* no task, or it has just ended */
        if (run != CSCHED_EVERY_RUN && run != info.run)
            continue;
        piece_t piece = {.start = info.since,
                         .end = csched_now(),
                         .ticket = info.ticket,
                         .worker = i,
                         .function = info.function,
                         .weight = 1};
        spans[n] = piece_public(&piece);
        spans[n++].running = 1;
    }
    return (int)n;
}

typedef struct {
    int64_t run;
    uint64_t from, to;
    uint64_t stride; /* 0: only count */
    uint64_t found;
    uint32_t most, count;
    csched_span_t *spans;
} window_t;

static void look(window_t *window, const csched_journey_t *row)
{
    piece_t piece;
    uint64_t stride = window->stride;
    if (window->run != CSCHED_EVERY_RUN && window->run != row->run)
        return;
    if (!piece_of(row, 1, &piece) || piece.start > window->to || piece.end < window->from)
        return;
    if (stride && window->found % stride == 0 && window->count < window->most)
        window->spans[window->count++] = piece_public(&piece);
    window->found++;
}

static void look_at_all(csched_t *s, window_t *window)
{
    const journey_t *journey = &s->journey;
    uint64_t number = 0, end = UINT64_MAX;
    while (number < end) {
        pthread_mutex_lock(&s->lock);
        uint64_t written = journey->written;
        end = end < written ? end : written; /* rows added meanwhile are left out */
        if (written > journey->capacity && number < written - journey->capacity)
            number = written - journey->capacity;
        for (uint32_t i = 0; i < ROWS_A_LOOK && number < end; i++)
            look(window, journey_row(journey, number++));
        pthread_mutex_unlock(&s->lock);
    }
}

CSCHED_EXPORT int csched_timeline_window(csched_t *s, int64_t run, uint64_t from, uint64_t to, uint32_t most,
                                         csched_span_t *spans, uint64_t *found)
{
    window_t window = {.run = run, .from = from, .to = to, .most = most, .spans = spans};
    *found = 0;
    if (!most || from > to)
        return CSCHED_EINVAL;
    look_at_all(s, &window);
    uint64_t stride = (window.found + most - 1) / most;
    window.found = 0;
    window.stride = stride ? stride : 1;
    look_at_all(s, &window);
    *found = window.found;
    return (int)window.count;
}
