#define _GNU_SOURCE
#include "internal.h"
#include "worker.h"
#include "world.h"

#include <dirent.h>
#include <signal.h>

static int descriptors(void)
{
    int found = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        found++;
    closedir(folder);
    return found;
}

/* Mappings of memfds in this process. */
static int mappings(void)
{
    char line[512];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        found += strstr(line, "memfd:cellmill") != NULL;
    fclose(maps);
    return found;
}

static void child_passes(pid_t child)
{
    int status;
    CHECK(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    EQUAL(status, 0);
}

static void a_child_of_the_kernel_holds_nothing(void)
{
    int before = descriptors();
    world_t *w = world_open(0);
    world_process(w);
    submit(w, JOB_BLOCK, 1, 100000);
    finish(w, 1);
    CHECK(mappings() > 0);
    pid_t child = fork();
    if (child == 0) {
        OK(csched_forked(w->s));
        EQUAL(mappings(), 0);
        CHECK(descriptors() <= before);
        job_t job = {.kind = JOB_NONE};
        EQUAL(csched_submit(w->s, 5, 0, UINT32_MAX, &job, sizeof job, 0), CSCHED_ESTOPPED);
        EQUAL(csched_poll(w->s, 0), 0);
        _exit(0);
    }
    child_passes(child);
    submit(w, JOB_NONE, 2, 0); /* the parent goes on */
    finish(w, 2);
    world_close(w);
}

static void it_keeps_the_payloads_that_it_looks_at(void)
{
    world_t *w = world_open(0);
    csched_completion_t completion;
    world_process(w);
    submit(w, JOB_BLOCK, 7, 100000);
    UNTIL(csched_wait(w->s, 10) > 0);
    EQUAL(csched_collect(w->s, 1, &completion), 1);
    OK(csched_blob_retain(w->s, completion.blob));
    OK(csched_commit(w->s, 1));
    pid_t child = fork();
    if (child == 0) {
        OK(csched_forked(w->s));
        CHECK(mappings() > 0);
        for (uint64_t i = 0; i < completion.size; i++)
            EQUAL(((uint8_t *)(uintptr_t)completion.address)[i], 7);
        _exit(0);
    }
    child_passes(child);
    OK(csched_blob_release(w->s, completion.blob));
    child = fork();
    if (child == 0) {
        OK(csched_forked(w->s));
        EQUAL(mappings(), 0);
        _exit(0);
    }
    child_passes(child);
    w->done = 1;
    world_close(w);
}

/* The lock may be held by a thread that the child does not have. */
static void a_lock_held_meanwhile_does_not_matter(void)
{
    world_t *w = world_open(0);
    csched_stats_t stats;
    pthread_mutex_lock(&w->s->lock);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        OK(csched_forked(w->s));
        OK(csched_stats(w->s, &stats));
        _exit(0);
    }
    pthread_mutex_unlock(&w->s->lock);
    child_passes(child);
    world_close(w);
}

static void what_a_child_of_a_task_publishes_is_lost(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_item_t item;
    submit(w, JOB_NONE, 1, 0);
    submit(w, JOB_NONE, 2, 0);
    next_item(worker, CSCHED_TASK);
    pid_t child = fork();
    if (child == 0) {
        uint64_t offset, address;
        OK(csched_worker_forked(worker));
        for (int i = 0; i < 3; i++)
            OK(csched_worker_emit(worker, CSCHED_OUTPUT, 1, "text", 4, UINT64_MAX));
        if (csched_worker_alloc(worker, 100, &offset, &address) == CSCHED_OK)
            memset((void *)(uintptr_t)address, 1, 100);
        publish_none(worker);
        EQUAL(csched_worker_next(worker, 0, 0, &item), CSCHED_ESTOPPED); /* not the second task */
        _exit(0);
    }
    child_passes(child);
    EQUAL(csched_poll(w->s, 0), 0);
    publish_none(worker);
    finish(w, 1); /* the second one may have come back meanwhile: this sends it again */
    next_item(worker, CSCHED_TASK);
    publish_none(worker);
    finish(w, 2);
    OK(csched_worker_detach(worker));
    world_close(w);
}

MAIN(TEST(a_child_of_the_kernel_holds_nothing), TEST(it_keeps_the_payloads_that_it_looks_at),
     TEST(a_lock_held_meanwhile_does_not_matter), TEST(what_a_child_of_a_task_publishes_is_lost))
