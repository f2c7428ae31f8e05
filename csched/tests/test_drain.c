#include "internal.h"
#include "worker.h"
#include "world.h"

enum { MANY = SCALED(100000) };

static void errors_are_retried(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    csched_options_t options = plain();
    options.retries = 3;
    submit_with(w, (job_t){JOB_FAIL, 0, 3}, &options);   /* fails three times, then succeeds */
    submit_with(w, (job_t){JOB_FAIL, 1, 100}, &options); /* fails for good */
    submit(w, JOB_FAIL, 2, 1);
    finish(w, 3);
    EQUAL(u32_relaxed(&board->ran[0]), 4);
    EQUAL(u32_relaxed(&board->ran[1]), 4);
    EQUAL(u32_relaxed(&board->ran[2]), 1);
    EQUAL(w->by_status[CSCHED_NONE], 1);
    EQUAL(w->by_status[CSCHED_ERROR], 2);
    EQUAL(stats_of(w).failed, 2);
    world_close(w);
}

static void an_attempt_was_received_when_it_was(void)
{
    world_t *w = world_open(1);
    csched_options_t options = plain();
    options.retries = 1;
    submit_with(w, (job_t){JOB_FAIL, 0, 1}, &options);
    submit(w, JOB_NONE, 1, 0);
    world_thread(w);
    while (!u32_acquire(&board->ran[1])) /* the worker has taken the next one when the failure is heard of */
        sched_yield();
    finish(w, 2);
    csched_journey_t rows[3];
    uint64_t cursor = 0, dropped;
    EQUAL(csched_journeys(w->s, &cursor, 3, rows, &dropped), 3);
    EQUAL(rows[0].status, CSCHED_RETRIED);
    EQUAL(rows[1].ticket == rows[0].ticket, 0);
    CHECK(rows[0].stamps[3] < rows[1].stamps[3]);
    world_close(w);
}

static void failure_goes_along_a_chain(void)
{
    world_t *w = world_open(1);
    csched_options_t options = plain();
    uint64_t ticket = submit(w, JOB_FAIL, 0, 1);
    options.inputs = &ticket;
    options.input_count = 1;
    for (uint32_t i = 1; i < MANY; i++)
        ticket = submit_with(w, (job_t){JOB_NONE, i, 0}, &options);
    world_thread(w);
    finish(w, MANY);
    EQUAL(w->by_status[CSCHED_ERROR], 1);
    EQUAL(w->by_status[CSCHED_DEPENDENCY], MANY - 1);
    EQUAL(u32_relaxed(&board->order), 1);
    world_close(w);
}

static uint32_t position;

static void note_position(world_t *w, const csched_completion_t *completion)
{
    (void)w;
    if (completion->status == CSCHED_DEPENDENCY)
        position = completion->detail;
}

static void the_failed_input_is_named(void)
{
    world_t *w = world_open(0);
    world_thread(w);
    w->on_completion = note_position;
    uint64_t inputs[3] = {submit(w, JOB_NONE, 0, 0), submit(w, JOB_GATE, 1, 1), submit(w, JOB_FAIL, 2, 9)};
    csched_options_t options = plain();
    options.inputs = inputs;
    options.input_count = 3;
    submit_with(w, (job_t){JOB_SUM, 3, 0}, &options);
    open_gate(1);
    UNTIL(csched_poll(w->s, 0) == 4);
    submit_with(w, (job_t){JOB_SUM, 4, 0}, &options); /* and when it had failed before */
    finish(w, 5);
    EQUAL(w->by_status[CSCHED_DEPENDENCY], 2);
    EQUAL(position, 2);
    world_close(w);
}

static void chunks_have_a_row_per_element(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    csched_options_t options = plain();
    options.count = 1000;
    submit_with(w, (job_t){JOB_CHUNK, 0, 7}, &options);
    finish(w, 1);
    EQUAL(stats_of(w).succeeded, 993);
    EQUAL(stats_of(w).failed, 7);
    csched_journey_t *rows = calloc(1001, sizeof *rows);
    uint64_t cursor = 0, dropped;
    EQUAL(csched_journeys(w->s, &cursor, 1001, rows, &dropped), 1000);
    csched_journey_t newest[3];
    EQUAL(csched_journeys_newest(w->s, 3, newest), 3);
    CHECK(!memcmp(newest, rows + 997, sizeof newest));
    for (uint32_t i = 0; i < 1000; i++) {
        EQUAL(rows[i].element, i);
        EQUAL(rows[i].position, rows[0].position + i);
        for (int k = 1; k < 8; k++)
            CHECK(rows[i].stamps[k] >= rows[i].stamps[k - 1]);
        CHECK(i == 0 || rows[i].stamps[4] == rows[i - 1].stamps[5]); /* one begins where the last one ends */
    }
    free(rows);
    world_close(w);
}

static void is_counted(world_t *w, uint64_t succeeded, uint64_t failed, uint64_t lost)
{
    csched_poll(w->s, 0);
    csched_stats_t stats = stats_of(w);
    EQUAL(stats.succeeded, succeeded);
    EQUAL(stats.failed, failed);
    EQUAL(stats.lost, lost);
}

static void elements_count_as_they_are_over(void)
{
    for (int dies = 0; dies < 2; dies++) {
        world_t *w = world_open(0);
        csched_worker_t *worker = by_hand(w);
        csched_options_t options = plain();
        options.count = 10;
        submit_with(w, (job_t){JOB_CHUNK, 0, 0}, &options);
        submit_with(w, (job_t){JOB_CHUNK, 1, 0}, &options);
        next_item(worker, CSCHED_TASK);
        OK(csched_worker_partial(worker, 4, 1, "four", 4, IN_LINE));
        is_counted(w, 3, 1, 0);
        OK(csched_worker_partial(worker, 6, 2, "six", 3, IN_LINE));
        is_counted(w, 4, 2, 0);
        EQUAL(u32_relaxed(&worker->sent), 6);
        if (dies) {
            OK(csched_worker_lost(w->s, 0));
            is_counted(w, 0, 10, 10); /* who takes its results knows which were over */
        } else {
            OK(csched_worker_publish(worker, CSCHED_VALUE, 3, "rest", 4, IN_LINE));
            is_counted(w, 7, 3, 0);
            next_item(worker, CSCHED_TASK);
            EQUAL(u32_relaxed(&worker->sent), 0);
            OK(csched_worker_publish(worker, CSCHED_VALUE, 0, "all", 3, IN_LINE));
            is_counted(w, 17, 3, 0);
        }
        OK(csched_worker_detach(worker));
        world_close(w);
    }
}

static void newest_rows_are_there_before_results_are_taken(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    submit(w, JOB_SUM, 0, 0);
    UNTIL(csched_poll(w->s, 0) == 1);
    csched_journey_t rows[2];
    uint64_t cursor = 0, dropped;
    EQUAL(csched_journeys(w->s, &cursor, 2, rows, &dropped), 0);
    EQUAL(csched_journeys_newest(w->s, 2, rows), 1);
    CHECK(rows[0].stamps[6] && !rows[0].stamps[7]);
    finish(w, 1);
    EQUAL(csched_journeys_newest(w->s, 2, rows), 1);
    CHECK(rows[0].stamps[7] >= rows[0].stamps[6]);
    world_close(w);
}

/* The marks of the largest chunk do not fit into the smallest ring: its result comes all the same. */
static void a_chunk_too_long_for_the_ring(void)
{
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = 1 << 20, .helper = 1};
    world_t *w = world_open_with(&config);
    world_thread(w);
    csched_options_t options = plain();
    const uint32_t counts[] = {500, 4096, 5000, 100000};
    for (uint32_t i = 0; i < 4; i++) {
        options.count = counts[i];
        submit_with(w, (job_t){JOB_CHUNK, i, 0}, &options);
    }
    finish(w, 4);
    EQUAL(stats_of(w).succeeded, 500 + 4096 + 5000 + 100000);
    world_close(w);
}

static void messages_come_in_order(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    uint64_t ticket = submit(w, JOB_EMIT, 0, MANY / 10), next = 0;
    while (next < MANY / 10) {
        csched_message_t messages[64];
        csched_wait(w->s, 50);
        int count = csched_messages(w->s, 64, messages);
        for (int i = 0; i < count; i++, next++) {
            EQUAL(messages[i].kind, CSCHED_OUTPUT);
            EQUAL(messages[i].ticket, ticket);
            EQUAL(memcmp((const void *)(uintptr_t)messages[i].address, &next, sizeof next), 0);
        }
        OK(csched_messages_commit(w->s, (uint32_t)count));
    }
    EQUAL(csched_messages_commit(w->s, 1), CSCHED_EINVAL);
    finish(w, 1);
    world_close(w);
}

static void control_is_answered(void)
{
    world_t *w = world_open(1);
    uint32_t hand = world_thread(w);
    OK(csched_control(w->s, w->hands[hand].index, 42, "how are you", 11));
    csched_message_t reply = only_message(w, CSCHED_REPLY);
    EQUAL(reply.detail, 42);
    EQUAL(reply.size, 11);
    EQUAL(reply.ticket, 0);
    EQUAL(csched_control(w->s, 99, 1, "", 0), CSCHED_EINVAL);
    uint8_t *large = calloc(1, 200000);
    EQUAL(csched_control(w->s, w->hands[hand].index, 1, large, 200000), CSCHED_ETOOBIG);
    free(large);
    world_close(w);
}

/* The worker's memory is corrupt: the kernel reports it, reads nothing outside, and the task ends with the worker. */
static void nonsense_is_reported_and_survived(void)
{
    world_t *w = world_open(0);
    uint32_t hand = world_thread(w);
    submit(w, JOB_CORRUPT, 0, 0);
    submit(w, JOB_NONE, 1, 0);
    csched_message_t message = only_message(w, CSCHED_OVERDUE);
    EQUAL(message.detail, -CSCHED_ECORRUPT);
    EQUAL(message.ticket, 0);
    EQUAL(info_of(w, 0).state, 3);
    OK(csched_worker_lost(w->s, w->hands[hand].index)); /* it lives: it is retired */
    world_join(w, hand);
    world_thread(w);
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_LOST] + w->by_status[CSCHED_NONE], 2);
    world_close(w);
}

static void a_result_published_twice_stands(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    submit(w, JOB_NONE, 0, 0);
    submit(w, JOB_NONE, 1, 0);
    for (int i = 0; i < 2; i++) {
        next_item(worker, CSCHED_TASK);
        publish_none(worker);
        EQUAL(csched_worker_publish(worker, CSCHED_ERROR, 1, "late", 4, IN_LINE), 1);
    }
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_NONE], 2);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void put_result(csched_worker_t *worker, result_entry_t form, uint64_t extra)
{
    entry_t *entry;
    OK(ring_reserve(&worker->results, sizeof form + extra, &entry));
    form.head.bytes = entry->bytes;
    memcpy(entry, &form, sizeof form);
    ring_commit(&worker->results);
}

/* One wrong field each: none is accepted. */
static void every_field_of_a_result_is_checked(void)
{
    const result_entry_t good = {.head = {.kind = ENTRY_RESULT},
                                 .status = CSCHED_VALUE,
                                 .payload = {.region = REGION_INLINE, .offset = sizeof(result_entry_t), .size = 8}};
    for (int field = 0; field < 10; field++) {
        world_t *w = world_open(0);
        csched_worker_t *worker = by_hand(w);
        result_entry_t form = good;
        form.ticket = submit(w, JOB_NONE, 0, 0);
        next_item(worker, CSCHED_TASK);
        switch (field) {
        case 0:
            form.head.kind = 99;
            break;
        case 1:
            form.head.kind = ENTRY_TASK;
            break;
        case 2:
            form.ticket++;
            break;
        case 3:
            form.stamps = UINT32_MAX;
            break;
        case 4:
            form.payload.offset = 0;
            break;
        case 5:
            form.payload.offset = UINT64_MAX;
            break;
        case 6:
            form.payload.size = UINT64_MAX;
            break;
        case 7:
            form.payload.size = 4096;
            break;
        case 8:
            form.payload = (ref_t){.region = 0, .offset = 64, .size = 64};
            break; /* a block in an empty arena */
        default:
            form.status = 77;
            break;
        }
        put_result(worker, form, 16);
        csched_poll(w->s, 0);
        EQUAL(info_of(w, 0).state, 3);
        EQUAL(csched_collect(w->s, 1, &(csched_completion_t){0}), 0);
        OK(csched_worker_detach(worker));
        world_close(w);
    }
}

/* Messages that a worker must not send, or that name a task which does not exist, are dropped. */
static void every_message_is_checked(void)
{
    for (int field = 0; field < 8; field++) {
        world_t *w = world_open(0);
        csched_worker_t *worker = by_hand(w);
        result_entry_t form = {.head = {.kind = ENTRY_MESSAGE, .slot = 0}, .payload = {.region = REGION_NONE}};
        form.ticket = submit(w, JOB_NONE, 0, 0);
        form.count = CSCHED_PARTIAL;
        next_item(worker, CSCHED_TASK);
        put_result(worker, form, 0);
        csched_poll(w->s, 0);
        OK(csched_messages_commit(w->s, 1)); /* this one is good */
        if (field < 3)
            form.count = (const uint32_t[]){0, CSCHED_OVERDUE, 99}[field];
        else if (field == 3)
            form.head.slot = 1;
        else if (field > 5) /* more elements than it has, or more failures than elements */
            *(field == 6 ? &form.detail : &form.status) = 2;
        else
            form.ticket = field == 4 ? 0 : form.ticket + (UINT64_C(1) << 32);
        put_result(worker, form, 0);
        csched_poll(w->s, 0);
        EQUAL(info_of(w, 0).state, 3);
        csched_message_t said[2];
        EQUAL(csched_messages(w->s, 2, said), 1);
        EQUAL(said[0].kind, CSCHED_OVERDUE);
        EQUAL(said[0].ticket, 0); /* the report of corrupt memory */
        OK(csched_worker_detach(worker));
        world_close(w);
    }
}

MAIN(TEST(errors_are_retried), TEST(an_attempt_was_received_when_it_was), TEST(failure_goes_along_a_chain),
     TEST(the_failed_input_is_named), TEST(chunks_have_a_row_per_element), TEST(elements_count_as_they_are_over),
     TEST(newest_rows_are_there_before_results_are_taken), TEST(a_chunk_too_long_for_the_ring),
     TEST(messages_come_in_order), TEST(control_is_answered), TEST(nonsense_is_reported_and_survived),
     TEST(a_result_published_twice_stands), TEST(every_field_of_a_result_is_checked), TEST(every_message_is_checked))
