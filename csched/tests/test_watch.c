#define _GNU_SOURCE
#include "internal.h"
#include "worker.h"
#include "world.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

/* A worker process that is in user code, for ever, when its kernel dies. */
static void dies_with_the_kernel(int by_signal)
{
    int ready[2];
    char byte;
    OK(pipe(ready));
    pid_t kernel = fork();
    if (kernel == 0) {
        world_t *w = world_open(0);
        uint32_t index;
        int fds[4], self = (int)syscall(SYS_pidfd_open, getpid(), 0);
        OK(csched_worker_add(w->s, &index, fds));
        pid_t child = fork();
        if (child == 0) {
            csched_worker_t *worker;
            setsid();
            OK(csched_worker_attach(fds, &worker));
            OK(csched_worker_watch(worker, self));
            CHECK(write(ready[1], "", 1) == 1);
            for (;;)
                pause();
        }
        close(ready[1]);
        CHECK(read(ready[0], &byte, 1) == 1);
        if (by_signal)
            kill(getpid(), SIGKILL);
        _exit(0);
    }
    close(ready[1]);
    CHECK(waitpid(kernel, NULL, 0) == kernel);
    /* the pipe ends when the last process that holds it has ended: the worker */
    while (read(ready[0], &byte, 1) > 0)
        continue;
    close(ready[0]);
}

static void a_killed_kernel(void)
{
    dies_with_the_kernel(1);
}

static void a_kernel_that_exits(void)
{
    dies_with_the_kernel(0);
}

/* A process that never looks up, with another below it and a folder, when the process that it is to end with ends. */
static void another_process_ends_with_it(void)
{
    int ends[2], ready[2];
    char byte, folder[] = "/tmp/csched-end-XXXXXX", file[64];
    OK(pipe(ends));
    OK(pipe(ready));
    CHECK(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/file", folder);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    pid_t kernel = fork();
    if (kernel == 0) {
        close(ends[1]);
        close(ready[0]);
        close(ready[1]);
        CHECK(read(ends[0], &byte, 1) == 0);
        _exit(0);
    }
    pid_t other = fork();
    if (other == 0) {
        close(ends[1]);
        setsid();
        OK(csched_end_with((int)syscall(SYS_pidfd_open, kernel, 0), 1000000, folder));
        if (fork() == 0)
            setsid(); /* not found by its group */
        CHECK(write(ready[1], "", 1) == 1);
        for (;;)
            pause();
    }
    close(ready[1]);
    for (int i = 0; i < 2; i++)
        CHECK(read(ready[0], &byte, 1) == 1);
    EQUAL(waitpid(other, NULL, WNOHANG), 0);
    OK(access(file, F_OK));
    close(ends[1]);
    CHECK(waitpid(kernel, NULL, 0) == kernel);
    CHECK(waitpid(other, NULL, 0) == other);
    EQUAL(read(ready[0], &byte, 1), 0); /* the last that holds it has ended: the one below */
    EQUAL(access(folder, F_OK), -1);
    close(ends[0]);
    close(ready[0]);
}

static void signals_are_not_for_the_watch_thread(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    sigset_t block, before;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &block, &before);
    kill(getpid(), SIGUSR1); /* a thread that took it would end the process */
    EQUAL(sigtimedwait(&block, NULL, &(struct timespec){.tv_sec = 10}), SIGUSR1);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void regions_are_mapped_and_dropped(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint64_t block, address;
    OK(csched_block_alloc(w->s, 64, &block, &address));
    memset((void *)(uintptr_t)address, 9, 64);
    uint8_t *kernel = worker_region(worker, REGION_KERNEL, 0);
    CHECK(kernel && kernel[block] == 9);
    CHECK(worker_region(worker, 1, 0) &&
          worker_region(worker, 1, 0) != worker->heap.memory.base); /* its own, read-only */
    uint32_t other = world_thread(w); /* region 2 */
    CHECK(worker_region(worker, 2, 0));
    OK(csched_worker_retire(w->s, w->hands[other].index));
    world_join(w, other);
    OK(csched_worker_lost(w->s, w->hands[other].index));
    shared_u64 *page = worker->regions[0];
    UNTIL((csched_poll(w->s, 0), u64_relaxed(&page[2]) == 0));
    CHECK(u64_relaxed(&page[0]) && u64_relaxed(&page[1]));
    OK(csched_block_free(w->s, block));
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void what_others_wrote_cannot_be_changed(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint64_t block, address;
    OK(csched_block_alloc(w->s, 64, &block, &address));
    uint8_t *kernel = worker_region(worker, REGION_KERNEL, 0);
    CHECK(kernel);
    kernel[block] = 1; /* a copy of its own */
    EQUAL(*(uint8_t *)(uintptr_t)address, 0);
    EQUAL(kernel[block], 1);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static shared_u32 samples;

static void take_samples(void *argument)
{
    csched_worker_t *worker = argument;
    u32_add(&samples, csched_worker_profile_wanted(worker));
    while (csched_worker_profile_wanted(worker))
        usleep(100);
}

static void a_profile_has_a_thread_while_it_is_wanted(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    worker->sampler.argument = worker;
    worker->sampler.run = take_samples; /* looked at by the watch thread, which runs already, after the next message */
    for (uint32_t wanted = 1; wanted < 4; wanted++) {
        u32_store_relaxed(&samples, 0);
        OK(csched_profile(w->s, wanted));
        UNTIL(u32_relaxed(&samples) == wanted);
        OK(csched_profile(w->s, 0));
        UNTIL(!u32_acquire(&worker->sampler.running));
    }
    OK(csched_profile(w->s, 5));
    uint32_t index;
    int fds[4];
    OK(csched_worker_add(w->s, &index, fds)); /* one that comes later */
    EQUAL(u32_relaxed(&w->s->workers[index]->segment->profile), 5);
    OK(csched_profile(w->s, 0));
    UNTIL(!u32_acquire(&worker->sampler.running));
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    OK(csched_worker_lost(w->s, index));
    OK(csched_worker_detach(worker));
    world_close(w);
}

static shared_u32 sendings;

static void count_sendings(void *argument)
{
    (void)argument;
    u32_add(&sendings, 1);
}

static void elements_that_are_over_do_not_wait_for_one_that_runs(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_options_t options = plain();
    options.count = 3;
    submit_with(w, (job_t){JOB_CHUNK, 0, 0}, &options);
    next_item(worker, CSCHED_TASK);
    csched_worker_started(worker);
    csched_worker_element(worker, 0);
    worker->sender.run = count_sendings;
    EQUAL(worker_send(worker), 1000000000); /* nothing is over */
    uint64_t before = csched_now();
    csched_worker_element(worker, 1);
    worker_send(worker);
    UNTIL(u32_acquire(&sendings)); /* by the watch thread, if not by this one */
    CHECK(csched_now() - before >= 100000000);
    OK(csched_worker_partial(worker, 1, 0, "one", 3, IN_LINE));
    UNTIL(!u32_acquire(&worker->sender.running));
    EQUAL(worker_send(worker), 1000000000); /* all of it was sent */
    csched_worker_element(worker, 2);
    EQUAL(worker_send(worker), 100000000);
    publish_none(worker);
    EQUAL(worker_send(worker), 1000000000); /* the chunk is over */
    csched_poll(w->s, 0);
    OK(csched_worker_detach(worker));
    world_close(w);
}

MAIN(TEST(a_killed_kernel), TEST(a_kernel_that_exits), TEST(another_process_ends_with_it),
     TEST(signals_are_not_for_the_watch_thread), TEST(regions_are_mapped_and_dropped),
     TEST(what_others_wrote_cannot_be_changed), TEST(a_profile_has_a_thread_while_it_is_wanted),
     TEST(elements_that_are_over_do_not_wait_for_one_that_runs))
