/* How many tasks and edges does the scheduler alone manage, in batches against a zero worker?  Independent tasks, a
 * reduction tree of 2^20 and a stencil of 1,000 x 1,000.  `cellmill bench scheduler-alone` runs the same, and compiles
 * this file with and without -DCSCHED_NO_JOURNEY to see what journeys cost. */
#include "bench.h"

enum { TASKS = 1000000, SLOTS = 1 << 20, WIDTH = 1000, BATCH = 8192 };

static csched_t *scheduler;
static csched_zero_t *zero;
static uint32_t slots[SLOTS], freed[BATCH];
static uint64_t tickets[SLOTS], ends[SLOTS], inputs[3 * SLOTS];

static void open_world(void)
{
    csched_config_t config = {.arena_bytes = 64 << 20, .spin_us = 50};
    uint32_t index;
    int fds[4];
    must(csched_create(&config, &scheduler));
    must(csched_reserve(scheduler, SLOTS));
    must(csched_worker_add(scheduler, &index, fds));
    must(csched_zero_start(fds, 1, &zero));
    for (csched_stats_t stats = {0}; !stats.ready_workers; must(csched_stats(scheduler, &stats)))
        must(csched_poll(scheduler, 50));
    for (uint32_t i = 0; i < SLOTS; i++)
        slots[i] = i;
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

/* With an argument: so many independent tasks and nothing else. */
int main(int argc, char **argv)
{
    uint64_t tasks = argc > 1 ? strtoull(argv[1], NULL, 10) : TASKS;
    open_world();
    bench("alone: independent tasks", tasks < SLOTS ? tasks : SLOTS, independent);
    if (argc > 1)
        return 0;
    make_tree(SLOTS - 1);
    bench("alone: a tree", SLOTS - 1, graph);
    make_stencil(TASKS);
    bench("alone: a stencil, about 3 edges a task", TASKS, graph);
    must(csched_destroy(scheduler));
    must(csched_zero_stop(zero));
}
