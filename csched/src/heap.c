#define _GNU_SOURCE
#include "heap.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "csched.h"
#include "segment.h"

int heap_open(heap_t *heap, int fd, uint64_t memory_bytes, uint64_t file_bytes)
{
    void *base;
    *heap = (heap_t){.memory.fd = -1, .file.fd = -1, .file_bytes = file_bytes};
    int rc = memory_map(fd, memory_bytes + file_bytes, true, &base);
    if (rc == CSCHED_OK)
        arena_open(&heap->memory, base, fd, memory_bytes, memory_grow);
    return rc;
}

void heap_close(heap_t *heap)
{
    memory_unmap(heap->memory.base, heap->memory.limit + heap->file_bytes);
    if (heap->memory.fd >= 0)
        close(heap->memory.fd);
    if (heap->file.fd >= 0)
        close(heap->file.fd);
    *heap = (heap_t){.memory.fd = -1, .file.fd = -1};
}

static void leave(arena_t *arena)
{
    if (arena->fd < 0)
        return;
    memory_map_private(arena->base, arena->fd, arena->limit);
    close(arena->fd);
    arena->fd = -1;
}

void heap_leave(heap_t *heap)
{
    leave(&heap->memory);
    leave(&heap->file);
}

int heap_alloc(heap_t *heap, uint64_t size, uint64_t *offset)
{
    return arena_alloc(&heap->memory, size, offset);
}

static int open_file(heap_t *heap)
{
    void *at = heap_at(heap, heap->memory.limit);
    int fd, rc = file_create(&fd);
    if (rc < 0)
        return rc;
    if ((rc = memory_map_over(at, fd, heap->file_bytes, true)) < 0)
        close(fd);
    else
        arena_open(&heap->file, at, fd, heap->file_bytes, file_grow);
    return rc;
}

int heap_spill(heap_t *heap, uint64_t size, uint64_t *offset)
{
    int rc = heap->file.fd < 0 ? open_file(heap) : CSCHED_OK;
    if (!rc)
        rc = arena_alloc(&heap->file, size, offset);
    if (!rc)
        *offset += heap->memory.limit;
    return rc == CSCHED_EFULL ? CSCHED_EDISK : rc;
}

int heap_free(heap_t *heap, uint64_t offset)
{
    arena_t *file = &heap->file;
    if (offset < heap->memory.limit)
        return arena_free(&heap->memory, offset);
    int rc = file->fd < 0 ? CSCHED_EINVAL : arena_free(file, offset - heap->memory.limit);
    if (!rc && !file->used && ftruncate(file->fd, 0) == 0) /* without blocks it has no readers */
        arena_open(file, file->base, file->fd, file->limit, file_grow);
    return rc;
}

void heap_fill(const heap_t *heap, uint64_t fresh, uint64_t at, const void *data, uint64_t size)
{
    const uint8_t *from = data;
    bool in_file = at >= heap->memory.limit;
    uint64_t used = at < fresh && !in_file ? fresh - at : 0;
    if (used > size || size - used < FILL_MIN)
        used = size;
    memcpy(heap_at(heap, at), from, used);
    while (used < size) {
        ssize_t put = pwrite(in_file ? heap->file.fd : heap->memory.fd, from + used, size - used,
                             (off_t)(at + used - (in_file ? heap->memory.limit : 0)));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            break;
        used += (uint64_t)put;
    }
    memcpy((uint8_t *)heap_at(heap, at) + used, from + used, size - used); /* the rest */
}
