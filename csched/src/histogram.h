/* Counts of durations in steps of an eighth of an octave: quantiles within a few percent, in a fixed 3 KB.  Its owner
 * serialises the calls. */
#ifndef CSCHED_HISTOGRAM_H
#define CSCHED_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BITS = 3, HISTOGRAM_LONGEST = 45, HISTOGRAM_STEPS = (HISTOGRAM_LONGEST - HISTOGRAM_BITS + 1) << 3 };

typedef struct {
    uint64_t count, sum, largest;
    uint64_t steps[HISTOGRAM_STEPS]; /* 2^45 ns, nearly ten hours, and all above are the last step */
} histogram_t;

/* The step of a value: below 8 each value has its own. */
static inline uint32_t histogram_step(uint64_t value)
{
    if (value < 1u << HISTOGRAM_BITS)
        return (uint32_t)value;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(value);
    if (octave >= HISTOGRAM_LONGEST)
        return HISTOGRAM_STEPS - 1;
    uint32_t part = (uint32_t)(value >> (octave - HISTOGRAM_BITS)) & ((1u << HISTOGRAM_BITS) - 1);
    return ((octave - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS) + part;
}

static inline void histogram_add(histogram_t *histogram, uint64_t value, uint64_t weight)
{
    histogram->count += weight;
    histogram->sum += value * weight;
    if (value > histogram->largest)
        histogram->largest = value;
    histogram->steps[histogram_step(value)] += weight;
}

uint64_t histogram_start(uint32_t step); /* the least value of a step */

/* The value below which so many thousandths of all values are; 0 if there are none. */
uint64_t histogram_quantile(const histogram_t *histogram, uint32_t thousandths);

#endif
