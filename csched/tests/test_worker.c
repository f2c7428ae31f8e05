#include "internal.h"
#include "segment.h"
#include "worker.h"
#include "world.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { MANY = SCALED(20000) };

static void attaching_checks_what_it_gets(void)
{
    csched_worker_t *worker;
    int segment, arena, fds[4];
    OK(memory_create("test", segment_bytes(65536), &segment));
    OK(memory_create("test", 0, &arena));
    fds[0] = segment;
    fds[1] = fds[2] = fds[3] = arena;
    EQUAL(csched_worker_attach(fds, &worker), CSCHED_ECORRUPT); /* zeros */
    fds[0] = arena;
    CHECK(csched_worker_attach(fds, &worker) < 0); /* no bytes at all */
    fds[0] = -1;
    EQUAL(csched_worker_attach(fds, &worker), CSCHED_ESYSTEM);
    CHECK(fcntl(segment, F_GETFD) >= 0); /* after a failure they stay the caller's */
    close(segment);
    close(arena);
}

static void nothing_to_do(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_item_t item;
    uint32_t status;
    uint64_t address, size;
    EQUAL(csched_worker_next(worker, 0, 0, &item), CSCHED_EAGAIN);
    double begin = seconds_now();
    EQUAL(csched_worker_next(worker, 10, 20, &item), CSCHED_EAGAIN);
    CHECK(seconds_now() - begin >= 0.015);
    EQUAL(csched_worker_current(worker), 0);
    EQUAL(csched_worker_publish(worker, CSCHED_NONE, 0, NULL, 0, IN_LINE), CSCHED_EINVAL);
    EQUAL(csched_worker_input(worker, 0, &status, &address, &size), CSCHED_EINVAL);
    OK(csched_worker_retire(w->s, 0));
    EQUAL(csched_worker_next(worker, 0, 1000, &item), CSCHED_ESTOPPED);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void the_stages_of_a_task(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint64_t ticket = submit(w, JOB_NONE, 0, 0);
    csched_item_t item = next_item(worker, CSCHED_TASK);
    EQUAL(item.ticket, ticket);
    EQUAL(csched_worker_current(worker), ticket);
    EQUAL(csched_task_state(w->s, ticket), 3);
    EQUAL(info_of(w, 0).ticket, ticket);
    OK(csched_worker_started(worker));
    OK(csched_worker_finished(worker));
    CHECK(csched_worker_since_flush(worker) < UINT64_C(60000000000));
    uint8_t *large = calloc(1, INLINE_LIMIT + 1);
    EQUAL(csched_worker_publish(worker, CSCHED_VALUE, 0, large, INLINE_LIMIT + 1, IN_LINE), CSCHED_ETOOBIG);
    free(large);
    publish_none(worker);
    EQUAL(csched_worker_current(worker), 0);
    finish(w, 1);
    csched_journey_t row;
    uint64_t cursor = 0, dropped;
    EQUAL(csched_journeys(w->s, &cursor, 1, &row, &dropped), 1);
    EQUAL(row.ticket, ticket);
    for (int i = 1; i < CSCHED_STAGES; i++)
        CHECK(row.stamps[i - 1] && row.stamps[i] >= row.stamps[i - 1]);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* Result and next task in one call: every task once, no stamp before the one it follows. */
static void a_turn_publishes_and_takes(void)
{
    enum { TURNS = 100 };
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_item_t item;
    EQUAL(csched_worker_turn(worker, CSCHED_NONE, 0, NULL, 0, IN_LINE, 0, 0, &item), CSCHED_EINVAL);
    OK(csched_reserve(w->s, TURNS));
    for (uint32_t i = 0; i < TURNS; i++)
        CHECK(csched_submit(w->s, i, 0, 0, NULL, 0, 0) > 0);
    item = next_item(worker, CSCHED_TASK);
    for (uint32_t i = 0; i < TURNS; i++) {
        EQUAL(item.slot, i);
        int rc = csched_worker_turn(worker, CSCHED_NONE, 0, NULL, 0, IN_LINE, 0, 0, &item);
        if (rc == CSCHED_EAGAIN) { /* the window was empty: results in, tasks out */
            csched_poll(w->s, 0);
            rc = i + 1 < TURNS ? csched_worker_next(worker, 0, 0, &item) : CSCHED_OK;
        }
        OK(rc);
    }
    finish(w, TURNS);
    EQUAL(w->by_status[CSCHED_NONE], TURNS);
    csched_journey_t rows[TURNS];
    uint64_t cursor = 0, dropped;
    EQUAL(csched_journeys(w->s, &cursor, TURNS, rows, &dropped), TURNS);
    for (uint32_t i = 0; i < TURNS; i++) {
        EQUAL(rows[i].stamps[3], rows[i].stamps[4]); /* nothing to unpack */
        EQUAL(rows[i].stamps[5], rows[i].stamps[6]); /* nothing to pack */
        for (int stage = 1; stage < CSCHED_STAGES; stage++)
            CHECK(rows[i].stamps[stage - 1] && rows[i].stamps[stage] >= rows[i].stamps[stage - 1]);
    }
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* All inputs of one task: None, inline, in this worker's block, in the other's, and as a bundle of many. */
static void inputs_from_everywhere(void)
{
    world_t *w = world_open(1);
    world_threads(w, 2);
    uint64_t inputs[40], gate = submit(w, JOB_GATE, 0, 1);
    csched_options_t options = plain();
    options.inputs = &gate;
    options.input_count = 1;
    for (uint32_t i = 0; i < 40; i++)
        inputs[i] = submit_with(w, (job_t){i % 4 == 0 ? JOB_NONE : JOB_BLOCK, i, 1000 * i}, &options);
    options.inputs = inputs;
    options.input_count = 40;
    for (uint32_t i = 0; i < 20; i++)
        submit_with(w, (job_t){JOB_MEASURE, i, 0}, &options);
    open_gate(1);
    finish(w, 61);
    EQUAL(w->by_status[CSCHED_NONE], 1 + 10);
    EQUAL(w->by_status[CSCHED_VALUE], 30 + 20);
    world_close(w);
}

/* Offsets in an entry cannot lead outside of it or of a region. */
static void inputs_that_are_not_there(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint32_t status;
    uint64_t address, size, source = submit(w, JOB_NONE, 0, 0);
    csched_options_t options = plain();
    options.inputs = &source;
    options.input_count = 1;
    submit_with(w, (job_t){JOB_SUM, 1, 0}, &options);
    next_item(worker, CSCHED_TASK);
    uint64_t value = 7;
    OK(csched_worker_publish(worker, CSCHED_VALUE, 0, &value, sizeof value, IN_LINE));
    csched_poll(w->s, 0);
    next_item(worker, CSCHED_TASK);
    OK(csched_worker_input(worker, 0, &status, &address, &size));
    task_entry_t *entry = worker->current;
    entry->inputs = UINT32_MAX;
    EQUAL(csched_worker_input(worker, 1000, &status, &address, &size), CSCHED_ECORRUPT);
    EQUAL(csched_worker_input(worker, UINT32_MAX - 1, &status, &address, &size), CSCHED_ECORRUPT);
    entry->head.bytes = UINT32_MAX; /* what was checked counts */
    ref_t *ref = (ref_t *)(entry + 1);
    ref->size = worker->tasks.peeked;
    EQUAL(csched_worker_input(worker, 0, &status, &address, &size), CSCHED_ECORRUPT);
    worker->segment->arena_bytes = UINT64_C(1) << 60;
    static const uint64_t bundles[] = {1, UINT64_C(1) << 50, UINT64_MAX - 15, UINT64_MAX - 2};
    for (size_t i = 0; i < sizeof bundles / sizeof *bundles; i++) {
        entry->bundle = bundles[i];
        EQUAL(csched_worker_input(worker, 0, &status, &address, &size), CSCHED_ECORRUPT);
    }
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void frees_that_cannot_be_are_not_followed(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint64_t offset, address;
    u64_store_relaxed(&worker->segment->frees_tail, UINT64_MAX);
    OK(csched_worker_alloc(worker, 1000, &offset, &address));
    EQUAL(u64_relaxed(&worker->segment->frees_head), 0);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* Blocks of results are returned by the frees ring: the worker's arena does not grow with their number. */
static void blocks_come_home(void)
{
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = 8 << 20, .helper = 1};
    world_t *w = world_open_with(&config);
    world_thread(w);
    for (uint32_t i = 1; i <= MANY; i++) {
        submit(w, JOB_BLOCK, i, i % 100 ? 3000 : 1000000);
        if (i % 50 == 0)
            finish(w, i);
    }
    finish(w, MANY);
    UNTIL((csched_poll(w->s, 0), w->s->workers[0]->unfreed_count == 0));
    submit(w, JOB_BLOCK, 0, 1); /* its alloc takes the frees */
    finish(w, MANY + 1);
    EQUAL(u64_relaxed(&board->arena_used[0]), 128);
    EQUAL(w->s->regions[w->s->workers[0]->region].live, 0);
    world_close(w);
}

/* More blocks than the frees ring holds are freed at once. */
static void more_frees_than_their_ring_holds(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    enum { BLOCKS = FREES_CAPACITY + 1000 };
    for (uint32_t i = 0; i < BLOCKS; i++)
        submit(w, JOB_NONE, 0, 0);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint64_t block, address;
        csched_item_t item;
        UNTIL((csched_poll(w->s, 0), csched_worker_next(worker, 0, 0, &item) == CSCHED_OK));
        OK(csched_worker_alloc(worker, 64, &block, &address));
        OK(csched_worker_publish(worker, CSCHED_VALUE, 0, NULL, 64, block));
    }
    EQUAL(worker->heap.memory.used, 128 * BLOCKS);
    finish(w, BLOCKS);
    EQUAL(w->s->workers[0]->unfreed_count, BLOCKS - FREES_CAPACITY);
    uint64_t block, address;
    UNTIL((OK(csched_worker_alloc(worker, 1, &block, &address)), OK(csched_worker_free(worker, block)),
           csched_poll(w->s, 0), worker->heap.memory.used == 0));
    EQUAL(w->s->workers[0]->unfreed_count, 0);
    EQUAL(csched_worker_free(worker, block), CSCHED_EINVAL);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* Inputs that user code still reads stay until the worker unpins them or ends. */
static void pinned_inputs_stay(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_options_t options = plain();
    uint64_t address[2], ticket[2];
    for (uint32_t i = 0; i < 2; i++) {
        OK(csched_block_alloc(w->s, 100000, &options.block, &address[i]));
        memset((void *)(uintptr_t)address[i], 0x11, 100000);
        OK(csched_reserve(w->s, 2));
        ticket[i] = (uint64_t)csched_submit_with(w->s, i, 0, 0, NULL, 100000, 0, &options);
    }
    for (int i = 0; i < 2; i++) {
        next_item(worker, CSCHED_TASK);
        OK(csched_worker_publish(worker, CSCHED_NONE | CSCHED_PINS, 0, NULL, 0, IN_LINE));
    }
    finish(w, 2);
    CHECK(stats_of(w).arena_used > 200000);
    OK(csched_worker_unpin(worker, ticket[0]));
    csched_poll(w->s, 0);
    uint64_t used = stats_of(w).arena_used;
    CHECK(used > 100000 && used < 200000);
    OK(csched_worker_lost(w->s, 0));
    EQUAL(stats_of(w).arena_used, 0);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* The interrupt and the current task are compared by ticket and attempt: a late signal hits no other one. */
static void interrupts_name_their_task(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_options_t options = plain();
    options.timeout_ns = 1000000;
    uint64_t first = submit_with(w, (job_t){JOB_NONE, 0, 0}, &options), second = submit(w, JOB_NONE, 1, 0);
    next_item(worker, CSCHED_TASK);
    EQUAL(csched_worker_interrupted(worker), 0);
    csched_target_t target;
    csched_message_t overdue;
    UNTIL(csched_poll(w->s, 0) >= 0 && csched_messages(w->s, 1, &overdue) == 1);
    OK(csched_messages_commit(w->s, 1));
    EQUAL(csched_interrupt(w->s, second, NO_ELEMENT, &target), 0); /* it is not past its limit */
    EQUAL(csched_worker_interrupted(worker), 0);
    EQUAL(csched_interrupt(w->s, first, NO_ELEMENT, &target), 1);
    EQUAL(target.worker, 0);
    EQUAL(csched_worker_interrupted(worker), 1);
    EQUAL(csched_unheard(w->s, first, 0, NO_ELEMENT), 1);
    OK(csched_worker_heard(worker));
    EQUAL(csched_unheard(w->s, first, 0, NO_ELEMENT), 0);
    publish_none(worker);
    EQUAL(csched_worker_interrupted(worker), 0);
    next_item(worker, CSCHED_TASK);
    EQUAL(csched_worker_interrupted(worker), 0);
    publish_none(worker);
    finish(w, 2);
    EQUAL(csched_interrupt(w->s, first, NO_ELEMENT, &target), 0); /* it is over */
    EQUAL(csched_unheard(w->s, first, 0, NO_ELEMENT), CSCHED_EAGAIN);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void a_full_result_ring_says_so(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    submit(w, JOB_NONE, 0, 0);
    next_item(worker, CSCHED_TASK);
    uint8_t body[4000] = {0};
    uint32_t sent = 0;
    int rc;
    while ((rc = csched_worker_emit(worker, CSCHED_OUTPUT, 1, body, sizeof body, IN_LINE)) == 0)
        sent++;
    EQUAL(rc, CSCHED_EAGAIN);
    while (csched_worker_publish(worker, CSCHED_NONE, 0, NULL, 0, IN_LINE) == 0)
        check_failed(__FILE__, __LINE__, "there is room");
    csched_poll(w->s, 0);
    OK(csched_worker_publish(worker, CSCHED_NONE, 0, NULL, 0, IN_LINE));
    csched_message_t messages[256];
    EQUAL(csched_messages(w->s, 256, messages), sent);
    finish(w, 1);
    OK(csched_worker_detach(worker));
    world_close(w);
}

MAIN(TEST(attaching_checks_what_it_gets), TEST(nothing_to_do), TEST(the_stages_of_a_task),
     TEST(a_turn_publishes_and_takes), TEST(inputs_from_everywhere), TEST(inputs_that_are_not_there),
     TEST(frees_that_cannot_be_are_not_followed), TEST(blocks_come_home), TEST(more_frees_than_their_ring_holds),
     TEST(pinned_inputs_stay), TEST(interrupts_name_their_task), TEST(a_full_result_ring_says_so))
