/* What does a row cost that is folded for the views, and one that is passed over in a flood? */
#include "bench.h"
#include "internal.h"

enum { ROWS = 262144, FUNCTIONS = 3, WORKERS = 8 };

static csched_t *filled(void)
{
    csched_t *s;
    must(csched_create(&(csched_config_t){.arena_bytes = 1 << 20, .journey_rows = ROWS}, &s));
    return s;
}

static void fill(csched_t *s, uint64_t rows)
{
    static uint64_t now = 1000;
    for (uint64_t i = 0; i < rows; i++) {
        csched_journey_t *row = journey_append(&s->journey);
        *row = (csched_journey_t){.ticket = i, .function = 1 + i % FUNCTIONS, .worker = (uint16_t)(i % WORKERS)};
        now += 200;
        for (uint64_t k = 0; k < 8; k++)
            row->stamps[k] = now + k * (100 + i % 37);
    }
}

/* ns of folds that found so many rows each */
static uint64_t folds(uint64_t operations, uint64_t rows)
{
    csched_t *s = filled();
    csched_timeline_t *t;
    csched_timeline_state_t state;
    must(csched_timeline_open(&t));
    must(csched_timeline_begin(t, s, 1, CSCHED_EVERY_RUN));
    uint64_t spent = 0;
    for (uint64_t i = 0; i < operations; i += rows) {
        fill(s, rows);
        uint64_t begin = csched_now();
        must(csched_timeline_fold(t, s, &state));
        spent += csched_now() - begin;
    }
    must(csched_timeline_close(t));
    must(csched_destroy(s));
    return spent;
}

static uint64_t every_row(uint64_t operations)
{
    return folds(operations, 8192);
}

static uint64_t flood(uint64_t operations)
{
    return folds(operations, 200000);
}

int main(void)
{
    bench("timeline: fold a row", 8192 * 50, every_row);
    bench("timeline: a row of 1 M/s, folded or not", 200000 * 10, flood);
}
