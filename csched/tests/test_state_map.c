#include "state_map.h"

#include "internal.h"
#include "world.h"

enum { MANY = 200000, RING = 1 << 22 };

static uint8_t cells[MANY], packed[2 * MANY];

static csched_state_map_t look(world_t *w, uint64_t from, uint64_t to, uint32_t span)
{
    csched_state_map_t map = {.first = from, .last = to, .span = span};
    OK(csched_state_map(w->s, &map, cells, sizeof cells));
    return map;
}

static uint8_t state_at(world_t *w, uint64_t position)
{
    csched_state_map_t map = look(w, position, position + 1, 1);
    EQUAL(map.cells, 1);
    return cells[0];
}

static void a_task_is_queued_runs_and_ends(void)
{
    world_t *w = world_open(0);
    world_threads(w, 1);
    EQUAL(csched_state_map_next(w->s), 0);
    submit(w, JOB_GATE, 0, 1);
    submit(w, JOB_FAIL, 1, 99);
    uint64_t late = submit(w, JOB_NONE, 2, 0);
    EQUAL(csched_state_map_next(w->s), 3);
    UNTIL(csched_poll(w->s, 0) == 0 && u32_relaxed(&board->at_gate[1]) == 1);
    EQUAL(state_at(w, 0), CSCHED_MAP_RUNNING);
    EQUAL(state_at(w, 1), CSCHED_MAP_QUEUED);
    EQUAL(csched_cancel(w->s, late), 1);
    EQUAL(state_at(w, 2), CSCHED_MAP_CANCELLED);
    EQUAL(csched_task_position(w->s, 1), 1);
    EQUAL(csched_task_position(w->s, 77), UINT64_MAX);
    open_gate(1);
    finish(w, 3);
    csched_state_map_t map = look(w, 0, UINT64_MAX, 1);
    EQUAL(map.cells, 3);
    EQUAL(map.last, 3);
    EQUAL(cells[0], CSCHED_MAP_DONE);
    EQUAL(cells[1], CSCHED_MAP_FAILED);
    EQUAL(map.counts[CSCHED_MAP_DONE], 1);
    EQUAL(map.counts[CSCHED_MAP_FAILED], 1);
    EQUAL(map.counts[CSCHED_MAP_CANCELLED], 1);
    world_close(w);
}

static void inputs_are_waited_for_and_their_failure_is_inherited(void)
{
    world_t *w = world_open(0);
    uint64_t good = submit(w, JOB_NONE, 0, 0), bad = submit(w, JOB_FAIL, 1, 99);
    csched_options_t options = plain();
    options.input_count = 1;
    options.inputs = &good;
    submit_with(w, (job_t){JOB_NONE, 2, 0}, &options);
    options.inputs = &bad;
    submit_with(w, (job_t){JOB_NONE, 3, 0}, &options);
    EQUAL(state_at(w, 2), CSCHED_MAP_WAITING);
    EQUAL(state_at(w, 3), CSCHED_MAP_WAITING);
    world_threads(w, 1);
    finish(w, 4);
    EQUAL(state_at(w, 2), CSCHED_MAP_DONE);
    EQUAL(state_at(w, 3), CSCHED_MAP_FAILED);
    world_close(w);
}

static void a_retry_keeps_its_position(void)
{
    world_t *w = world_open(0);
    csched_options_t options = plain();
    options.retries = 2;
    submit_with(w, (job_t){JOB_FAIL, 0, 2}, &options); /* the third attempt succeeds */
    options.retries = 0;
    options.attempt = 1;
    options.position = 1; /* the same position, by who tries again on its own */
    submit_with(w, (job_t){JOB_NONE, 1, 0}, &options);
    EQUAL(csched_state_map_next(w->s), 1);
    EQUAL(state_at(w, 0), CSCHED_MAP_WAITING);
    world_threads(w, 1);
    finish(w, 2);
    EQUAL(csched_state_map_next(w->s), 1);
    EQUAL(state_at(w, 0), CSCHED_MAP_DONE);
    world_close(w);
}

static void a_lost_task_is_marked(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    submit(w, JOB_NONE, 0, 0);
    submit(w, JOB_NONE, 1, 0);
    csched_poll(w->s, 0);
    next_item(worker, CSCHED_TASK);
    OK(csched_worker_lost(w->s, 0));
    EQUAL(state_at(w, 0), CSCHED_MAP_LOST);
    EQUAL(state_at(w, 1), CSCHED_MAP_QUEUED);
    world_threads(w, 1);
    finish(w, 2);
    EQUAL(state_at(w, 1), CSCHED_MAP_DONE);
    csched_worker_detach(worker);
    world_close(w);
}

static void a_chunk_has_a_position_for_each_element(void)
{
    world_t *w = world_open(0);
    csched_options_t options = plain();
    csched_worker_t *worker = by_hand(w);
    options.count = 10;
    submit_with(w, (job_t){JOB_CHUNK, 0, 0}, &options);
    submit(w, JOB_NONE, 1, 0);
    EQUAL(csched_state_map_next(w->s), 11);
    csched_poll(w->s, 0);
    next_item(worker, CSCHED_TASK);
    OK(csched_worker_started(worker));
    csched_state_map_t map = look(w, 0, 11, 1);
    EQUAL(map.counts[CSCHED_MAP_RUNNING], 10); /* not known which: all of them */
    OK(csched_worker_element(worker, 4));
    OK(csched_state_map_set(w->s, 2, 1, CSCHED_MAP_FAILED)); /* a first part of its outcomes has come */
    OK(csched_state_map_set(w->s, 3, 1, CSCHED_MAP_WAITING)); /* this one is tried again, on its own */
    map = look(w, 0, 11, 1);
    EQUAL(map.counts[CSCHED_MAP_FAILED], 1);
    EQUAL(map.counts[CSCHED_MAP_WAITING], 1);
    EQUAL(map.counts[CSCHED_MAP_DONE], 2);
    EQUAL(cells[4], CSCHED_MAP_RUNNING);
    EQUAL(map.counts[CSCHED_MAP_RUNNING], 1);
    EQUAL(map.counts[CSCHED_MAP_QUEUED], 6);
    OK(csched_worker_finished(worker));
    OK(csched_worker_publish(worker, CSCHED_VALUE, 1, NULL, 0, IN_LINE));
    csched_poll(w->s, 0);
    map = look(w, 0, 11, 1);
    EQUAL(map.counts[CSCHED_MAP_FAILED], 1);
    EQUAL(map.counts[CSCHED_MAP_WAITING], 1);
    EQUAL(map.counts[CSCHED_MAP_DONE], 8);
    EQUAL(map.counts[CSCHED_MAP_QUEUED], 1);
    next_item(worker, CSCHED_TASK);
    publish_none(worker);
    finish(w, 2);
    csched_worker_detach(worker);
    world_close(w);
}

static void a_chunk_that_waits_is_cancelled_whole(void)
{
    world_t *w = world_open(0);
    csched_options_t options = plain();
    uint64_t gate = submit(w, JOB_GATE, 0, 1);
    options.count = 5;
    options.input_count = 1;
    options.inputs = &gate;
    uint64_t chunk = submit_with(w, (job_t){JOB_CHUNK, 1, 0}, &options);
    EQUAL(csched_cancel(w->s, chunk), 1);
    EQUAL(look(w, 0, 6, 1).counts[CSCHED_MAP_CANCELLED], 5);
    EQUAL(csched_cancel_all(w->s), 1);
    finish(w, 2);
    world_close(w);
}

static void what_cannot_be_submitted_takes_no_position(void)
{
    world_t *w = world_open(0);
    csched_options_t options = plain();
    uint64_t none = UINT64_C(1) << 40;
    uint8_t byte = 0;
    options.input_count = 1;
    options.inputs = &none;
    CHECK(csched_submit_with(w->s, 0, 0, 0, &byte, 1, 0, &options) < 0);
    CHECK(csched_submit(w->s, 0, 12345, 0, &byte, 1, 0) < 0);
    EQUAL(csched_state_map_next(w->s), 0);
    OK(csched_state_map_add(w->s, UINT32_MAX, 3, CSCHED_MAP_CANCELLED)); /* but its owner may give it one */
    EQUAL(csched_state_map_next(w->s), 3);
    EQUAL(state_at(w, 2), CSCHED_MAP_CANCELLED);
    world_close(w);
}

static void arguments_are_checked(void)
{
    world_t *w = world_open(0);
    csched_state_map_t map = {.first = 0, .last = 1, .span = 3};
    EQUAL(csched_state_map(w->s, &map, cells, 1), CSCHED_EINVAL);
    map.span = 0;
    EQUAL(csched_state_map(w->s, &map, cells, 1), CSCHED_EINVAL);
    map = (csched_state_map_t){.first = 2, .last = 1, .span = 1};
    EQUAL(csched_state_map(w->s, &map, cells, 1), CSCHED_EINVAL);
    EQUAL(csched_state_map_add(w->s, UINT32_MAX, 1, CSCHED_MAP_STATES), CSCHED_EINVAL);
    EQUAL(csched_state_map_set(w->s, 0, 1, CSCHED_MAP_DONE), CSCHED_EINVAL); /* not given yet */
    EQUAL(csched_state_map_set(w->s, UINT64_MAX, 2, CSCHED_MAP_DONE), CSCHED_EINVAL);
    EQUAL(csched_state_map_next(w->s), 0);
    world_close(w);
}

static void a_cell_sums_up(void)
{
    world_t *w = world_open(0);
    OK(csched_state_map_add(w->s, UINT32_MAX, 1000, CSCHED_MAP_DONE));
    OK(csched_state_map_set(w->s, 300, 1, CSCHED_MAP_FAILED));
    OK(csched_state_map_set(w->s, 600, 1, CSCHED_MAP_RUNNING));
    OK(csched_state_map_set(w->s, 601, 2, CSCHED_MAP_WAITING));
    OK(csched_state_map_set(w->s, 999, 1, CSCHED_MAP_CANCELLED));
    OK(csched_state_map_set(w->s, 0, 256, CSCHED_MAP_QUEUED));
    OK(csched_state_map_set(w->s, 255, 1, CSCHED_MAP_DONE));
    csched_state_map_t map = look(w, 0, 1000, 256);
    EQUAL(map.cells, 4);
    EQUAL(cells[0], 1 | CSCHED_CELL_WAITING); /* a little is not nothing */
    EQUAL(cells[1], 14 | CSCHED_CELL_FAILED); /* nearly all is not all */
    EQUAL(cells[2], 14 | CSCHED_CELL_RUNNING | CSCHED_CELL_WAITING);
    EQUAL(cells[3], 14 | CSCHED_CELL_CANCELLED);
    EQUAL(map.counts[CSCHED_MAP_DONE], 740);
    EQUAL(map.counts[CSCHED_MAP_QUEUED], 255);
    map = look(w, 400, 600, 4);
    EQUAL(map.cells, 50);
    for (uint32_t i = 0; i < 50; i++)
        EQUAL(cells[i], 15);
    map = (csched_state_map_t){.first = 0, .last = 1000, .span = 2};
    OK(csched_state_map(w->s, &map, cells, 10)); /* no more than there is room for */
    EQUAL(map.cells, 10);
    EQUAL(map.last, 20);
    world_close(w);
}

/* Against counting one by one, wherever it begins and however many tasks a cell has. */
static void cells_are_those_of_a_plain_count(void)
{
    world_t *w = world_open(0);
    static uint8_t states[20000];
    uint64_t random = 7;
    for (uint32_t i = 0; i < sizeof states;) {
        uint32_t n = 1 + (uint32_t)(next_random(&random) % 40), state = (uint32_t)(next_random(&random) % 7) + 1;
        for (; n && i < sizeof states; n--)
            states[i++] = (uint8_t)state;
    }
    for (uint32_t i = 0; i < sizeof states; i++)
        OK(csched_state_map_add(w->s, UINT32_MAX, 1, states[i]));
    for (uint32_t span = 1; span <= 1024; span *= 2) {
        uint32_t from = (uint32_t)(next_random(&random) % 1000), to = from + 18000;
        csched_state_map_t map = look(w, from, to, span);
        EQUAL(map.cells, (18000 + span - 1) / span);
        uint64_t counts[CSCHED_MAP_STATES] = {0};
        for (uint32_t at = from, cell = 0; at < to; cell++) {
            uint32_t done = 0, all = 0, flags = 0;
            for (; all < span && at < to; at++, all++) {
                uint8_t state = states[at];
                counts[state]++;
                done += state == CSCHED_MAP_DONE;
                flags |= state == CSCHED_MAP_FAILED || state == CSCHED_MAP_LOST ? CSCHED_CELL_FAILED : 0;
                flags |= state == CSCHED_MAP_RUNNING ? CSCHED_CELL_RUNNING : 0;
                flags |= state == CSCHED_MAP_WAITING || state == CSCHED_MAP_QUEUED ? CSCHED_CELL_WAITING : 0;
                flags |= state == CSCHED_MAP_CANCELLED ? CSCHED_CELL_CANCELLED : 0;
            }
            if (span == 1) {
                EQUAL(cells[cell], states[at - 1]);
                continue;
            }
            EQUAL(cells[cell] & 0xf0, flags);
            CHECK(((cells[cell] & 15) == 0) == (done == 0) && ((cells[cell] & 15) == 15) == (done == all));
        }
        for (uint32_t state = 0; state < CSCHED_MAP_STATES; state++)
            EQUAL(map.counts[state], counts[state]);
    }
    world_close(w);
}

static void the_oldest_are_overwritten(void)
{
    world_t *w = world_open(0);
    submit(w, JOB_NONE, 0, 0);
    OK(csched_state_map_add(w->s, UINT32_MAX, RING - 1, CSCHED_MAP_DONE));
    EQUAL(state_at(w, 0), CSCHED_MAP_QUEUED);
    OK(csched_state_map_add(w->s, UINT32_MAX, 100, CSCHED_MAP_FAILED));
    world_threads(w, 1);
    finish(w, 1); /* its position is another one's: that is left alone */
    EQUAL(state_at(w, RING), CSCHED_MAP_FAILED);
    csched_state_map_t map = look(w, 0, UINT64_MAX, 64);
    EQUAL(map.first, 128); /* whole cells, counted from where the first one would have been */
    EQUAL(map.last, RING + 100);
    EQUAL(map.counts[CSCHED_MAP_FAILED], 100);
    EQUAL(map.counts[CSCHED_MAP_DONE], RING - 128);
    OK(csched_state_map_set(w->s, 10, 200, CSCHED_MAP_LOST)); /* half gone */
    EQUAL(state_at(w, 209), CSCHED_MAP_LOST);
    EQUAL(state_at(w, 210), CSCHED_MAP_DONE);
    EQUAL(state_at(w, RING + 99), CSCHED_MAP_FAILED);
    EQUAL(look(w, 0, 50, 1).cells, 0);
    world_close(w);
}

/* As positions are kept in 32 bits, and then some. */
static void positions_go_on_beyond_32_bits(void)
{
    world_t *w = world_open(0);
    w->s->state_map.next = UINT64_C(1) << 32;
    submit(w, JOB_NONE, 0, 0);
    EQUAL(csched_task_position(w->s, 0), UINT64_C(1) << 32);
    w->s->state_map.next = (UINT64_C(3) << 32) - 1;
    csched_options_t options = plain();
    options.count = 4;
    submit_with(w, (job_t){JOB_CHUNK, 1, 0}, &options);
    EQUAL(csched_task_position(w->s, 1), (UINT64_C(3) << 32) - 1);
    world_threads(w, 1);
    finish(w, 2);
    EQUAL(look(w, (UINT64_C(3) << 32) - 1, UINT64_MAX, 1).counts[CSCHED_MAP_DONE], 4);
    world_close(w);
}

static void journeys_tell_positions(void)
{
    world_t *w = world_open(0);
    csched_journey_t rows[8];
    uint64_t cursor = 0, dropped;
    csched_options_t options = plain();
    submit(w, JOB_NONE, 0, 0);
    options.count = 3;
    submit_with(w, (job_t){JOB_CHUNK, 1, 0}, &options);
    CHECK(csched_submit(w->s, 2, 0, 0, &(job_t){JOB_NONE, 9, 0}, sizeof(job_t), UINT64_C(5000000000)) > 0);
    world_threads(w, 1);
    finish(w, 3);
    EQUAL(csched_journeys(w->s, &cursor, 8, rows, &dropped), 5);
    for (uint32_t i = 0; i < 5; i++)
        EQUAL(rows[i].position, i);
    EQUAL(rows[4].pack_ns, 5000000000);
    world_close(w);
}

static csched_state_map_t look_at_run(world_t *w, uint32_t run, uint64_t from, uint64_t to, uint32_t span)
{
    csched_state_map_t map = {.first = from, .last = to, .span = span};
    OK(csched_state_map_of_run(w->s, run, &map, cells, sizeof cells));
    return map;
}

/* Two runs and tasks of none take turns: each run's map has its own tasks, in its own order, and together they are all. */
static void a_run_has_a_map_of_its_own(void)
{
    static const uint8_t states[] = {CSCHED_MAP_DONE, CSCHED_MAP_FAILED, CSCHED_MAP_CANCELLED, CSCHED_MAP_LOST};
    world_t *w = world_open(0);
    uint32_t runs[3] = {0, 0, UINT32_MAX}, owned[2] = {0, 0};
    static uint64_t positions[2][MANY];
    static uint8_t wanted[2][MANY];
    uint64_t random = 11;
    OK(csched_run_open(w->s, &runs[0]));
    OK(csched_run_open(w->s, &runs[1]));
    EQUAL(look_at_run(w, runs[0], 0, UINT64_MAX, 1).cells, 0);
    EQUAL(csched_state_map_position(w->s, runs[0], 0), UINT64_MAX);
    for (uint64_t next = 0; next < 3000;) {
        uint32_t whose = (uint32_t)(next_random(&random) % 3), count = 1 + (uint32_t)(next_random(&random) % 5);
        uint8_t state = states[next_random(&random) % 4];
        OK(csched_state_map_add(w->s, runs[whose], count, state));
        for (uint32_t i = 0; i < count && whose < 2; i++) {
            positions[whose][owned[whose]] = next + i;
            wanted[whose][owned[whose]++] = state;
        }
        next += count;
    }
    for (uint32_t whose = 0; whose < 2; whose++) {
        csched_state_map_t map = look_at_run(w, runs[whose], 0, UINT64_MAX, 1);
        EQUAL(map.next, owned[whose]);
        EQUAL(map.cells, owned[whose]);
        EQUAL(memcmp(cells, wanted[whose], owned[whose]), 0);
        for (uint32_t i = 0; i < owned[whose]; i++)
            EQUAL(csched_state_map_position(w->s, runs[whose], i), positions[whose][i]);
        EQUAL(csched_state_map_position(w->s, runs[whose], owned[whose]), UINT64_MAX);
        map = look_at_run(w, runs[whose], 100, 107, 1);
        EQUAL(map.cells, 7);
        EQUAL(memcmp(cells, wanted[whose] + 100, 7), 0);
        map = look_at_run(w, runs[whose], 0, UINT64_MAX, 64);
        EQUAL(map.cells, (owned[whose] + 63) / 64);
        EQUAL(map.counts[CSCHED_MAP_DONE] + map.counts[CSCHED_MAP_FAILED] + map.counts[CSCHED_MAP_CANCELLED] +
                  map.counts[CSCHED_MAP_LOST],
              owned[whose]);
    }
    csched_state_map_t none = {.last = 1, .span = 1};
    EQUAL(csched_state_map_of_run(w->s, 77, &none, cells, 1), CSCHED_EINVAL);
    world_close(w);
}

static void a_run_of_turns_without_end_forgets_its_first_tasks(void)
{
    enum { TURNS = MAP_STRETCHES / 2 + 1000 };
    world_t *w = world_open(0);
    uint32_t one, other;
    OK(csched_run_open(w->s, &one));
    OK(csched_run_open(w->s, &other));
    for (uint32_t i = 0; i < TURNS; i++) {
        OK(csched_state_map_add(w->s, one, 1, CSCHED_MAP_DONE));
        OK(csched_state_map_add(w->s, other, 1, CSCHED_MAP_FAILED));
    }
    csched_state_map_t map = look_at_run(w, one, 0, UINT64_MAX, 1);
    EQUAL(map.next, TURNS);
    EQUAL(map.first, 1000);
    EQUAL(map.counts[CSCHED_MAP_DONE], MAP_STRETCHES / 2);
    EQUAL(csched_state_map_position(w->s, one, 999), UINT64_MAX);
    EQUAL(csched_state_map_position(w->s, one, 1000), 2000);
    world_close(w);
}

static void unpack(uint32_t size, const uint8_t *wanted, uint32_t count)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < size;) {
        uint8_t n = packed[i++];
        for (uint32_t k = 0; k < (n < 128 ? n + 1u : 257u - n); k++, at++) {
            CHECK(at < count);
            EQUAL(packed[n < 128 ? i + k : i], wanted[at]);
        }
        i += n < 128 ? n + 1u : 1u;
    }
    EQUAL(at, count);
}

static void packing_loses_nothing(void)
{
    uint64_t random = 3;
    EQUAL(csched_state_map_pack(cells, 0, packed), 0);
    for (uint32_t round = 0; round < 300; round++) {
        uint32_t count = 1 + (uint32_t)(next_random(&random) % 2000), longest = 1 + round % 300;
        for (uint32_t i = 0; i < count;) {
            uint32_t n = 1 + (uint32_t)(next_random(&random) % longest);
            for (uint8_t value = (uint8_t)next_random(&random); n && i < count; n--)
                cells[i++] = value;
        }
        uint32_t size = csched_state_map_pack(cells, count, packed);
        CHECK(size <= count + count / 128 + 1);
        unpack(size, cells, count);
    }
    memset(cells, 15, 16384);
    EQUAL(csched_state_map_pack(cells, 16384, packed), 256);
}

MAIN(TEST(a_task_is_queued_runs_and_ends), TEST(inputs_are_waited_for_and_their_failure_is_inherited),
     TEST(a_retry_keeps_its_position), TEST(a_lost_task_is_marked), TEST(a_chunk_has_a_position_for_each_element),
     TEST(a_chunk_that_waits_is_cancelled_whole), TEST(what_cannot_be_submitted_takes_no_position),
     TEST(arguments_are_checked), TEST(a_cell_sums_up), TEST(cells_are_those_of_a_plain_count),
     TEST(the_oldest_are_overwritten), TEST(positions_go_on_beyond_32_bits), TEST(journeys_tell_positions),
     TEST(packing_loses_nothing), TEST(a_run_has_a_map_of_its_own),
     TEST(a_run_of_turns_without_end_forgets_its_first_tasks))
