/* What each worker did when, in at most SPANS_MOST spans whatever the load.  While there are few, each task is a span of
 * its own.  When there are more, neighbours on one worker that together last no longer than `threshold` become one; the
 * threshold doubles until enough have: so long tasks stay single, and short ones become slices of that length.
 * Its owner serialises the calls. */
#ifndef CSCHED_SPANS_H
#define CSCHED_SPANS_H

#include "csched.h"

enum { SPANS_MOST = 1000, SPAN_FUNCTIONS = 3 };

typedef struct {
    uint64_t start, end;
    uint64_t ticket; /* of its first task */
    uint64_t count, failed, cut, lost; /* lost: of the cut ones */
    uint64_t busy[SPAN_FUNCTIONS + 1]; /* ns in each of its functions, the last one in all others */
    uint32_t functions[SPAN_FUNCTIONS]; /* UINT32_MAX: none */
    uint32_t worker;
    uint64_t changed; /* number of the fold that touched it last */
} span_t;

typedef struct {
    span_t *of;
    uint32_t count;
    uint32_t generation; /* changes when spans are joined and their places change */
    uint64_t threshold;
    uint64_t fold;
    uint64_t forgotten; /* tasks of dropped spans: there are more workers than spans */
    uint32_t *last; /* the latest span of each worker, UINT32_MAX: none */
    uint32_t workers; /* highest worker with a span, plus one */
} spans_t;

typedef struct { /* one task, or an attempt of it */
    uint64_t start, end, ticket;
    uint32_t worker, function;
    uint32_t failed, cut, lost; /* 0 or 1 */
    uint64_t weight; /* number of tasks that it represents */
} piece_t;

int spans_open(spans_t *spans);
void spans_close(spans_t *spans);
void spans_clear(spans_t *spans);
void spans_add(spans_t *spans, const piece_t *piece);
void spans_coarsen(spans_t *spans, uint64_t threshold); /* raises the threshold to at least this */
csched_span_t span_public(const span_t *span, uint32_t place);
csched_span_t piece_public(const piece_t *piece);

#endif
