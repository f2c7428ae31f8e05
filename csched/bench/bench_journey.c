/* What does a row of the journey cost: written, resolved, and read? */
#include "bench.h"
#include "journey.h"

enum { ROWS = 262144, BATCH = 256 };

static uint64_t rows(uint64_t operations)
{
    static csched_journey_t out[BATCH];
    journey_t journey;
    uint64_t cursor = 0, dropped;
    must(journey_open(&journey, ROWS));
    uint64_t begin = csched_now();
    for (uint64_t i = 0; i < operations; i++) {
        journey_append(&journey)->ticket = i;
        journey_resolved(&journey, i, 1, i + 1);
        if (i % BATCH == BATCH - 1)
            must(journey_read(&journey, &cursor, BATCH, out, &dropped) == BATCH ? 0 : CSCHED_EINVAL);
    }
    uint64_t spent = csched_now() - begin;
    journey_close(&journey);
    return spent;
}

int main(void)
{
    bench("journey: write, resolve and read a row", 2000000, rows);
}
