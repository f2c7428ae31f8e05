#include "spans.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

enum { FIRST_THRESHOLD = 1024, FEWER = SPANS_MOST * 5 / 8, DOUBLINGS = 50 };

int spans_open(spans_t *spans)
{
    *spans = (spans_t){.of = malloc((SPANS_MOST + 1) * sizeof *spans->of),
                       .last = malloc((NO_WORKER + 1u) * sizeof *spans->last)};
    if (spans->of && spans->last) {
        memset(spans->last, 0xff, (NO_WORKER + 1u) * sizeof *spans->last);
        return CSCHED_OK;
    }
    spans_close(spans);
    return CSCHED_ENOMEM;
}

void spans_close(spans_t *spans)
{
    free(spans->of);
    free(spans->last);
    *spans = (spans_t){0};
}

static void forget_last(spans_t *spans)
{
    memset(spans->last, 0xff, spans->workers * sizeof *spans->last);
    spans->workers = 0;
}

void spans_clear(spans_t *spans)
{
    forget_last(spans);
    spans->count = 0;
    spans->generation++;
    spans->threshold = spans->forgotten = 0;
}

static void set_last(spans_t *spans, uint32_t place)
{
    uint32_t worker = spans->of[place].worker;
    spans->last[worker] = place;
    if (worker >= spans->workers)
        spans->workers = worker + 1;
}

/* Adds time in one function: the largest SPAN_FUNCTIONS are kept apart, the others summed. */
static void add_busy(span_t *span, uint32_t function, uint64_t ns)
{
    uint32_t least = 0;
    for (uint32_t i = 0; i < SPAN_FUNCTIONS; i++) {
        if (span->functions[i] == function || span->functions[i] == UINT32_MAX) {
            span->functions[i] = function;
            span->busy[i] += ns;
            return;
        }
        if (span->busy[i] < span->busy[least])
            least = i;
    }
    if (ns > span->busy[least]) {
        span->busy[SPAN_FUNCTIONS] += span->busy[least];
        span->functions[least] = function;
        span->busy[least] = ns;
    } else {
        span->busy[SPAN_FUNCTIONS] += ns;
    }
}

static bool fits(const spans_t *spans, const span_t *span, uint64_t start, uint64_t end)
{
    uint64_t from = start < span->start ? start : span->start, to = end > span->end ? end : span->end;
    return spans->threshold && to - from <= spans->threshold;
}

static void absorb(span_t *span, const span_t *other)
{
    span->start = other->start < span->start ? other->start : span->start;
    span->end = other->end > span->end ? other->end : span->end;
    span->count += other->count;
    span->failed += other->failed;
    span->cut += other->cut;
    span->lost += other->lost;
    for (uint32_t i = 0; i < SPAN_FUNCTIONS; i++)
        if (other->functions[i] != UINT32_MAX)
            add_busy(span, other->functions[i], other->busy[i]);
    span->busy[SPAN_FUNCTIONS] += other->busy[SPAN_FUNCTIONS];
}

static void join(spans_t *spans)
{
    uint32_t kept = 0;
    forget_last(spans);
    for (uint32_t i = 0; i < spans->count; i++) {
        const span_t *span = &spans->of[i];
        uint32_t last = spans->last[span->worker];
        if (last != UINT32_MAX && fits(spans, &spans->of[last], span->start, span->end)) {
            absorb(&spans->of[last], span);
            continue;
        }
        spans->of[kept] = *span;
        set_last(spans, kept++);
    }
    spans->generation += kept != spans->count;
    spans->count = kept;
}

void spans_coarsen(spans_t *spans, uint64_t threshold)
{
    if (threshold <= spans->threshold)
        return;
    spans->threshold = threshold;
    join(spans);
}

/* Drops the oldest spans, when there are so many workers that joining does not suffice. */
static void drop_oldest(spans_t *spans)
{
    uint32_t gone = spans->count - FEWER;
    for (uint32_t i = 0; i < gone; i++)
        spans->forgotten += spans->of[i].count;
    memmove(spans->of, spans->of + gone, FEWER * sizeof *spans->of);
    spans->count = FEWER;
    spans->generation++;
    forget_last(spans);
    for (uint32_t i = 0; i < FEWER; i++)
        set_last(spans, i);
}

static void make_fewer(spans_t *spans)
{
    for (int i = 0; i < DOUBLINGS && spans->count > FEWER; i++) {
        spans->threshold = spans->threshold ? 2 * spans->threshold : FIRST_THRESHOLD;
        join(spans);
    }
    if (spans->count > FEWER)
        drop_oldest(spans);
}

static void touch(spans_t *spans, span_t *span, const piece_t *piece)
{
    uint64_t begin = piece->start > span->end ? piece->start : span->end; /* elements of a chunk may share stamps */
    if (piece->end > begin)
        add_busy(span, piece->function, (piece->end - begin) * piece->weight);
    span->start = piece->start < span->start ? piece->start : span->start;
    span->end = piece->end > span->end ? piece->end : span->end;
    span->count += piece->weight;
    span->failed += piece->failed * piece->weight;
    span->cut += piece->cut * piece->weight;
    span->lost += piece->lost * piece->weight;
    span->changed = spans->fold;
}

void spans_add(spans_t *spans, const piece_t *piece)
{
    uint32_t last = spans->last[piece->worker];
    if (last != UINT32_MAX) {
        span_t *span = &spans->of[last];
        /* elements of a chunk with the same stamps: one span */
        bool same = piece->ticket == span->ticket && piece->start == span->start && piece->end == span->end;
        if (same || fits(spans, span, piece->start, piece->end)) {
            touch(spans, span, piece);
            return;
        }
    }
    span_t *span = &spans->of[spans->count];
    uint64_t length = piece->end > piece->start ? piece->end - piece->start : 0;
    bool single = length > spans->threshold; /* shown as one task, whatever its weight */
    uint64_t weight = single ? 1 : piece->weight;
    *span = (span_t){.start = piece->start,
                     .end = piece->start + length,
                     .ticket = piece->ticket,
                     .count = weight,
                     .failed = piece->failed * weight,
                     .cut = piece->cut * weight,
                     .lost = piece->lost * weight,
                     .busy = {length * weight},
                     .functions = {piece->function, UINT32_MAX, UINT32_MAX},
                     .worker = piece->worker,
                     .changed = spans->fold};
    set_last(spans, spans->count++);
    if (spans->count > SPANS_MOST)
        make_fewer(spans);
}

static uint32_t clip(uint64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* Shares in 255ths of its length; estimates are scaled down to at most all of it. */
csched_span_t span_public(const span_t *span, uint32_t place)
{
    csched_span_t out = {.start = span->start,
                         .end = span->end,
                         .ticket = span->ticket,
                         .count = clip(span->count),
                         .failed = clip(span->failed),
                         .cut = clip(span->cut),
                         .lost = clip(span->lost),
                         .worker = (uint16_t)span->worker,
                         .place = place};
    double busy = 0, length = (double)(span->end - span->start);
    for (uint32_t i = 0; i <= SPAN_FUNCTIONS; i++)
        busy += (double)span->busy[i];
    double whole = busy > length ? busy : length;
    for (uint32_t i = 0; i <= SPAN_FUNCTIONS; i++)
        out.shares[i] = whole > 0 ? (uint8_t)(255 * (double)span->busy[i] / whole) : i ? 0 : 255;
    memcpy(out.functions, span->functions, sizeof out.functions);
    return out;
}

csched_span_t piece_public(const piece_t *piece)
{
    return (csched_span_t){.start = piece->start,
                           .end = piece->end > piece->start ? piece->end : piece->start,
                           .ticket = piece->ticket,
                           .count = clip(piece->weight),
                           .failed = clip(piece->failed * piece->weight),
                           .cut = clip(piece->cut * piece->weight),
                           .lost = clip(piece->lost * piece->weight),
                           .worker = (uint16_t)piece->worker,
                           .functions = {piece->function, UINT32_MAX, UINT32_MAX},
                           .shares = {255}};
}
