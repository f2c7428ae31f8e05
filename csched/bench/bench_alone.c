/* How many tasks and edges does the scheduler alone manage, in batches against a zero worker?  Independent tasks, a
 * reduction tree of 2^20 and a stencil of 1,000 x 1,000.  And how much processor time does a task take at both ends,
 * when one thread is kernel and worker?  `python -m benchmarks scheduler-alone` asks the first in Python, and compiles this
 * file with and without -DCSCHED_NO_JOURNEY to see by the second what journeys cost. */
#include <time.h>

#include "csched_lab.h"
#include "bench.h"

enum { TASKS = 1000000, SLOTS = 1 << 20, WIDTH = 1000, BATCH = 8192, WINDOW = 256 };

static csched_t *scheduler;
static csched_zero_t *zero;
static csched_worker_t *by_hand;
static uint32_t slots[SLOTS], freed[BATCH];
static uint64_t tickets[SLOTS], ends[SLOTS], inputs[3 * SLOTS];

static void open_world(int fds[4])
{
    csched_config_t config = {.arena_bytes = 64 << 20, .spin_us = 50};
    uint32_t index;
    must(csched_create(&config, &scheduler));
    must(csched_reserve(scheduler, SLOTS));
    must(csched_worker_add(scheduler, &index, fds));
    for (uint32_t i = 0; i < SLOTS; i++)
        slots[i] = i;
}

static void start_zero(void)
{
    int fds[4];
    open_world(fds);
    must(csched_zero_start(fds, 1, &zero));
    for (csched_stats_t stats = {0}; !stats.ready_workers; must(csched_stats(scheduler, &stats)))
        must(csched_poll(scheduler, 50));
}

static void submit(const csched_batch_t *batch)
{
    must(csched_submit_many(scheduler, batch) == (int)batch->count ? 0 : CSCHED_EINVAL);
}

static void finish(uint64_t tasks)
{
    for (uint64_t done = 0; done < tasks;) {
        must(csched_poll(scheduler, 50));
        int count = csched_discard(scheduler, BATCH, freed);
        must(count);
        done += (uint64_t)count;
    }
}

static uint64_t independent(uint64_t tasks)
{
    uint64_t begin = csched_now();
    uint64_t done = 0;
    for (uint64_t i = 0; i < tasks; i += BATCH) {
        submit(&(csched_batch_t){
            .count = (uint32_t)(tasks - i < BATCH ? tasks - i : BATCH), .slots = slots + i, .tickets = tickets + i});
        done += (uint64_t)csched_discard(scheduler, BATCH, freed);
    }
    finish(tasks - done);
    return csched_now() - begin;
}

static uint64_t graph(uint64_t tasks)
{
    const csched_batch_t batch = {
        .count = (uint32_t)tasks, .slots = slots, .input_ends = ends, .inputs = inputs, .tickets = tickets};
    uint64_t begin = csched_now();
    submit(&batch);
    finish(tasks);
    return csched_now() - begin;
}

static void make_tree(uint64_t tasks)
{
    uint64_t edges = 0, leaves = (tasks + 1) / 2;
    for (uint64_t i = 0; i < tasks; i++) {
        for (uint64_t k = 0; i >= leaves && k < 2; k++)
            inputs[edges++] = 2 * (i - leaves) + k;
        ends[i] = edges;
    }
}

static void make_stencil(uint64_t tasks)
{
    uint64_t edges = 0;
    for (uint64_t i = 0; i < tasks; i++) {
        for (uint64_t k = i % WIDTH ? 0 : 1; i >= WIDTH && k < (i % WIDTH == WIDTH - 1 ? 2 : 3); k++)
            inputs[edges++] = i - WIDTH - 1 + k;
        ends[i] = edges;
    }
}

static uint64_t processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t both_ends(uint64_t tasks)
{
    uint64_t begin = processor_time();
    for (uint64_t i = 0; i < tasks; i += WINDOW) {
        csched_item_t item;
        submit(&(csched_batch_t){.count = WINDOW, .slots = slots, .tickets = tickets});
        for (int done = 0; done < WINDOW; done = csched_poll(scheduler, 0)) {
            int rc = csched_worker_next(by_hand, 0, 0, &item);
            while (rc == CSCHED_OK)
                rc = csched_worker_turn(by_hand, CSCHED_NONE, 0, NULL, 0, UINT64_MAX, 0, 0, &item);
        }
        must(csched_discard(scheduler, WINDOW, freed));
    }
    return processor_time() - begin;
}

static void measure_both_ends(uint64_t tasks)
{
    int fds[4];
    open_world(fds);
    must(csched_worker_attach(fds, &by_hand));
    must(csched_worker_ready(by_hand));
    bench("alone: both ends of independent tasks", tasks / WINDOW * WINDOW, both_ends);
    must(csched_destroy(scheduler));
    must(csched_worker_detach(by_hand));
}

/* With an argument: both ends of so many tasks, and nothing else. */
int main(int argc, char **argv)
{
    measure_both_ends(argc > 1 ? strtoull(argv[1], NULL, 10) : TASKS);
    if (argc > 1)
        return 0;
    start_zero();
    bench("alone: independent tasks", TASKS, independent);
    make_tree(SLOTS - 1);
    bench("alone: a tree", SLOTS - 1, graph);
    make_stencil(TASKS);
    bench("alone: a stencil, about 3 edges a task", TASKS, graph);
    must(csched_destroy(scheduler));
    must(csched_zero_stop(zero));
}
