/* Internals of a worker process: worker.c (the task loop), worker_blocks.c, worker_output.c, watch.c (its second
 * thread), and worker_aside.c (threads that the second one starts). */
#ifndef CSCHED_WORKER_H
#define CSCHED_WORKER_H

#include <pthread.h>

#include "csched.h"
#include "heap.h"
#include "own.h"
#include "ring.h"

enum { REGION_PAGE = 1024, REGION_PAGES = 1024, MARKS_MAX = 4096 };
#define POLL_NS 50000u /* least time between two polls for native output, each a system call */

/* Python code of ours that runs beside the main thread, in a thread of its own. */
typedef struct {
    void (*run)(void *argument); /* NULL: there is none */
    void *argument;
    shared_u32 running;
} aside_t;

struct csched_worker {
    segment_t *segment;
    uint64_t segment_bytes;
    int doorbell, control, kernel;
    ring_t tasks, results;
    heap_t heap;
    pthread_mutex_t heap_lock; /* the watch thread gives back unused pages */
    bool file_told; /* the kernel has the descriptor of its file */
    own_t own; /* payloads that Python may write to */
    /* Base addresses by region, the lowest bit for a mapped file; in the second half of a page those of the second
     * mappings. Written by the watch thread only. */
    _Atomic(shared_u64 *) regions[REGION_PAGES];
    pthread_t watch;
    bool watched;
    shared_u32 watch_stop;
    int watch_pipe[2];
    aside_t sampler; /* samples the stack of the main thread until the kernel wants no more */
    aside_t sender; /* sends the outcomes of a chunk's elements that are over */
    shared_u32 sent; /* elements of the chunk in hand whose outcomes were sent */
    uint64_t sampled_at; /* end of the time that the last sample stands for; the sampling thread's */

    task_entry_t *current; /* the entry in hand; its memory is released by the next call of next */
    bool published; /* the current task has its result */
    uint64_t received, started, finished, flushed;
    uint64_t marks[MARKS_MAX + 1]; /* when each element of a chunk began */
    uint32_t mark_count;

    int native[2]; /* where native code's stdout and stderr are read; -1: nowhere */
    uint64_t polled; /* time of the last poll for it */
    bool output_found; /* for the current task */
};

/* From the values checked at attach: the segment's words may have changed since. */
static inline uint64_t worker_region_bytes(const csched_worker_t *w)
{
    return w->heap.memory.limit + w->heap.file_bytes;
}

/* Address of a region that is mapped up to `offset`, or NULL. */
uint8_t *worker_region(csched_worker_t *w, uint32_t region, uint64_t offset);
void worker_element(csched_worker_t *w, uint32_t element, uint64_t now); /* see csched_worker_element */
bool output_waits(csched_worker_t *w, uint64_t now); /* polls for native output; true at most once a task */
void take_frees(csched_worker_t *w); /* frees blocks without readers */
void worker_trim(csched_worker_t *w); /* once a second; see trim.c */
void worker_sample(csched_worker_t *w); /* starts a sampling thread if one is wanted and there is none */
/* Starts a sending thread where an element runs for long and earlier ones were not sent.  Returns for how many
 * nanoseconds the watch thread need not look again. */
uint64_t worker_send(csched_worker_t *w);

#endif
