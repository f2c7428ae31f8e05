/* Starting and ending workers: segments, arenas, and the tasks of dead ones. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "allocations.h"
#include "blob.h"
#include "dispatch.h"
#include "doorbell.h"
#include "drain.h"
#include "internal.h"
#include "pool.h"
#include "segment.h"
#include "task.h"
#include "window.h"

static int free_index(csched_t *s, uint32_t *index)
{
    for (uint32_t i = 0; i < s->worker_count; i++)
        if (s->workers[i]->state == WORKER_FREE) {
            *index = i;
            return CSCHED_OK;
        }
    if (s->worker_count >= NO_WORKER)
        return CSCHED_EINVAL;
    worker_t **workers = realloc(s->workers, (s->worker_count + 1) * sizeof *workers);
    if (workers)
        s->workers = workers;
    load_t *loads = realloc(s->loads, (s->worker_count + 1) * sizeof *loads);
    if (loads)
        s->loads = loads;
    worker_t *made = calloc(1, sizeof *made);
    if (!workers || !loads || !made) {
        free(made);
        return CSCHED_ENOMEM;
    }
    made->control = -1;
    s->loads[s->worker_count] = (load_t){0};
    s->workers[s->worker_count] = made;
    *index = s->worker_count++;
    return CSCHED_OK;
}

static int make_segment(csched_t *s, worker_t *worker, uint32_t index, int *fd)
{
    uint64_t bytes = segment_bytes(s->config.ring_bytes);
    void *base;
    int rc = memory_create("cellmill-segment", bytes, fd);
    if (rc < 0)
        return rc;
    if ((rc = memory_map(*fd, bytes, true, &base)) < 0)
        return rc;
    worker->segment = base;
    worker->segment_bytes = bytes;
    segment_format(worker->segment, index, s->config.ring_bytes, s->config.arena_bytes, s->config.file_bytes);
    uint8_t *data = (uint8_t *)base + SEGMENT_HEADER_BYTES;
    ring_open(&worker->tasks, &worker->segment->tasks, data, s->config.ring_bytes);
    ring_open(&worker->results, &worker->segment->results, data + s->config.ring_bytes, s->config.ring_bytes);
    return CSCHED_OK;
}

static int make_region(csched_t *s, worker_t *worker, uint32_t index, int *fd)
{
    int readonly = -1;
    void *base;
    int rc = memory_create("cellmill-arena", 0, fd);
    if (rc < 0)
        return rc;
    if ((rc = memory_readonly(*fd, &readonly)) < 0)
        return rc;
    rc = own_map(&s->own, readonly, region_bytes(s), &base);
    if (!rc && (rc = region_add(s, readonly, readonly, base, index, &worker->region)) < 0)
        memory_unmap(base, region_bytes(s));
    if (rc < 0)
        close(readonly);
    return rc;
}

/* Announces regions: all to a new worker, the new one to all, since every worker must be able to read every region.
 * What a full socket does not take follows with the next tick. */
static void announce(csched_t *s)
{
    for (uint32_t i = 0; i < s->worker_count; i++)
        if (s->workers[i]->state == WORKER_READY || s->workers[i]->state == WORKER_STARTING)
            regions_announce(s, s->workers[i]);
}

static void close_worker(worker_t *worker)
{
    memory_unmap(worker->segment, worker->segment_bytes);
    if (worker->control >= 0)
        close(worker->control);
    window_drop_controls(worker);
    free(worker->held);
    free(worker->sent_functions);
    free(worker->forgets);
    free(worker->pins);
    free(worker->announcements);
    free(worker->unfreed);
    *worker = (worker_t){.state = WORKER_FREE, .control = -1};
}

static int open_worker(csched_t *s, uint32_t index, int fds[4])
{
    worker_t *worker = s->workers[index];
    int pair[2];
    int rc = make_segment(s, worker, index, &fds[0]);
    if (!rc)
        rc = make_region(s, worker, index, &fds[3]);
    if (rc < 0)
        return rc;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        region_orphan(s, worker->region);
        return CSCHED_ESYSTEM;
    }
    worker->control = pair[0];
    fds[2] = pair[1];
    worker->state = WORKER_STARTING;
    worker->condemned_element = NO_ELEMENT;
    u32_store_relaxed(&worker->segment->profile, s->profile);
    s->loads[index] = (load_t){0};
    announce(s);
    return CSCHED_OK;
}

int lane_add(csched_t *s, uint32_t *index)
{
    pthread_mutex_lock(&s->lock);
    int fd = -1, rc = free_index(s, index);
    if (!rc) {
        worker_t *worker = s->workers[*index];
        rc = make_segment(s, worker, *index, &fd);
        if (fd >= 0)
            close(fd); /* both ends use the mapping only */
        if (rc < 0) {
            close_worker(worker);
        } else {
            worker->lane = true;
            worker->condemned_element = NO_ELEMENT;
            worker->region = REGION_KERNEL; /* results that do not fit into the ring are in blocks of the kernel */
            worker->state = WORKER_STARTING;
            s->loads[*index] = (load_t){.far = true};
            s->stats.workers++;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* Under the GIL, which a fork by Python code waits for: no child is made between the mark and the close. */
CSCHED_EXPORT int csched_passed_close(int fds[4])
{
    for (int i = 0; i < 4; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_worker_add(csched_t *s, uint32_t *index, int fds[4])
{
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < 4; i++)
        fds[i] = -1;
    int rc = free_index(s, index);
    if (!rc) {
        rc = open_worker(s, *index, fds);
        if (!rc && (fds[1] = fcntl(s->doorbell, F_DUPFD_CLOEXEC, 0)) < 0)
            rc = CSCHED_ESYSTEM;
        if (rc < 0) {
            if (s->workers[*index]->segment && s->workers[*index]->state == WORKER_STARTING)
                region_orphan(s, s->workers[*index]->region);
            close_worker(s->workers[*index]);
            csched_passed_close(fds);
        } else {
            s->stats.workers++;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* Its running task fails or is retried; its other tasks go back to the front of their queues, in order. */
static void give_back(csched_t *s, worker_t *worker)
{
    uint32_t element = worker->condemned_element; /* even if a later element ran when the signal came */
    bool overdue = element != NO_ELEMENT;
    if (!overdue)
        element = u32_relaxed(&worker->segment->claim_element);
    for (uint32_t i = worker->held_count; i-- > 0;) {
        held_t *held = held_at(worker, i);
        if (held->slot == NO_TASK)
            continue;
        task_t *task = task_at(s, held->slot);
        uint32_t status = task->flags & FLAG_STOPPING             ? CSCHED_CANCELLED
                          : task->flags & FLAG_OVERDUE || overdue ? CSCHED_TIMEOUT
                                                                  : CSCHED_LOST;
        drop_bundle(s, task);
        if (held_revoke(worker, held)) {
            if (task->flags & FLAG_ALLOCATED)
                allocation_return(s, task);
            ready_return(&s->graph, held->slot);
            continue;
        }
        const uint64_t ran[4] = {u64_relaxed(&worker->segment->claim_since)};
        account_wasted(&s->accounts, task, ran[0], s->now, &worker->time);
        if (!task_retry(s, held->slot, status, task->payload, task->worker, ran)) {
            blob_retain(task->payload); /* the arguments take the place of the result: the error message shows them */
            task_abort(s, held->slot, status, task->payload, element, ran);
        }
    }
}

CSCHED_EXPORT int csched_worker_lost(csched_t *s, uint32_t index)
{
    pthread_mutex_lock(&s->lock);
    int rc = index < s->worker_count && s->workers[index]->state != WORKER_FREE ? CSCHED_OK : CSCHED_EINVAL;
    if (!rc) {
        worker_t *worker = s->workers[index];
        uint32_t last = s->completions.tail;
        clock_refresh(s);
        while (worker->state != WORKER_LOST && drain_worker(s, index)) /* results published before it died count */
            continue;
        if (worker->state == WORKER_READY)
            account_worker(&s->accounts, -1, s->now);
        worker->state = WORKER_LOST;
        s->loads[index] = (load_t){0};
        give_back(s, worker);
        task_propagate(s, last);
        unpin(s, worker, 0);
        u32_store_release(&worker->segment->retire, 1); /* if it lives, it ends; partner: csched_worker_next */
        worker_wake(worker);
        if (!worker->lane)
            region_orphan(s, worker->region);
        close_worker(worker);
        s->stats.workers--;
        dispatch(s);
    }
    pthread_mutex_unlock(&s->lock);
    if (!rc)
        csched_wake(s);
    return rc;
}

CSCHED_EXPORT int csched_worker_retire(csched_t *s, uint32_t index)
{
    pthread_mutex_lock(&s->lock);
    int rc = index < s->worker_count && s->workers[index]->segment ? CSCHED_OK : CSCHED_EINVAL;
    if (!rc) {
        worker_t *worker = s->workers[index];
        worker->retiring = true;
        clock_refresh(s);
        s->loads[index].window = 0;
        for (uint32_t i = worker->held_count; i-- > 0;) {
            uint32_t slot = worker->held[(worker->held_head + i) & (worker->held_capacity - 1)].slot;
            if (slot != NO_TASK && window_revoke(s, task_at(s, slot), slot))
                ready_return(&s->graph, slot);
        }
        u32_store_release(&worker->segment->retire, 1); /* partner: csched_worker_next */
        worker_wake(worker);
        dispatch(s);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int csched_worker_info(csched_t *s, uint32_t index, csched_worker_info_t *info)
{
    pthread_mutex_lock(&s->lock);
    int rc = index < s->worker_count ? CSCHED_OK : CSCHED_EINVAL;
    if (!rc) {
        const worker_t *worker = s->workers[index];
        const segment_t *segment = worker->segment;
        *info = (csched_worker_info_t){.state = worker->state,
                                       .held = s->loads[index].held,
                                       .ticket = segment ? u64_relaxed(&segment->claim_ticket) : 0,
                                       .since = segment ? u64_relaxed(&segment->claim_since) : 0,
                                       .attempt = segment ? u32_relaxed(&segment->claim_attempt) : 0,
                                       .run = UINT32_MAX,
                                       .finished = worker->finished};
        const task_t *task = info->ticket ? graph_find(&s->graph, info->ticket) : NULL;
        if (task) {
            info->run = task->run;
            info->function = task->function;
            info->element = u32_relaxed(&segment->claim_element);
            info->stopping = (task->flags & FLAG_STOPPING) != 0;
            info->count = task->count;
            info->asked = demand_of(&s->graph.resources, task->demand, 0);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int csched_worker_output_read(csched_t *s, uint32_t index, uint64_t ticket)
{
    pthread_mutex_lock(&s->lock);
    segment_t *segment = index < s->worker_count ? s->workers[index]->segment : NULL;
    if (segment)
        u64_store_relaxed(&segment->output_read, ticket); /* partner: output_waits */
    pthread_mutex_unlock(&s->lock);
    return segment ? CSCHED_OK : CSCHED_EINVAL;
}

CSCHED_EXPORT int csched_output_turn(csched_t *s, uint32_t index, int take)
{
    pthread_mutex_lock(&s->lock);
    segment_t *segment = index < s->worker_count ? s->workers[index]->segment : NULL;
    int mine = segment ? output_turn(segment, TURN_KERNEL, take) : CSCHED_EINVAL;
    pthread_mutex_unlock(&s->lock);
    return mine;
}

CSCHED_EXPORT int csched_profile(csched_t *s, uint32_t wanted)
{
    pthread_mutex_lock(&s->lock);
    s->profile = wanted;
    for (uint32_t i = 0; i < s->worker_count; i++) {
        worker_t *worker = s->workers[i];
        if (!worker->segment || worker->control < 0)
            continue;
        u32_store_relaxed(&worker->segment->profile, wanted); /* partner: csched_worker_profile_wanted */
        fd_send(worker->control, TAG_PROFILE, -1); /* a full socket: it looks once a second anyway */
    }
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}

static int control(csched_t *s, uint32_t index, int (*push)(worker_t *, uint32_t, const void *, uint64_t),
                   uint32_t number, const void *data, uint64_t size)
{
    pthread_mutex_lock(&s->lock);
    int rc = CSCHED_EINVAL;
    if (index < s->worker_count && s->workers[index]->segment)
        rc = push(s->workers[index], number, data, size);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int csched_control(csched_t *s, uint32_t index, uint32_t number, const void *data, uint64_t size)
{
    return control(s, index, window_push_control, number, data, size);
}

CSCHED_EXPORT int csched_control_latest(csched_t *s, uint32_t index, uint32_t topic, const void *data, uint64_t size)
{
    return control(s, index, window_push_latest, topic, data, size);
}
