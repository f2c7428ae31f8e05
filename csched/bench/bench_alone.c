/* How many tasks and edges does the scheduler alone manage, against a zero worker? */
#include "bench.h"
#include <string.h>

enum { SLOTS = 1 << 20 };

static csched_t *scheduler;
static csched_zero_t *zero;

static void open_world(void)
{
    csched_config_t config = {.arena_bytes = 64 << 20, .spin_us = 50};
    uint32_t index;
    int fds[4];
    must(csched_create(&config, &scheduler));
    must(csched_reserve(scheduler, SLOTS));
    must(csched_worker_add(scheduler, &index, fds));
    must(csched_zero_start(fds, 1, &zero));
    csched_worker_info_t info = {0};
    while (info.state != 2) {
        csched_poll(scheduler, 0);
        must(csched_worker_info(scheduler, index, &info));
    }
}

static uint64_t commit_some(void)
{
    static csched_completion_t rows[1024];
    int count = csched_collect(scheduler, 1024, rows);
    must(csched_commit(scheduler, (uint32_t)count));
    return (uint64_t)count;
}

static void finish(uint64_t operations)
{
    for (uint64_t done = 0; done < operations;) {
        must(csched_poll(scheduler, 50));
        done += commit_some();
    }
}

static uint64_t independent(uint64_t n)
{
    uint64_t begin = csched_now();
    for (uint64_t i = 0; i < n; i++)
        must(csched_submit(scheduler, (uint32_t)i, 0, 0, NULL, 0, 0));
    finish(n);
    return csched_now() - begin;
}

static uint64_t tickets[SLOTS];

static uint64_t tree(uint64_t n)
{
    uint64_t leaves = (n + 1) / 2;
    csched_options_t options = {.count = 1, .block = UINT64_MAX, .input_count = 2};
    uint64_t begin = csched_now();
    for (uint64_t i = 0; i < leaves; i++)
        must((int64_t)(tickets[i] = (uint64_t)csched_submit(scheduler, (uint32_t)i, 0, 0, NULL, 0, 0)));
    for (uint64_t i = leaves; i < n; i++) {
        options.inputs = &tickets[2 * (i - leaves)];
        int64_t made = csched_submit_with(scheduler, (uint32_t)i, 0, 0, NULL, 0, 0, &options);
        must(made);
        tickets[i] = (uint64_t)made;
    }
    finish(n);
    return csched_now() - begin;
}

static uint64_t stencil(uint64_t n)
{
    uint64_t w = 1000;
    csched_options_t options = {.count = 1, .block = UINT64_MAX, .input_count = 3};
    uint64_t begin = csched_now();
    for (uint64_t i = 0; i < n; i++) {
        if (i < w) {
            tickets[i] = (uint64_t)csched_submit(scheduler, (uint32_t)i, 0, 0, NULL, 0, 0);
            continue;
        }
        uint64_t j = i % w, first = j ? i - w - 1 : i - w;
        options.inputs = &tickets[first];
        options.input_count = j && j + 1 < w ? 3 : 2;
        int64_t made = csched_submit_with(scheduler, (uint32_t)i, 0, 0, NULL, 0, 0, &options);
        must(made);
        tickets[i] = (uint64_t)made;
    }
    finish(n);
    return csched_now() - begin;
}

int main(int argc, char **argv)
{
    open_world();
    if (argc < 2 || strchr(argv[1], 'i'))
        bench("alone: independent", 1000000, independent);
    if (argc < 2 || strchr(argv[1], 't'))
        bench("alone: tree", SLOTS - 1, tree);
    if (argc < 2 || strchr(argv[1], 's'))
        bench("alone: stencil", 1000000, stencil);
    must(csched_destroy(scheduler));
    must(csched_zero_stop(zero));
}
