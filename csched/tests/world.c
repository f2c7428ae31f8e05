#define _GNU_SOURCE
#include "world.h"

#include <signal.h>
#include <sys/mman.h>

#include "internal.h"
#include "worker.h"

board_t *board;

static void make_board(void)
{
    if (board)
        return;
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(board != MAP_FAILED);
}

void open_gate(uint32_t gate)
{
    u32_store_release(&board->gates[gate], 1); /* partner: pass_gate */
}

static void pass_gate(uint64_t gate)
{
    u32_add(&board->at_gate[gate], 1);
    UNTIL(u32_acquire(&board->gates[gate]) || u32_acquire(&board->gates[ALL_OPEN])); /* partner: open_gate */
}

/* -- worker's side */

static int publish(csched_worker_t *worker, uint32_t status, uint32_t failures, const void *data, uint64_t size,
                   uint64_t block)
{
    int rc;
    do
        rc = csched_worker_publish(worker, status, failures, data, size, block);
    while (rc == CSCHED_EAGAIN && !u32_acquire(&board->gates[ALL_OPEN]));
    return rc;
}

static void return_block(csched_worker_t *worker, uint32_t tag, uint64_t bytes)
{
    uint64_t block, address;
    if (csched_worker_alloc(worker, bytes, &block, &address) < 0)
        OK(csched_worker_spill(worker, bytes, &block, &address));
    u64_store_relaxed(&board->arena_used[csched_worker_index(worker) % 64], worker->heap.memory.used);
    uint8_t *data = (uint8_t *)(uintptr_t)address;
    memset(data, (int)(tag & 0xff), bytes);
    OK(csched_worker_fill(worker, block, data, 1));
    publish(worker, CSCHED_VALUE, 0, NULL, bytes, block);
}

static uint64_t sum_inputs(csched_worker_t *worker, const csched_item_t *item)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < item->inputs; i++) {
        uint32_t status;
        uint64_t address, size, value = 0;
        OK(csched_worker_input(worker, i, &status, &address, &size));
        if (status == CSCHED_VALUE) {
            EQUAL(size, sizeof value);
            memcpy(&value, (const void *)(uintptr_t)address, sizeof value);
        }
        sum += value;
    }
    return sum;
}

static uint64_t measure_inputs(csched_worker_t *worker, const csched_item_t *item)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < item->inputs; i++) {
        uint32_t status;
        uint64_t address, size;
        OK(csched_worker_input(worker, i, &status, &address, &size));
        const uint8_t *data = (const uint8_t *)(uintptr_t)address;
        for (uint64_t at = 0; at < size; at += 509)
            EQUAL(data[at], data[0]);
        CHECK(!size || data[size - 1] == data[0]);
        bytes += size;
    }
    return bytes;
}

static void publish_nonsense(csched_worker_t *worker)
{
    entry_t *entry;
    OK(ring_reserve(&worker->results, 96, &entry));
    memset((uint8_t *)entry + sizeof *entry, 0xee, 96 - sizeof *entry);
    entry->kind = ENTRY_RESULT;
    ring_commit(&worker->results);
}

static void emit_many(csched_worker_t *worker, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        int rc;
        do
            rc = csched_worker_emit(worker, CSCHED_OUTPUT, 1, &i, sizeof i, IN_LINE);
        while (rc == CSCHED_EAGAIN && !u32_acquire(&board->gates[ALL_OPEN]));
    }
}

static void run_chunk(csched_worker_t *worker, const csched_item_t *item, uint64_t failures)
{
    csched_worker_started(worker);
    for (uint32_t i = 0; i < item->count; i++)
        csched_worker_element(worker, i);
    csched_worker_finished(worker);
    publish(worker, CSCHED_VALUE, (uint32_t)failures, &failures, sizeof failures, IN_LINE);
}

static void pin(csched_worker_t *worker, uint64_t ticket)
{
    static uint64_t pinned;
    while (pinned && csched_worker_unpin(worker, pinned) == CSCHED_EAGAIN)
        continue;
    pinned = ticket;
    publish(worker, CSCHED_NONE | CSCHED_PINS, 0, NULL, 0, IN_LINE);
}

static void run_plain(csched_worker_t *worker, const csched_item_t *item, const job_t *job)
{
    uint64_t value = job->value;
    csched_worker_started(worker);
    if (job->kind == JOB_GATE)
        pass_gate(value);
    else if (job->kind == JOB_EMIT)
        emit_many(worker, value);
    else if (job->kind == JOB_SUM)
        value += sum_inputs(worker, item);
    else if (job->kind == JOB_MEASURE)
        value = measure_inputs(worker, item);
    else if (job->kind == JOB_KILL)
        kill(getpid(), SIGKILL);
    csched_worker_finished(worker);
    if (job->kind == JOB_SUM || job->kind == JOB_MEASURE)
        publish(worker, CSCHED_VALUE, 0, &value, sizeof value, IN_LINE);
    else if (job->kind == JOB_FAIL && item->flags < value)
        publish(worker, CSCHED_ERROR, 1, "error", 5, IN_LINE);
    else
        publish(worker, CSCHED_NONE, 0, NULL, 0, IN_LINE);
    if (job->kind == JOB_PUBLISH_AND_DIE)
        kill(getpid(), SIGKILL);
    if (job->kind == JOB_TWICE)
        publish(worker, CSCHED_ERROR, 1, "late", 4, IN_LINE);
}

void run_job(csched_worker_t *worker, const csched_item_t *item)
{
    job_t job;
    CHECK(item->size >= sizeof job);
    memcpy(&job, (const void *)(uintptr_t)item->address, sizeof job);
    u32_add(&board->ran[job.tag % BOARD_TASKS], 1);
    uint32_t n = u32_add(&board->order, 1);
    if (n < sizeof board->started_as / sizeof *board->started_as)
        u32_store_release(&board->started_as[n], job.tag);
    if (job.kind == JOB_BLOCK)
        return_block(worker, job.tag, job.value);
    else if (job.kind == JOB_CHUNK)
        run_chunk(worker, item, job.value);
    else if (job.kind == JOB_PIN)
        pin(worker, item->ticket);
    else if (job.kind == JOB_CORRUPT)
        publish_nonsense(worker);
    else if (job.kind == JOB_ECHO && item->size <= INLINE_LIMIT)
        publish(worker, CSCHED_VALUE, 0, (const void *)(uintptr_t)item->address, item->size, IN_LINE);
    else
        run_plain(worker, item, &job);
}

void worker_loop(csched_worker_t *worker)
{
    csched_item_t item;
    for (;;) {
        int rc = csched_worker_next(worker, 20, 200, &item);
        if (rc == CSCHED_EAGAIN)
            continue;
        if (rc == CSCHED_ESTOPPED)
            return;
        OK(rc);
        if (item.kind == CSCHED_TASK)
            run_job(worker, &item);
        else if (item.kind == CSCHED_CONTROL)
            csched_worker_emit(worker, CSCHED_REPLY, item.function, (const void *)(uintptr_t)item.address, item.size,
                               IN_LINE);
    }
}

static void serve(const int fds[4])
{
    csched_worker_t *worker;
    OK(csched_worker_attach(fds, &worker));
    OK(csched_worker_watch(worker, -1));
    OK(csched_worker_ready(worker));
    worker_loop(worker);
    OK(csched_worker_detach(worker));
}

csched_worker_t *by_hand(world_t *w)
{
    csched_worker_t *worker;
    hand_t *hand = &w->hands[world_add(w)];
    OK(csched_worker_attach(hand->fds, &worker));
    OK(csched_worker_watch(worker, -1));
    OK(csched_worker_ready(worker));
    csched_poll(w->s, 0);
    return worker;
}

csched_item_t next_item(csched_worker_t *worker, uint32_t kind)
{
    csched_item_t item;
    EQUAL(csched_worker_next(worker, 0, 0, &item), CSCHED_OK);
    EQUAL(item.kind, kind);
    return item;
}

void publish_none(csched_worker_t *worker)
{
    OK(csched_worker_publish(worker, CSCHED_NONE, 0, NULL, 0, IN_LINE));
}

static void *thread_main(void *argument)
{
    hand_t *hand = argument;
    serve(hand->fds);
    return NULL;
}

/* -- kernel's side */

world_t *world_open_with(const csched_config_t *config)
{
    make_board();
    world_t *w = calloc(1, sizeof *w);
    CHECK(w);
    csched_config_t chosen = *config;
    if (!chosen.file_bytes)
        chosen.file_bytes = 64 << 20; /* addresses are short under the thread sanitizer */
    OK(csched_create(&chosen, &w->s));
    return w;
}

world_t *world_open(uint32_t helper)
{
    csched_config_t config = {.arena_bytes = 64 << 20, .journey_rows = 4096, .helper = helper};
    return world_open_with(&config);
}

uint32_t world_add(world_t *w)
{
    hand_t *hand = &w->hands[w->hand_count];
    CHECK(w->hand_count < sizeof w->hands / sizeof *w->hands);
    OK(csched_worker_add(w->s, &hand->index, hand->fds));
    hand->world = w;
    return w->hand_count++;
}

uint32_t world_thread(world_t *w)
{
    uint32_t hand = world_add(w);
    OK(pthread_create(&w->hands[hand].thread, NULL, thread_main, &w->hands[hand]));
    w->hands[hand].running = true;
    return hand;
}

uint32_t world_process(world_t *w)
{
    uint32_t at = world_add(w);
    hand_t *hand = &w->hands[at];
    pthread_mutex_lock(&w->s->lock); /* the helper allocates under it: the child must not inherit an allocator's lock */
    hand->process = fork();
    if (hand->process)
        pthread_mutex_unlock(&w->s->lock);
    CHECK(hand->process >= 0);
    if (hand->process == 0) {
        alarm(TEST_SECONDS);
        serve(hand->fds);
        _exit(0);
    }
    for (int i = 0; i < 4; i++)
        close(hand->fds[i]);
    hand->running = true;
    return at;
}

void world_threads(world_t *w, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        world_thread(w);
}

void world_join(world_t *w, uint32_t at)
{
    hand_t *hand = &w->hands[at];
    if (!hand->running)
        return;
    hand->running = false;
    if (hand->process)
        CHECK(waitpid(hand->process, NULL, 0) == hand->process);
    else
        OK(pthread_join(hand->thread, NULL));
}

void world_kill(world_t *w, uint32_t at)
{
    kill(w->hands[at].process, SIGKILL);
    world_join(w, at);
    OK(csched_worker_lost(w->s, w->hands[at].index));
}

void world_close(world_t *w)
{
    open_gate(ALL_OPEN);
    for (uint32_t i = 0; i < w->hand_count; i++)
        if (w->hands[i].running)
            csched_worker_retire(w->s, w->hands[i].index);
    for (uint32_t i = 0; i < w->hand_count; i++)
        world_join(w, i);
    OK(csched_destroy(w->s));
    free(w);
}

csched_options_t plain(void)
{
    return (csched_options_t){.count = 1, .block = IN_LINE};
}

uint64_t submit_with(world_t *w, job_t job, const csched_options_t *options)
{
    if (w->next_slot % 4096 == 0)
        OK(csched_reserve(w->s, w->next_slot + 1));
    int64_t ticket = csched_submit_with(w->s, w->next_slot, 0, 0, &job, sizeof job, 0, options);
    CHECK(ticket > 0);
    w->next_slot++;
    return (uint64_t)ticket;
}

uint64_t submit(world_t *w, job_kind_t kind, uint32_t tag, uint64_t value)
{
    return submit_with(w, (job_t){kind, tag, value}, NULL);
}

uint32_t collect_some(world_t *w)
{
    csched_completion_t rows[256];
    int count = csched_collect(w->s, 256, rows);
    CHECK(count >= 0);
    for (int i = 0; i < count; i++) {
        w->by_status[rows[i].status]++;
        if (w->on_completion)
            w->on_completion(w, &rows[i]);
    }
    OK(csched_commit(w->s, (uint32_t)count));
    w->done += (uint32_t)count;
    return (uint32_t)count;
}

void finish(world_t *w, uint64_t count)
{
    double limit = seconds_now() + UNTIL_SECONDS;
    while (w->done < count) {
        csched_wait(w->s, 50);
        while (collect_some(w))
            continue;
        if (seconds_now() > limit) {
            csched_stats_t stats = stats_of(w);
            fprintf(stderr,
                    "  %" PRIu64 " of %" PRIu64 " ended; waiting %" PRIu64 " queued %" PRIu64 " running %" PRIu64 "\n",
                    w->done, count, stats.waiting, stats.queued, stats.running);
            check_failed(__FILE__, __LINE__, "tasks never ended");
        }
    }
    EQUAL(w->done, count);
}

csched_message_t only_message(world_t *w, uint32_t kind)
{
    csched_message_t message;
    UNTIL((csched_poll(w->s, 0), csched_messages(w->s, 1, &message) == 1));
    EQUAL(message.kind, kind);
    OK(csched_messages_commit(w->s, 1));
    return message;
}

csched_stats_t stats_of(world_t *w)
{
    csched_stats_t stats;
    OK(csched_stats(w->s, &stats));
    return stats;
}

csched_worker_info_t info_of(world_t *w, uint32_t index)
{
    csched_worker_info_t info;
    OK(csched_worker_info(w->s, index, &info));
    return info;
}
