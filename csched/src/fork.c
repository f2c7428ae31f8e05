/* A child forked by user code has copies of all structures and must not act for its parent: here it releases what it
 * must not use. Only the forking thread exists in it, and other threads may have been at any step. So nothing is
 * locked, freed or trusted except what the forking thread itself changes, or what others store last. */
#define _GNU_SOURCE
#include <unistd.h>

#include "internal.h"
#include "outside.h"
#include "segment.h"
#include "worker.h"

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void leave_worker(worker_t *worker)
{
    memory_unmap(worker->segment, worker->segment_bytes);
    close_fd(&worker->control);
    *worker = (worker_t){.state = WORKER_FREE, .control = -1}; /* its lists leak: a half-changed one cannot be freed */
}

CSCHED_EXPORT int csched_forked(csched_t *s)
{
    lock_init(s);
    u32_store_relaxed(&s->stopped, 1);
    s->closed = true;
    u64_store_relaxed(&s->outstanding, 0);
    s->helper_runs = false;
    outside_forked(s);
    for (uint32_t i = 0; i < s->worker_count; i++)
        leave_worker(s->workers[i]);
    for (uint32_t i = 0; i < s->region_count; i++) {
        region_t *r = &s->regions[i];
        close_fd(&r->readonly);
        close_fd(&r->file);
        r->fd = -1;
        if (r->base && !r->viewed) {
            memory_unmap(r->base, region_bytes(s));
            r->base = NULL;
        }
    }
    own_leave(&s->own);
    close_fd(&s->heap.memory.fd);
    close_fd(&s->heap.file.fd);
    close_fd(&s->doorbell);
    return CSCHED_OK;
}

/* Keeps the watch thread from changing the heap during the fork. */
CSCHED_EXPORT int csched_worker_forks(csched_worker_t *w, int begins)
{
    return begins ? pthread_mutex_lock(&w->heap_lock) : pthread_mutex_unlock(&w->heap_lock);
}

CSCHED_EXPORT int csched_worker_forked(csched_worker_t *w)
{
    pthread_mutex_init(&w->heap_lock, NULL);
    int rc = memory_copy_private(w->segment, w->segment_bytes);
    if (rc < 0)
        return rc;
    /* If the child returns to the loop it finds room for its result, no other task, and the order to retire. */
    w->tasks.other = w->tasks.position + (w->current ? w->tasks.peeked : 0);
    u64_store_relaxed(&w->segment->tasks.tail, w->tasks.other);
    w->results.other = w->results.position;
    u64_store_relaxed(&w->segment->results.head, w->results.position);
    u64_store_relaxed(&w->segment->frees_head, u64_relaxed(&w->segment->frees_tail));
    u32_store_relaxed(&w->segment->kernel_sleeping, 0);
    u32_store_relaxed(&w->segment->retire, 1);
    own_leave(&w->own);
    heap_leave(&w->heap);
    w->watched = false;
    close_fd(&w->doorbell);
    close_fd(&w->control);
    close_fd(&w->kernel);
    close_fd(&w->watch_pipe[0]);
    close_fd(&w->watch_pipe[1]);
    return CSCHED_OK;
}
