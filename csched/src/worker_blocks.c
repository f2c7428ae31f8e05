/* A worker's payload blocks: allocated in memory or in its file, and freed when the kernel returns them. */
#include <unistd.h>

#include "segment.h"
#include "worker.h"

static void take_frees_locked(csched_worker_t *w)
{
    segment_t *segment = w->segment;
    uint64_t head = u64_relaxed(&segment->frees_head);
    uint64_t tail = u64_acquire(&segment->frees_tail); /* partner: frees_flush */
    if (tail - head > FREES_CAPACITY)
        return; /* corrupt: blocks stay allocated */
    while (head != tail) {
        heap_free(&w->heap, segment->frees[head++ % FREES_CAPACITY]);
        FAULT(w, block_freed);
    }
    u64_store_release(&segment->frees_head, head); /* partner: frees_flush */
}

void take_frees(csched_worker_t *w)
{
    pthread_mutex_lock(&w->heap_lock);
    take_frees_locked(w);
    pthread_mutex_unlock(&w->heap_lock);
}

CSCHED_EXPORT int csched_worker_alloc(csched_worker_t *w, uint64_t size, uint64_t *offset, uint64_t *address)
{
    pthread_mutex_lock(&w->heap_lock);
    take_frees_locked(w);
    int rc = heap_alloc(&w->heap, size, offset);
    pthread_mutex_unlock(&w->heap_lock);
    if (rc < 0)
        return rc;
    FAULT(w, block_allocated);
    *address = (uint64_t)(uintptr_t)heap_at(&w->heap, *offset);
    return CSCHED_OK;
}

/* Sends the file's descriptor; the kernel receives it when it sees the first ref into the file. */
static int tell_of_file(csched_worker_t *w)
{
    int readonly, rc = memory_readonly(w->heap.file.fd, &readonly);
    if (rc < 0)
        return rc;
    rc = fd_send(w->control, TAG_FILE, readonly);
    close(readonly);
    w->file_told = rc == CSCHED_OK;
    return rc;
}

CSCHED_EXPORT int csched_worker_spill(csched_worker_t *w, uint64_t size, uint64_t *offset, uint64_t *address)
{
    pthread_mutex_lock(&w->heap_lock);
    take_frees_locked(w);
    int rc = heap_spill(&w->heap, size, offset);
    pthread_mutex_unlock(&w->heap_lock);
    if (rc < 0)
        return rc;
    FAULT(w, file_made);
    if (!w->file_told && (rc = tell_of_file(w)) < 0) {
        csched_worker_free(w, *offset);
        return rc;
    }
    FAULT(w, file_told);
    *address = (uint64_t)(uintptr_t)heap_at(&w->heap, *offset);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_worker_free(csched_worker_t *w, uint64_t offset)
{
    pthread_mutex_lock(&w->heap_lock);
    int rc = heap_free(&w->heap, offset);
    pthread_mutex_unlock(&w->heap_lock);
    return rc;
}

CSCHED_EXPORT int csched_worker_fill(csched_worker_t *w, uint64_t at, const void *data, uint64_t size)
{
    pthread_mutex_lock(&w->heap_lock);
    uint64_t fresh = heap_fresh(&w->heap);
    pthread_mutex_unlock(&w->heap_lock); /* the block does not move: see csched_block_fill */
    heap_fill(&w->heap, fresh, at, data, size);
    FAULT(w, block_filled);
    return CSCHED_OK;
}
