/* Creation, settings and statistics of the kernel's scheduler. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "blob.h"
#include "dispatch.h"
#include "function.h"
#include "helper.h"
#include "internal.h"
#include "outside.h"
#include "stop.h"
#include "machine.h"
#include "growth.h"
#include "segment.h"

enum { RUNS_REMEMBERED = 4096 };
enum { WINDOW_NS = 2000000, WINDOW_MOST = 1024 }; /* ns of work: covers the time until the helper notices */

/* Address space that each process reserves for each other's payloads: 300 such ranges fit into a process. */
#define MOST_IN_MEMORY (UINT64_C(256) << 30)
#define MOST_IN_FILE (UINT64_C(128) << 30)

#define MOST_UNITS (UINT64_C(1) << 60) /* of a resource */

static uint64_t power_of_two(uint64_t wanted, uint64_t otherwise, uint64_t least)
{
    uint64_t value = wanted ? wanted : otherwise, power = least;
    while (power < value)
        power *= 2;
    return power;
}

static uint64_t whole_megabytes(uint64_t wanted, uint64_t otherwise, uint64_t most)
{
    uint64_t bytes = wanted ? wanted : otherwise < most ? otherwise : most;
    return bytes < 0x100000 ? 0x100000 : bytes & ~UINT64_C(0xfffff);
}

static int open_kernel_heap(csched_t *s)
{
    int fd, readonly = -1;
    uint32_t region;
    int rc = memory_create("cellmill-arena", 0, &fd);
    if (rc < 0)
        return rc;
    if ((rc = memory_readonly(fd, &readonly)) < 0 ||
        (rc = heap_open(&s->heap, fd, s->config.arena_bytes, s->config.file_bytes)) < 0) {
        close(fd);
        if (readonly >= 0)
            close(readonly);
        return rc;
    }
    return region_add(s, fd, readonly, s->heap.memory.base, NO_CHOICE - 1, &region);
}

void lock_init(csched_t *s)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&s->lock, &kind);
}

CSCHED_EXPORT int csched_create(const csched_config_t *config, csched_t **scheduler)
{
    csched_t *s = calloc(1, sizeof *s);
    if (!s)
        return CSCHED_ENOMEM;
    s->config = *config;
    s->config.ring_bytes = power_of_two(config->ring_bytes, 262144, 65536);
    s->config.journey_rows = power_of_two(config->journey_rows, 262144, 1024);
    s->config.arena_bytes = whole_megabytes(config->arena_bytes, machine_memory(), MOST_IN_MEMORY);
    s->config.file_bytes = whole_megabytes(config->file_bytes, MOST_IN_FILE, MOST_IN_FILE);
    s->config.window_ns = config->window_ns ? config->window_ns : WINDOW_NS;
    s->config.window_most = config->window_most ? config->window_most : WINDOW_MOST;
    lock_init(s);
    s->completions = (list_t){NO_TASK, NO_TASK};
    s->policy = &policy_least_loaded;
    s->fetch_ns = FETCH_NS;
    s->policy_state.random = UINT64_C(0x9e3779b97f4a7c15);
    s->heap.memory.fd = s->heap.file.fd = -1;
    s->functions = calloc(1, sizeof *s->functions);
    s->function_count = 1;
    s->doorbell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int rc = graph_open(&s->graph);
    u64_store_relaxed(&s->last_poll, now_ns());
    u64_store_relaxed(&s->last_collect, now_ns());
    if (!rc)
        rc = !s->functions ? CSCHED_ENOMEM : s->doorbell < 0 ? CSCHED_ESYSTEM : CSCHED_OK;
    if (!rc)
        rc = journey_open(&s->journey, s->config.journey_rows);
    if (!rc)
        rc = state_map_open(&s->state_map);
    if (!rc)
        rc = open_kernel_heap(s);
    if (!rc && s->config.helper)
        rc = helper_start(s);
    if (rc < 0) {
        int error = errno;
        csched_destroy(s);
        errno = error;
        return rc;
    }
    *scheduler = s;
    return CSCHED_OK;
}

static void release_everything(csched_t *s)
{
    for (uint32_t slot = 0; slot < s->graph.capacity; slot++) {
        task_t *task = task_at(s, slot);
        if (task->state == TASK_FREE)
            continue;
        if (task->inputs) {
            for (uint32_t i = 0; i < task->inputs->count; i++)
                blob_release(s, task->inputs->of[i].blob);
            blob_release(s, task->inputs->bundle);
            free(task->inputs);
        }
        blob_release(s, task->payload);
        blob_release(s, task->result);
    }
    for (uint32_t i = 0; i < s->messages.count; i++)
        blob_release(s, (blob_t *)(uintptr_t)s->messages.of[(s->messages.head + i) % s->messages.capacity].blob);
    functions_close(s);
}

CSCHED_EXPORT int csched_close(csched_t *s)
{
    pthread_mutex_lock(&s->lock);
    s->closed = true;
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_close_idle(csched_t *s)
{
    pthread_mutex_lock(&s->lock);
    const csched_stats_t *t = &s->stats;
    bool idle = t->succeeded + t->failed + t->cancelled >= t->submitted;
    s->closed = s->closed || idle;
    pthread_mutex_unlock(&s->lock);
    return idle ? CSCHED_OK : CSCHED_EAGAIN;
}

CSCHED_EXPORT int csched_stop(csched_t *s)
{
    csched_close(s);
    u32_store_release(&s->stopped, 1); /* partner: csched_wait */
    helper_stop(s);
    outside_end(s);
    csched_wake(s);
    for (uint32_t i = 0; i < s->worker_count; i++)
        if (s->workers[i]->state != WORKER_FREE)
            csched_worker_lost(s, i);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_destroy(csched_t *s)
{
    csched_stop(s);
    outside_close(s);
    release_everything(s);
    for (uint32_t i = 0; i < s->worker_count; i++)
        free(s->workers[i]);
    for (uint32_t i = 1; i < s->region_count; i++)
        if (s->regions[i].base)
            region_close(s, &s->regions[i]);
    if (s->region_count) {
        close(s->regions[0].readonly);
        if (s->regions[0].file >= 0)
            close(s->regions[0].file);
    }
    heap_close(&s->heap);
    own_close(&s->own);
    graph_close(&s->graph);
    journey_close(&s->journey);
    slowest_close(&s->slowest);
    kept_calls_close(&s->kept_calls);
    lineage_close(&s->lineage);
    state_map_close(&s->state_map);
    accounts_close(&s->accounts);
    attempts_close(&s->attempts);
    run_times_close(&s->run_times);
    if (s->doorbell >= 0)
        close(s->doorbell);
    free(s->workers);
    free(s->loads);
    free(s->regions);
    free(s->functions);
    free(s->messages.of);
    free(s->delayed);
    free(s->runs);
    free(s->run_lives);
    free(s->run_free);
    pthread_mutex_destroy(&s->lock);
    free(s);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_set_policy(csched_t *s, const char *name)
{
    const policy_t *policy = policy_named(name);
    if (!policy)
        return CSCHED_EINVAL;
    pthread_mutex_lock(&s->lock);
    s->policy = policy;
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}

static int run_numbers_grow(csched_t *s)
{
    size_t count = s->run_count;
    csched_run_t *runs = rows_grow(s->runs, count, count + 1, sizeof *runs);
    if (runs)
        s->runs = runs;
    run_life_t *lives = rows_grow(s->run_lives, count, count + 1, sizeof *lives);
    if (lives)
        s->run_lives = lives;
    uint32_t *spare = rows_grow(s->run_free, count, count + 1, sizeof *spare);
    if (spare)
        s->run_free = spare;
    return runs && lives && spare ? CSCHED_OK : CSCHED_ENOMEM;
}

CSCHED_EXPORT int csched_run_open(csched_t *s, uint32_t *run)
{
    pthread_mutex_lock(&s->lock);
    int rc = CSCHED_OK;
    if (s->run_free_count > RUNS_REMEMBERED) { /* numbers are reused late: journeys name their run by them */
        *run = s->run_free[0];
        memmove(s->run_free, s->run_free + 1, --s->run_free_count * sizeof *s->run_free);
    } else {
        rc = run_numbers_grow(s);
        if (!rc)
            *run = s->run_count++;
        if (!rc)
            s->run_lives[*run] = (run_life_t){0};
    }
    if (!rc)
        rc = account_open(&s->accounts, *run);
    if (!rc)
        rc = run_times_open(&s->run_times, *run);
    if (!rc)
        rc = state_map_open_run(&s->state_map, *run);
    if (!rc) {
        s->runs[*run] = (csched_run_t){0};
        s->run_lives[*run] = (run_life_t){.opened = csched_now()};
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int csched_run_counts(csched_t *s, uint32_t run, csched_run_t *counts)
{
    pthread_mutex_lock(&s->lock);
    int rc = run < s->run_count ? CSCHED_OK : CSCHED_EINVAL;
    if (!rc)
        *counts = s->runs[run];
    if (!rc)
        counts->stopping = stopping_of(s, run, false);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int csched_run_adjust(csched_t *s, uint32_t run, int64_t submitted, int64_t succeeded, int64_t failed,
                                    int64_t cancelled, int64_t lost)
{
    pthread_mutex_lock(&s->lock);
    csched_run_t *r = run < s->run_count ? &s->runs[run] : NULL;
    csched_stats_t *t = &s->stats;
    t->submitted += (uint64_t)submitted;
    t->succeeded += (uint64_t)succeeded;
    t->failed += (uint64_t)failed;
    t->cancelled += (uint64_t)cancelled;
    t->lost += (uint64_t)lost;
    if (r) {
        r->submitted += (uint64_t)submitted;
        r->succeeded += (uint64_t)succeeded;
        r->failed += (uint64_t)failed;
        r->cancelled += (uint64_t)cancelled;
        r->lost += (uint64_t)lost;
    }
    pthread_mutex_unlock(&s->lock);
    return r ? CSCHED_OK : CSCHED_EINVAL;
}

/* The run must have no unfinished task. */
CSCHED_EXPORT int csched_run_close(csched_t *s, uint32_t run)
{
    pthread_mutex_lock(&s->lock);
    int rc = run < s->run_count && s->run_free_count < s->run_count ? CSCHED_OK : CSCHED_EINVAL;
    if (!rc) {
        run_times_forget(&s->run_times, run);
        s->run_lives[run].opened = 0;
        s->run_free[s->run_free_count++] = run;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int csched_journeys(csched_t *s, uint64_t *cursor, uint32_t most, csched_journey_t *rows,
                                  uint64_t *dropped)
{
    pthread_mutex_lock(&s->lock);
    int n = (int)journey_read(&s->journey, cursor, most, rows, dropped);
    pthread_mutex_unlock(&s->lock);
    return n;
}

CSCHED_EXPORT int csched_journeys_newest(csched_t *s, uint32_t most, csched_journey_t *rows)
{
    pthread_mutex_lock(&s->lock);
    int n = (int)journey_newest(&s->journey, most, rows);
    pthread_mutex_unlock(&s->lock);
    return n;
}

static bool asked_for_more(const resources_t *resources, uint32_t resource, uint64_t total)
{
    for (uint32_t i = 1; i < resources->demand_count; i++)
        if (resources->demands[i].tasks && demand_of(resources, i, resource) > total)
            return true;
    return false;
}

CSCHED_EXPORT int csched_resource_set(csched_t *s, uint32_t resource, uint64_t total)
{
    if (resource >= RESOURCES_MOST || total > MOST_UNITS)
        return CSCHED_EINVAL;
    pthread_mutex_lock(&s->lock);
    int rc = asked_for_more(&s->graph.resources, resource, total) ? CSCHED_EINVAL : CSCHED_OK;
    if (!rc) {
        clock_refresh(s);
        s->graph.resources.of[resource].total = total;
        wait_queue_wake_first(&s->graph, resource);
        dispatch(s);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}
