#include "histogram.h"

#include "harness.h"

enum { VALUES = 20000 };

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Durations over many octaves, as those of tasks are. */
static uint64_t any_duration(uint64_t *random)
{
    uint64_t octave = 3 + next_random(random) % 34;
    return next_random(random) % (UINT64_C(1) << octave);
}

static void quantiles_are_within_a_step_of_the_exact_ones(void)
{
    static uint64_t values[VALUES];
    static const uint32_t thousandths[] = {100, 500, 900, 950, 990, 999};
    uint64_t random = 7;
    for (int round = 0; round < 20; round++) {
        histogram_t histogram = {0};
        uint64_t sum = 0;
        for (int i = 0; i < VALUES; i++) {
            values[i] = any_duration(&random);
            sum += values[i];
            histogram_add(&histogram, values[i], 1);
        }
        qsort(values, VALUES, sizeof *values, by_size);
        EQUAL(histogram.count, VALUES);
        EQUAL(histogram.sum, sum);
        EQUAL(histogram.largest, values[VALUES - 1]);
        for (size_t i = 0; i < sizeof thousandths / sizeof *thousandths; i++) {
            double exact = (double)values[(uint64_t)VALUES * thousandths[i] / 1000 - 1];
            double found = (double)histogram_quantile(&histogram, thousandths[i]);
            CHECK(found >= exact / 1.13 - 1 && found <= exact * 1.13 + 1);
        }
    }
}

static void steps_never_go_back_and_the_last_one_takes_all(void)
{
    uint32_t before = 0;
    for (uint64_t value = 0; value < 1 << 20; value++) {
        uint32_t step = histogram_step(value);
        CHECK(step == before || step == before + 1);
        before = step;
    }
    EQUAL(histogram_step(UINT64_MAX), HISTOGRAM_STEPS - 1);
    EQUAL(histogram_step(UINT64_C(1) << HISTOGRAM_LONGEST), HISTOGRAM_STEPS - 1);
    CHECK(histogram_step((UINT64_C(1) << HISTOGRAM_LONGEST) - 1) < HISTOGRAM_STEPS);
}

static void few_values_have_their_own_quantiles(void)
{
    histogram_t histogram = {0};
    EQUAL(histogram_quantile(&histogram, 500), 0);
    histogram_add(&histogram, 5, 1);
    EQUAL(histogram_quantile(&histogram, 500), 5);
    EQUAL(histogram_quantile(&histogram, 990), 5);
    histogram_add(&histogram, 1000000, 99); /* weights count as so many values */
    EQUAL(histogram.count, 100);
    CHECK(histogram_quantile(&histogram, 500) <= 1000000 && histogram_quantile(&histogram, 500) > 880000);
    histogram_add(&histogram, UINT64_C(1) << 50, 900);
    EQUAL(histogram_quantile(&histogram, 1000), UINT64_C(1) << 50);
}

MAIN(TEST(quantiles_are_within_a_step_of_the_exact_ones), TEST(steps_never_go_back_and_the_last_one_takes_all),
     TEST(few_values_have_their_own_quantiles))
