#include "internal.h"

#include "world.h"

/* Rows are written straight into the ring of a scheduler without workers, as the drain would. */
static csched_journey_t *append(csched_t *s, uint64_t ticket, uint32_t function, uint64_t submitted, uint64_t step)
{
    csched_journey_t *row = journey_append(&s->journey);
    *row = (csched_journey_t){.ticket = ticket, .function = function, .worker = (uint16_t)(ticket % 4)};
    for (int i = 0; i < 8; i++)
        row->stamps[i] = submitted + (uint64_t)i * step;
    return row;
}

static csched_t *scheduler(void)
{
    csched_t *s;
    OK(csched_create(&(csched_config_t){.arena_bytes = 1 << 20, .journey_rows = 65536}, &s));
    return s;
}

static csched_timeline_t *timeline_since(csched_t *s, uint64_t since)
{
    csched_timeline_t *t;
    OK(csched_timeline_open(&t));
    OK(csched_timeline_begin(t, s, since, CSCHED_EVERY_RUN));
    return t;
}

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

enum { EXACT = 6000 };

static void figures_of_random_rows_are_those_counted_exactly(void)
{
    static uint64_t values[7][EXACT];
    csched_t *s = scheduler();
    csched_timeline_t *t = timeline_since(s, 1);
    uint64_t random = 99, sums[7] = {0};
    for (uint64_t i = 0; i < EXACT; i++) {
        csched_journey_t *row = append(s, i + 1, 5, 1000 + i, 0);
        for (int k = 0; k < 7; k++) {
            values[k][i] = next_random(&random) % (UINT64_C(1) << (4 + next_random(&random) % 28));
            sums[k] += values[k][i];
            row->stamps[k + 1] = row->stamps[k] + values[k][i];
        }
    }
    csched_timeline_state_t state;
    csched_figures_t figures[4];
    OK(csched_timeline_fold(t, s, &state));
    EQUAL(state.tasks, EXACT);
    EQUAL(state.sampled, 0);
    EQUAL(csched_timeline_figures(t, 4, figures), 1);
    EQUAL(figures[0].tasks, EXACT);
    uint64_t edges[17], counts[16], counted = 0;
    int bars = csched_timeline_histogram(t, 5, 4, 16, edges, counts);
    CHECK(bars > 8 && bars <= 16 && counts[0] && counts[bars - 1]);
    for (int bar = 0; bar < bars; bar++) {
        uint64_t inside = 0;
        for (int i = 0; i < EXACT; i++)
            inside += values[4][i] >= edges[bar] && values[4][i] < edges[bar + 1];
        EQUAL(counts[bar], inside);
        counted += counts[bar];
    }
    EQUAL(counted, EXACT);
    EQUAL(csched_timeline_histogram(t, 6, 4, 16, edges, counts), 0);
    for (int k = 0; k < 7; k++) {
        const csched_figure_t *of = &figures[0].of[k];
        qsort(values[k], EXACT, sizeof values[k][0], by_size);
        EQUAL(of->count, EXACT);
        EQUAL(of->sum, sums[k]);
        EQUAL(of->largest, values[k][EXACT - 1]);
        const uint64_t found[] = {of->median, of->p95, of->p99};
        const uint64_t at[] = {EXACT / 2, EXACT / 100 * 95, EXACT / 100 * 99};
        for (int q = 0; q < 3; q++) {
            double exact = (double)values[k][at[q] - 1];
            CHECK((double)found[q] >= exact / 1.13 - 1 && (double)found[q] <= exact * 1.13 + 1);
        }
    }
    csched_timeline_close(t);
    csched_destroy(s);
}

static void earlier_work_is_left_out_and_new_work_begins_anew(void)
{
    csched_t *s = scheduler();
    csched_timeline_state_t state;
    for (uint64_t i = 0; i < 10; i++)
        append(s, i + 1, 1, 100 + i, 5);
    csched_timeline_t *t = timeline_since(s, 105);
    OK(csched_timeline_fold(t, s, &state));
    EQUAL(state.tasks, 5);
    EQUAL(state.spans, 5);
    EQUAL(state.functions, 1);
    append(s, 11, 2, 200, 5);
    OK(csched_timeline_begin(t, s, 150, CSCHED_EVERY_RUN));
    OK(csched_timeline_fold(t, s, &state));
    EQUAL(state.tasks, 1);
    EQUAL(state.spans, 1);
    append(s, 12, 2, 210, 5)->run = 9;
    OK(csched_timeline_begin(t, s, 0, 9));
    OK(csched_timeline_fold(t, s, &state));
    EQUAL(state.tasks, 1);
    csched_timeline_close(t);
    csched_destroy(s);
}

static void only_what_changed_is_told_again(void)
{
    csched_t *s = scheduler();
    csched_timeline_t *t = timeline_since(s, 1);
    csched_timeline_state_t state;
    csched_span_t spans[16];
    for (uint64_t i = 0; i < 8; i++)
        append(s, i + 1, 1, 100 + 1000 * i, 5);
    OK(csched_timeline_fold(t, s, &state));
    EQUAL(csched_timeline_spans(t, UINT64_MAX, 16, spans), 8);
    uint64_t before = state.fold;
    append(s, 9, 1, 20000, 5);
    OK(csched_timeline_fold(t, s, &state));
    EQUAL(csched_timeline_spans(t, before, 16, spans), 1);
    EQUAL(spans[0].place, 8);
    EQUAL(spans[0].ticket, 9);
    EQUAL(csched_timeline_spans(t, state.fold, 16, spans), 0);
    csched_timeline_close(t);
    csched_destroy(s);
}

enum { FLOOD = 200000 };

static void a_flood_is_sampled_and_its_sums_stay_true(void)
{
    csched_t *s = scheduler();
    csched_timeline_t *t = timeline_since(s, 1);
    csched_timeline_state_t state;
    csched_figures_t figures[4];
    csched_span_t spans[2000];
    uint64_t began = csched_now();
    for (uint64_t i = 0; i < FLOOD; i++) {
        append(s, i + 1, 1 + i % 2, 1000 + 700 * i, i % 2 ? 100 : 300);
        if (i % 50000 == 49999)
            OK(csched_timeline_fold(t, s, &state));
    }
    EQUAL(state.dropped, 0); /* a ring of 65,536: each fold found 50,000 */
    CHECK(state.sampled > FLOOD / 2);
    CHECK(state.tasks > FLOOD - 4000 && state.tasks <= FLOOD); /* but for the last step of each fold */
    EQUAL(csched_timeline_figures(t, 4, figures), 2);
    for (int i = 0; i < 2; i++) {
        const csched_figure_t *run = &figures[i].of[4];
        CHECK(run->count > FLOOD * 0.45 && run->count < FLOOD * 0.55);
        EQUAL(run->sum, run->count * (figures[i].function == 1 ? 300 : 100));
    }
    int n = csched_timeline_spans(t, UINT64_MAX, 2000, spans);
    /* a span is as long as some samples last, by the time that the folds were apart: a busy machine has longer ones */
    CHECK(n <= 1000 && n > (csched_now() - began < UINT64_C(300000000) ? 100 : 1));
    uint64_t tasks = 0;
    for (int i = 0; i < n; i++) {
        tasks += spans[i].count;
        CHECK(spans[i].end >= spans[i].start);
    }
    CHECK(tasks > FLOOD * 0.9 && tasks < FLOOD * 1.1);
    csched_timeline_close(t);
    csched_destroy(s);
}

static void what_was_overwritten_is_counted_and_a_backlog_read_to_its_end(void)
{
    csched_t *s = scheduler();
    csched_timeline_state_t state;
    for (uint64_t i = 0; i < 65536; i++)
        append(s, i + 1, 1, 1000 + i, 5);
    csched_timeline_t *t = timeline_since(s, 1);
    uint32_t folds = 0;
    do {
        OK(csched_timeline_fold(t, s, &state));
        folds++;
    } while (state.behind && folds < 100);
    EQUAL(folds, 9); /* of 8,192 each: nothing new came, so every row is read */
    EQUAL(state.tasks, 65536);
    EQUAL(state.sampled, 0);
    for (uint64_t i = 0; i < 65536 + 500; i++)
        append(s, i + 1, 1, 100000 + i, 5);
    OK(csched_timeline_fold(t, s, &state));
    EQUAL(state.dropped, 500);
    csched_timeline_close(t);
    csched_destroy(s);
}

static void elements_of_a_chunk_wait_beside_each_other(void)
{
    csched_t *s = scheduler();
    csched_timeline_t *t = timeline_since(s, 1);
    csched_timeline_state_t state;
    csched_figures_t figures[1];
    for (uint32_t i = 0; i < 3; i++) { /* received at 130, then 100 each from 140 on, returned at 450 */
        csched_journey_t *row = append(s, 77, 4, 100, 10);
        row->element = i;
        row->pack_ns = 33;
        row->stamps[4] = 140 + 100 * i;
        row->stamps[5] = 240 + 100 * i;
        row->stamps[6] = 450;
        row->stamps[7] = 460;
    }
    OK(csched_timeline_fold(t, s, &state));
    EQUAL(csched_timeline_figures(t, 1, figures), 1);
    const csched_figure_t *of = figures[0].of;
    EQUAL(of[3].count, 1);
    EQUAL(of[3].sum, 10);
    EQUAL(of[4].count, 3);
    EQUAL(of[4].sum, 300);
    EQUAL(of[5].count, 1);
    EQUAL(of[5].sum, 10);
    EQUAL(of[CSCHED_PICKLE].sum, 33);
    EQUAL(of[CSCHED_BESIDE].count, 3);
    EQUAL(of[CSCHED_BESIDE].sum, (0 + 210) + (110 + 110) + (210 + 0));
    csched_timeline_close(t);
    csched_destroy(s);
}

static void what_did_not_run_or_was_cut_is_told_apart(void)
{
    csched_t *s = scheduler();
    csched_timeline_t *t = timeline_since(s, 1);
    csched_timeline_state_t state;
    csched_figures_t figures[1];
    csched_span_t spans[8];
    csched_journey_t *row = append(s, 1, 1, 100, 10); /* cancelled before it ran */
    row->worker = NO_WORKER;
    row->status = CSCHED_CANCELLED;
    for (int i = 1; i < 7; i++)
        row->stamps[i] = 0;
    row = append(s, 2, 1, 200, 10); /* lost while it ran: its worker told nothing after it took it */
    row->status = CSCHED_LOST;
    row->stamps[4] = row->stamps[5] = row->stamps[6] = 0;
    append(s, 3, 1, 300, 10)->status = CSCHED_ERROR;
    OK(csched_timeline_fold(t, s, &state));
    EQUAL(state.tasks, 3);
    EQUAL(csched_timeline_figures(t, 1, figures), 1);
    EQUAL(figures[0].tasks, 3);
    EQUAL(figures[0].failed, 1);
    EQUAL(figures[0].cut, 2);
    EQUAL(figures[0].lost, 1);
    EQUAL(figures[0].of[4].count, 1);
    EQUAL(csched_timeline_spans(t, UINT64_MAX, 8, spans), 2);
    EQUAL(spans[0].cut, 1);
    EQUAL(spans[0].lost, 1);
    EQUAL(spans[0].start, 230);
    EQUAL(spans[0].end, 270);
    EQUAL(spans[1].failed, 1);
    csched_timeline_close(t);
    csched_destroy(s);
}

static void a_result_that_was_not_taken_waits_a_little(void)
{
    csched_t *s = scheduler();
    csched_timeline_t *t = timeline_since(s, 1);
    csched_timeline_state_t state;
    append(s, 1, 1, csched_now(), 0)->stamps[7] = 0;
    OK(csched_timeline_fold(t, s, &state));
    EQUAL(state.tasks, 0);
    UNTIL((csched_timeline_fold(t, s, &state), state.tasks == 1));
    csched_figures_t figures[1];
    EQUAL(csched_timeline_figures(t, 1, figures), 1);
    EQUAL(figures[0].of[6].count, 0); /* that one is unknown */
    csched_timeline_close(t);
    csched_destroy(s);
}

static void functions_beyond_the_most_share_their_figures(void)
{
    static csched_figures_t figures[300];
    csched_t *s = scheduler();
    csched_timeline_t *t = timeline_since(s, 1);
    csched_timeline_state_t state;
    for (uint32_t i = 0; i < 290; i++)
        append(s, i + 1, i + 1, 100, 10);
    OK(csched_timeline_fold(t, s, &state));
    EQUAL(state.functions, 257);
    EQUAL(csched_timeline_figures(t, 300, figures), 257);
    EQUAL(figures[256].function, UINT32_MAX);
    EQUAL(figures[256].tasks, 290 - 256);
    csched_timeline_close(t);
    csched_destroy(s);
}

static void a_window_holds_what_ran_in_it(void)
{
    csched_t *s = scheduler();
    csched_span_t spans[100];
    uint64_t found;
    for (uint64_t i = 0; i < 5000; i++)
        append(s, i + 1, 1, 1000 * i, 100); /* runs from 400 to 500 */
    EQUAL(csched_timeline_window(s, CSCHED_EVERY_RUN, 2500, 4400, 100, spans, &found), 3);
    EQUAL(found, 3);
    EQUAL(spans[0].ticket, 3);
    EQUAL(spans[2].start, 4400);
    EQUAL(csched_timeline_window(s, CSCHED_EVERY_RUN, 0, UINT64_MAX, 100, spans, &found), 100);
    EQUAL(found, 5000);
    EQUAL(spans[99].ticket, 1 + 99 * 50);
    EQUAL(csched_timeline_window(s, CSCHED_EVERY_RUN, 5, 4, 100, spans, &found), CSCHED_EINVAL);
    csched_destroy(s);
}

static void real_tasks_are_seen_while_they_run_and_after(void)
{
    world_t *w = world_open(0);
    csched_timeline_t *t = timeline_since(w->s, 1);
    csched_timeline_state_t state;
    csched_span_t spans[8];
    world_threads(w, 2);
    uint64_t ticket = submit(w, JOB_GATE, 1, 0);
    UNTIL((csched_poll(w->s, 0), u32_acquire(&board->at_gate[0])) == 1);
    EQUAL(csched_timeline_running(w->s, CSCHED_EVERY_RUN, 8, spans), 1);
    EQUAL(spans[0].ticket, ticket);
    EQUAL(spans[0].running, 1);
    CHECK(spans[0].end >= spans[0].start);
    for (uint32_t i = 0; i < 50; i++)
        submit(w, JOB_NONE, 2 + i, 0);
    open_gate(0);
    finish(w, 51);
    EQUAL(csched_timeline_running(w->s, CSCHED_EVERY_RUN, 8, spans), 0);
    OK(csched_timeline_fold(t, w->s, &state));
    EQUAL(state.tasks, 51);
    EQUAL(csched_timeline_window(w->s, CSCHED_EVERY_RUN, 0, csched_now(), 8, spans, &(uint64_t){0}), 8);
    csched_timeline_close(t);
    world_close(w);
}

MAIN(TEST(figures_of_random_rows_are_those_counted_exactly), TEST(earlier_work_is_left_out_and_new_work_begins_anew),
     TEST(only_what_changed_is_told_again), TEST(a_flood_is_sampled_and_its_sums_stay_true),
     TEST(what_was_overwritten_is_counted_and_a_backlog_read_to_its_end),
     TEST(elements_of_a_chunk_wait_beside_each_other), TEST(what_did_not_run_or_was_cut_is_told_apart),
     TEST(a_result_that_was_not_taken_waits_a_little), TEST(functions_beyond_the_most_share_their_figures),
     TEST(a_window_holds_what_ran_in_it), TEST(real_tasks_are_seen_while_they_run_and_after))
