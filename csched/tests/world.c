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

static void serve(const int fds[4])
{
    csched_worker_t *worker;
    OK(csched_worker_attach(fds, &worker));
    OK(csched_worker_watch(worker, -1));
    OK(csched_worker_ready(worker));
    worker_loop(worker);
    OK(csched_worker_detach(worker));
}

static csched_t *driven; /* the scheduler of the workers that are driven by hand: a test's own process has one */

csched_worker_t *by_hand(world_t *w)
{
    csched_worker_t *worker;
    driven = w->s;
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
    int rc;
    /* on a busy machine a task may look stuck: what waits behind it is recalled, and sent again once it is over */
    UNTIL((rc = csched_worker_next(worker, 0, 0, &item)) != CSCHED_EAGAIN || csched_poll(driven, 0) < 0);
    EQUAL(rc, CSCHED_OK);
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
