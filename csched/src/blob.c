/* Payloads with reference counts. Only the kernel counts; blocks of workers are returned by their frees ring. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blob.h"
#include "internal.h"
#include "segment.h"

int blob_from_bytes(const void *data, uint64_t size, blob_t **blob)
{
    blob_t *made = malloc(sizeof *made + size);
    if (!made)
        return CSCHED_ENOMEM;
    *made = (blob_t){.offset = 0, .size = size, .region = REGION_INLINE, .refs = 1};
    if (size)
        memcpy(made + 1, data, size);
    *blob = made;
    return CSCHED_OK;
}

static void announcement_push(worker_t *worker, uint32_t tag)
{
    if (worker->announcement_count == worker->announcement_capacity) {
        uint32_t capacity = worker->announcement_capacity ? 2 * worker->announcement_capacity : 16;
        uint32_t *grown = realloc(worker->announcements, capacity * sizeof *grown);
        if (!grown)
            return; /* it keeps mappings of dropped regions at no cost; tasks that need an unannounced file fail */
        worker->announcements = grown;
        worker->announcement_capacity = capacity;
    }
    worker->announcements[worker->announcement_count++] = tag;
}

/* Announces a change of a region to the workers that know it; what a full socket does not take follows with the next
 * tick. */
static void announcement_spread(csched_t *s, uint32_t region, uint32_t tag)
{
    for (uint32_t i = 0; i < s->worker_count; i++) {
        worker_t *worker = s->workers[i];
        if (!worker->segment || worker->announced <= region)
            continue;
        announcement_push(worker, region | tag);
        if (worker->state == WORKER_READY || worker->state == WORKER_STARTING)
            regions_announce(s, worker);
    }
}

/* The worker has sent its file's descriptor before the first ref into it. */
static int receive_file(csched_t *s, uint32_t region)
{
    region_t *r = &s->regions[region];
    uint32_t tag;
    int fd = -1;
    if (r->worker >= s->worker_count || fd_receive(s->workers[r->worker]->control, &tag, &fd) < 0 || fd < 0)
        return CSCHED_ECORRUPT;
    if (own_map_over(&s->own, r->base + s->config.arena_bytes, fd, s->config.file_bytes) < 0) {
        close(fd);
        return CSCHED_ECORRUPT;
    }
    r->file = fd;
    announcement_spread(s, region, TAG_FILE);
    return CSCHED_OK;
}

/* Refuses a block outside of the region's memory or file: reading it would kill the kernel. */
static int check_extent(csched_t *s, uint32_t region, uint64_t offset, uint64_t end)
{
    region_t *r = &s->regions[region];
    uint64_t memory = s->config.arena_bytes, bytes;
    if (end < offset || end > region_bytes(s) || (offset < memory && end > memory))
        return CSCHED_ECORRUPT;
    if (offset < memory)
        return end <= r->file_bytes || (memory_size(r->fd, &r->file_bytes) == 0 && end <= r->file_bytes)
                   ? CSCHED_OK
                   : CSCHED_ECORRUPT;
    if (r->file < 0 && receive_file(s, region) < 0)
        return CSCHED_ECORRUPT;
    return memory_size(r->file, &bytes) < 0 || end - memory > bytes ? CSCHED_ECORRUPT : CSCHED_OK; /* it may shrink */
}

int blob_from_block(csched_t *s, uint32_t region, uint64_t offset, uint64_t size, blob_t **blob)
{
    if (region >= s->region_count || !s->regions[region].base)
        return CSCHED_ECORRUPT;
    region_t *r = &s->regions[region];
    int rc = check_extent(s, region, offset, offset + size);
    if (rc < 0)
        return rc;
    blob_t *made = malloc(sizeof *made);
    if (!made)
        return CSCHED_ENOMEM;
    *made = (blob_t){.offset = offset, .size = size, .region = region, .refs = 1};
    r->live++;
    *blob = made;
    return CSCHED_OK;
}

void blob_retain(blob_t *blob)
{
    if (blob)
        blob->refs++;
}

const uint8_t *blob_data(const csched_t *s, const blob_t *blob)
{
    return blob->region == REGION_INLINE ? (const uint8_t *)(blob + 1) : s->regions[blob->region].base + blob->offset;
}

void regions_announce(csched_t *s, worker_t *worker)
{
    if (worker->lane)
        return;
    for (; worker->announced < s->region_count; worker->announced++) {
        region_t *r = &s->regions[worker->announced];
        if (r->readonly >= 0 && fd_send(worker->control, worker->announced, r->readonly) < 0) {
            if (errno != EPIPE)
                return;
            worker->announced = s->region_count; /* its socket is closed: no retry */
            worker->announcement_count = 0;
            break;
        }
        if (r->file >= 0)
            announcement_push(worker, worker->announced | TAG_FILE);
    }
    while (worker->announcement_count) {
        uint32_t tag = worker->announcements[worker->announcement_count - 1], region = tag & ~(TAG_DROP | TAG_FILE);
        int fd = tag & TAG_FILE ? s->regions[region].file : -1;
        if ((fd >= 0 || tag & TAG_DROP) && fd_send(worker->control, tag, fd) < 0)
            return;
        worker->announcement_count--;
    }
}

void region_close(csched_t *s, region_t *r)
{
    region_t gone = *r;
    r->base = NULL; /* first: a child forked meanwhile must not unmap it again (fork.c) */
    r->readonly = r->file = -1;
    memory_unmap(gone.base, region_bytes(s));
    close(gone.readonly);
    if (gone.file >= 0)
        close(gone.file);
}

/* With the last reference no worker reads the region any more: what user code still reads is pinned, and so counted. */
static void region_unmap(csched_t *s, region_t *r)
{
    announcement_spread(s, (uint32_t)(r - s->regions), TAG_DROP);
    region_close(s, r);
}

int kernel_spill(csched_t *s, uint64_t size, uint64_t *offset)
{
    int rc = heap_spill(&s->heap, size, offset);
    region_t *r = &s->regions[REGION_KERNEL];
    if (rc < 0 || r->file >= 0)
        return rc;
    if ((rc = memory_readonly(s->heap.file.fd, &r->file)) < 0) {
        r->file = -1;
        heap_free(&s->heap, *offset);
        return rc;
    }
    announcement_spread(s, REGION_KERNEL, TAG_FILE);
    return CSCHED_OK;
}

void frees_flush(worker_t *worker)
{
    segment_t *segment = worker->segment;
    uint64_t tail = u64_relaxed(&segment->frees_tail);
    uint64_t head = u64_acquire(&segment->frees_head); /* partner: take_frees in worker_blocks.c */
    uint32_t sent = 0;
    while (sent < worker->unfreed_count && tail - head < FREES_CAPACITY)
        segment->frees[tail++ % FREES_CAPACITY] = worker->unfreed[sent++];
    if (!sent)
        return;
    u64_store_release(&segment->frees_tail, tail); /* partner: take_frees in worker_blocks.c */
    worker->unfreed_count -= sent;
    memmove(worker->unfreed, worker->unfreed + sent, worker->unfreed_count * sizeof *worker->unfreed);
}

static void send_home(worker_t *worker, uint64_t offset)
{
    if (worker->unfreed_count == worker->unfreed_capacity) {
        uint32_t capacity = worker->unfreed_capacity ? 2 * worker->unfreed_capacity : 64;
        uint64_t *grown = realloc(worker->unfreed, capacity * sizeof *grown);
        if (!grown)
            return; /* the block stays allocated until its worker ends */
        worker->unfreed = grown;
        worker->unfreed_capacity = capacity;
    }
    worker->unfreed[worker->unfreed_count++] = offset;
    frees_flush(worker);
}

void blob_release(csched_t *s, blob_t *blob)
{
    if (!blob || --blob->refs)
        return;
    if (blob->region != REGION_INLINE) {
        region_t *r = &s->regions[blob->region];
        r->live--;
        if (blob->region == REGION_KERNEL)
            heap_free(&s->heap, blob->offset);
        else if (r->worker != NO_CHOICE)
            send_home(s->workers[r->worker], blob->offset);
        else if (!r->live)
            region_unmap(s, r);
    }
    free(blob);
}

/* Finds the region of a part of a payload by its address here; false: there is none. */
static bool place_of(const csched_t *s, uint64_t address, uint64_t size, place_t *place)
{
    for (uint32_t i = 0; i < s->region_count; i++) {
        const region_t *r = &s->regions[i];
        uint64_t offset = address - (uint64_t)(uintptr_t)r->base, memory = s->config.arena_bytes;
        if (!r->base || offset >= region_bytes(s) || size > region_bytes(s) - offset)
            continue;
        bool in_file = offset >= memory;
        *place = (place_t){address, size, in_file ? r->file : r->readonly, in_file ? offset - memory : offset,
                           i != REGION_KERNEL};
        return true;
    }
    return false;
}

CSCHED_EXPORT int csched_own(csched_t *s, uint64_t address, uint64_t size, uint64_t *mapped)
{
    place_t place;
    pthread_mutex_lock(&s->lock);
    int rc = place_of(s, address, size, &place) ? own_take(&s->own, &place, mapped) : CSCHED_EINVAL;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int csched_disown(csched_t *s, const char *payload, uint64_t address, uint64_t size, char *mapped)
{
    (void)payload;
    if (s->own.left) /* a forked child has one thread */
        return CSCHED_OK;
    pthread_mutex_lock(&s->lock);
    own_drop(&s->own, address, size, (uint64_t)(uintptr_t)mapped);
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}

int region_add(csched_t *s, int fd, int readonly, void *base, uint32_t worker, uint32_t *region)
{
    region_t *grown = realloc(s->regions, (s->region_count + 1) * sizeof *grown);
    if (!grown)
        return CSCHED_ENOMEM;
    s->regions = grown;
    grown[s->region_count] = (region_t){.base = base, .readonly = readonly, .fd = fd, .file = -1, .worker = worker};
    *region = s->region_count++;
    return CSCHED_OK;
}

void region_orphan(csched_t *s, uint32_t region)
{
    region_t *r = &s->regions[region];
    r->worker = NO_CHOICE;
    if (!r->live && r->base)
        region_unmap(s, r);
}

static int pin(worker_t *worker, uint64_t ticket, blob_t *blob)
{
    if (!blob || blob->region == REGION_INLINE)
        return CSCHED_OK; /* it was inline: nothing refers to it after the task */
    if (worker->pin_count == worker->pin_capacity) {
        uint32_t capacity = worker->pin_capacity ? 2 * worker->pin_capacity : 16;
        pin_t *grown = realloc(worker->pins, capacity * sizeof *grown);
        if (!grown)
            return CSCHED_ENOMEM;
        worker->pins = grown;
        worker->pin_capacity = capacity;
    }
    blob_retain(blob);
    worker->pins[worker->pin_count++] = (pin_t){ticket, blob};
    return CSCHED_OK;
}

int pin_inputs(worker_t *worker, const task_t *task)
{
    int rc = pin(worker, task->ticket, task->payload);
    const inputs_t *inputs = task->inputs;
    for (uint32_t i = 0; !rc && inputs && i < inputs->count; i++)
        rc = pin(worker, task->ticket, inputs->of[i].blob);
    return !rc && inputs ? pin(worker, task->ticket, inputs->bundle) : rc;
}

int pin_function(worker_t *worker, uint32_t function, blob_t *blob)
{
    return pin(worker, function, blob);
}

void unpin(csched_t *s, worker_t *worker, uint64_t ticket)
{
    for (uint32_t i = 0; i < worker->pin_count;) {
        if (ticket && worker->pins[i].ticket != ticket) {
            i++;
            continue;
        }
        blob_t *blob = worker->pins[i].blob;
        worker->pins[i] = worker->pins[--worker->pin_count];
        blob_release(s, blob);
    }
}
