#include "spans.h"

#include "harness.h"

#define MS UINT64_C(1000000)

static piece_t piece(uint32_t worker, uint32_t function, uint64_t start, uint64_t length)
{
    static uint64_t ticket;
    return (piece_t){
        .start = start, .end = start + length, .ticket = ++ticket, .worker = worker, .function = function, .weight = 1};
}

static uint64_t tasks_in(const spans_t *spans)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < spans->count; i++)
        count += spans->of[i].count;
    return count;
}

static void few_tasks_are_a_span_each(void)
{
    spans_t spans;
    OK(spans_open(&spans));
    for (uint32_t i = 0; i < SPANS_MOST; i++) {
        piece_t p = piece(i % 4, 7, i * 100, 10);
        spans_add(&spans, &p);
    }
    EQUAL(spans.count, SPANS_MOST);
    EQUAL(spans.threshold, 0);
    csched_span_t span = span_public(&spans.of[5], 5);
    EQUAL(span.start, 500);
    EQUAL(span.end, 510);
    EQUAL(span.worker, 1);
    EQUAL(span.count, 1);
    EQUAL(span.functions[0], 7);
    EQUAL(span.shares[0], 255);
    EQUAL(span.place, 5);
    spans_close(&spans);
}

static void many_short_tasks_become_slices_and_long_ones_stay(void)
{
    spans_t spans;
    uint64_t at[2] = {0, 0}, long_ones = 0, seen = 0;
    OK(spans_open(&spans));
    for (uint32_t i = 0; i < 200000; i++) {
        uint32_t worker = i % 2;
        uint64_t length = i % 20000 == 0 ? ++long_ones, 500 * MS : 3000;
        piece_t p = piece(worker, length > MS ? 2 : 1, at[worker], length);
        p.failed = i % 1000 == 1;
        at[worker] = p.end + 200;
        spans_add(&spans, &p);
        CHECK(spans.count <= SPANS_MOST);
    }
    EQUAL(tasks_in(&spans), 200000);
    uint64_t failed = 0, before[2] = {0, 0};
    for (uint32_t i = 0; i < spans.count; i++) {
        const span_t *span = &spans.of[i];
        failed += span->failed;
        CHECK(span->start >= before[span->worker]); /* one behind the other */
        before[span->worker] = span->end;
        if (span->functions[0] == 2) {
            EQUAL(span->count, 1);
            EQUAL(span->end - span->start, 500 * MS);
            seen++;
        } else {
            CHECK(span->end - span->start <= spans.threshold);
        }
    }
    EQUAL(seen, long_ones);
    EQUAL(failed, 200);
    CHECK(spans.threshold < 500 * MS);
    spans_close(&spans);
}

static void a_slice_knows_the_shares_of_its_functions(void)
{
    spans_t spans;
    OK(spans_open(&spans));
    spans_coarsen(&spans, MS);
    for (uint32_t i = 0; i < 100; i++) {
        piece_t p = piece(0, i % 10 == 0 ? 3 + i % 4 : i % 5 ? 1 : 2, i * 1000, i % 10 == 0 ? 100 : 500);
        spans_add(&spans, &p);
    }
    EQUAL(spans.count, 1);
    EQUAL(spans.of[0].count, 100);
    csched_span_t span = span_public(&spans.of[0], 0);
    EQUAL(span.functions[0] == 1 || span.functions[1] == 1 || span.functions[2] == 1, 1);
    uint32_t share = 0, all = 0;
    for (int i = 0; i < 4; i++) {
        all += span.shares[i];
        share = i < 3 && span.functions[i] == 1 ? span.shares[i] : share;
    }
    CHECK(share > 90 && share < 112); /* 80 of 100 tasks, half of whose time they run */
    CHECK(all > 110 && all < 125);    /* of 255 */
    spans_close(&spans);
}

static void sampled_tasks_count_for_those_passed_over(void)
{
    spans_t spans;
    OK(spans_open(&spans));
    spans_coarsen(&spans, 10 * MS);
    for (uint32_t i = 0; i < 1000; i++) {
        piece_t p = piece(0, 1, i * 5000, 900);
        p.weight = 5;
        spans_add(&spans, &p);
    }
    piece_t whole = piece(0, 2, 20 * MS, 15 * MS);
    whole.weight = 5;
    spans_add(&spans, &whole);
    EQUAL(spans.count, 2);
    EQUAL(spans.of[0].count, 5000);
    EQUAL(spans.of[1].count, 1); /* a long one is seen as what it is */
    csched_span_t span = span_public(&spans.of[0], 0);
    CHECK(span.shares[0] > 220);
    spans_close(&spans);
}

static void elements_that_share_stamps_are_one_span(void)
{
    spans_t spans;
    OK(spans_open(&spans));
    piece_t p = piece(3, 1, 100, 50);
    for (int i = 0; i < 64; i++)
        spans_add(&spans, &p);
    EQUAL(spans.count, 1);
    EQUAL(spans.of[0].count, 64);
    EQUAL(spans.of[0].busy[0], 50);
    spans_close(&spans);
}

static void more_workers_than_spans_forget_the_oldest(void)
{
    spans_t spans;
    OK(spans_open(&spans));
    for (uint32_t i = 0; i < 3000; i++) {
        piece_t p = piece(i, 1, i, 5);
        spans_add(&spans, &p);
        CHECK(spans.count <= SPANS_MOST);
    }
    EQUAL(tasks_in(&spans) + spans.forgotten, 3000);
    EQUAL(spans.of[spans.count - 1].worker, 2999);
    spans_clear(&spans);
    EQUAL(spans.count, 0);
    EQUAL(spans.forgotten, 0);
    spans_close(&spans);
}

MAIN(TEST(few_tasks_are_a_span_each), TEST(many_short_tasks_become_slices_and_long_ones_stay),
     TEST(a_slice_knows_the_shares_of_its_functions), TEST(sampled_tasks_count_for_those_passed_over),
     TEST(elements_that_share_stamps_are_one_span), TEST(more_workers_than_spans_forget_the_oldest))
