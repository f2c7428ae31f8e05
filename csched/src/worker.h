/* A worker process as its own files see it: worker.c (the task loop) and watch.c (the thread beside it). */
#ifndef CSCHED_WORKER_H
#define CSCHED_WORKER_H

#include <pthread.h>

#include "arena.h"
#include "csched.h"
#include "ring.h"

enum { REGION_PAGE = 1024, REGION_PAGES = 1024, MARKS_MAX = 4096 };

struct csched_worker {
    segment_t *segment;
    uint64_t segment_bytes;
    int bell, control, kernel;
    ring_t tasks, results;
    arena_t arena;
    _Atomic(shared_u64 *) regions[REGION_PAGES]; /* base addresses by region; written by the watch thread only */
    pthread_t watch;
    bool watched;
    shared_u32 watch_stop;
    int watch_pipe[2];

    task_entry_t *current; /* the entry in hand; its memory is released by the next call of next */
    bool published; /* the current task has its result */
    uint64_t received, started, finished, flushed;
    uint64_t marks[MARKS_MAX + 1]; /* when each element of a chunk began */
    uint32_t mark_count;
};

uint8_t *worker_region(csched_worker_t *w, uint32_t region); /* NULL: not mapped */

#endif
