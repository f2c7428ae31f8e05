#include "histogram.h"

uint64_t histogram_start(uint32_t step)
{
    if (step < 1u << HISTOGRAM_BITS)
        return step;
    uint32_t octave = (step >> HISTOGRAM_BITS) + HISTOGRAM_BITS - 1;
    uint64_t part = step & ((1u << HISTOGRAM_BITS) - 1);
    return (UINT64_C(1) << octave) + (part << (octave - HISTOGRAM_BITS));
}

uint64_t histogram_quantile(const histogram_t *histogram, uint32_t thousandths)
{
    double wanted = (double)histogram->count * thousandths / 1000, before = 0;
    for (uint32_t step = 0; step < HISTOGRAM_STEPS; step++) {
        double here = (double)histogram->steps[step];
        if (here == 0 || before + here < wanted) {
            before += here;
            continue;
        }
        uint64_t start = histogram_start(step);
        uint64_t end = step == HISTOGRAM_STEPS - 1 ? histogram->largest : histogram_start(step + 1) - 1;
        if (end > histogram->largest)
            end = histogram->largest;
        /* assumes an even distribution within a step */
        return end <= start ? start : start + (uint64_t)((double)(end - start) * (wanted - before) / here);
    }
    return histogram->largest;
}
