/* Counts of all tasks, and whether workers get any. */
#include "dispatch.h"
#include "internal.h"
#include "segment.h"
#include "stop.h"

CSCHED_EXPORT int csched_pause(csched_t *s, int on)
{
    pthread_mutex_lock(&s->lock);
    clock_refresh(s);
    if (s->paused && !on)
        s->resumed = s->now;
    s->paused = on != 0;
    dispatch(s);
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_paused(csched_t *s)
{
    pthread_mutex_lock(&s->lock);
    int paused = s->paused;
    pthread_mutex_unlock(&s->lock);
    return paused;
}

CSCHED_EXPORT int csched_stats(csched_t *s, csched_stats_t *stats)
{
    pthread_mutex_lock(&s->lock);
    *stats = s->stats;
    uint64_t parked = stats->parked = wait_queue_tasks(&s->graph);
    stats->waiting = s->graph.waiting_count + parked;
    stats->queued = s->graph.ready.count - parked;
    stats->running = stats->ready_workers = 0;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        if (s->workers[i]->state != WORKER_READY)
            continue;
        uint32_t running = u64_relaxed(&s->workers[i]->segment->claim_ticket) != 0;
        stats->ready_workers++;
        stats->running += running;
        stats->queued += s->loads[i].held - (running && s->loads[i].held ? 1 : 0);
    }
    stats->arena_used = s->heap.memory.used;
    stats->arena_size = s->heap.memory.size;
    stats->file_used = s->heap.file.used;
    stats->file_size = s->heap.file.size;
    stats->journeys = s->journey.written;
    stats->completions = s->completion_count;
    stats->stopping = stopping_of(s, 0, true);
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}
