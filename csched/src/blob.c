/* Payloads with references.  The kernel alone counts them; blocks of workers go home by their frees ring. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Refuses what does not lie within the region's file: reading it would kill the kernel. */
int blob_from_block(csched_t *s, uint32_t region, uint64_t offset, uint64_t size, blob_t **blob)
{
    if (region >= s->region_count || !s->regions[region].base)
        return CSCHED_ECORRUPT;
    region_t *r = &s->regions[region];
    if (offset + size < offset || offset + size > s->config.arena_bytes)
        return CSCHED_ECORRUPT;
    if (offset + size > r->file_bytes && (memory_size(r->fd, &r->file_bytes) < 0 || offset + size > r->file_bytes))
        return CSCHED_ECORRUPT;
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

void regions_tell(csched_t *s, worker_t *worker)
{
    for (; worker->told < s->region_count; worker->told++) {
        int readonly = s->regions[worker->told].readonly;
        if (readonly < 0 || fd_send(worker->control, worker->told, readonly) == CSCHED_OK)
            continue;
        if (errno != EPIPE)
            return;
        worker->told = s->region_count; /* it does not listen (any more): nothing to try again */
        break;
    }
    while (worker->drop_count && fd_send(worker->control, worker->drops[worker->drop_count - 1] | TAG_DROP, -1) == 0)
        worker->drop_count--;
}

static void drop_push(worker_t *worker, uint32_t region)
{
    if (worker->drop_count == worker->drop_capacity) {
        uint32_t capacity = worker->drop_capacity ? 2 * worker->drop_capacity : 16;
        uint32_t *grown = realloc(worker->drops, capacity * sizeof *grown);
        if (!grown)
            return; /* it keeps the mapping: address space, no memory */
        worker->drops = grown;
        worker->drop_capacity = capacity;
    }
    worker->drops[worker->drop_count++] = region;
}

/* With the last reference nothing in any worker reads the region any more: what user code keeps is counted (kept). */
static void region_unmap(csched_t *s, region_t *r)
{
    uint32_t region = (uint32_t)(r - s->regions);
    for (uint32_t i = 0; i < s->worker_count; i++)
        if (s->workers[i]->segment && s->workers[i]->told > region)
            drop_push(s->workers[i], region);
    memory_unmap(r->base, s->config.arena_bytes);
    r->base = NULL;
    close(r->readonly);
    r->readonly = -1;
}

void frees_flush(worker_t *worker)
{
    segment_t *segment = worker->segment;
    uint64_t tail = u64_relaxed(&segment->frees_tail);
    uint64_t head = u64_acquire(&segment->frees_head); /* partner: take_frees in worker.c */
    uint32_t sent = 0;
    while (sent < worker->unfreed_count && tail - head < FREES_CAPACITY)
        segment->frees[tail++ % FREES_CAPACITY] = worker->unfreed[sent++];
    if (!sent)
        return;
    u64_store_release(&segment->frees_tail, tail); /* partner: take_frees in worker.c */
    worker->unfreed_count -= sent;
    memmove(worker->unfreed, worker->unfreed + sent, worker->unfreed_count * sizeof *worker->unfreed);
}

static void send_home(worker_t *worker, uint64_t offset)
{
    if (worker->unfreed_count == worker->unfreed_capacity) {
        uint32_t capacity = worker->unfreed_capacity ? 2 * worker->unfreed_capacity : 64;
        uint64_t *grown = realloc(worker->unfreed, capacity * sizeof *grown);
        if (!grown)
            return; /* the block stays allocated until its worker ends: memory is short, nothing breaks */
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
            arena_free(&s->arena, blob->offset);
        else if (r->worker != NO_CHOICE)
            send_home(s->workers[r->worker], blob->offset);
        else if (!r->live)
            region_unmap(s, r);
    }
    free(blob);
}

int region_add(csched_t *s, int fd, int readonly, void *base, uint32_t worker, uint32_t *region)
{
    region_t *grown = realloc(s->regions, (s->region_count + 1) * sizeof *grown);
    if (!grown)
        return CSCHED_ENOMEM;
    s->regions = grown;
    grown[s->region_count] =
        (region_t){.base = base, .readonly = readonly, .fd = fd, .worker = worker, .file_bytes = 0};
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

static int keep(worker_t *worker, uint64_t ticket, blob_t *blob)
{
    if (!blob || blob->region == REGION_INLINE)
        return CSCHED_OK; /* it came in the ring: nothing can refer to it after the task */
    if (worker->kept_count == worker->kept_capacity) {
        uint32_t capacity = worker->kept_capacity ? 2 * worker->kept_capacity : 16;
        kept_t *grown = realloc(worker->kept, capacity * sizeof *grown);
        if (!grown)
            return CSCHED_ENOMEM;
        worker->kept = grown;
        worker->kept_capacity = capacity;
    }
    blob_retain(blob);
    worker->kept[worker->kept_count++] = (kept_t){ticket, blob};
    return CSCHED_OK;
}

int keep_inputs(worker_t *worker, const task_t *task)
{
    int rc = keep(worker, task->ticket, task->payload);
    const inputs_t *inputs = task->inputs;
    for (uint32_t i = 0; !rc && inputs && i < inputs->count; i++)
        rc = keep(worker, task->ticket, inputs->of[i].blob);
    return !rc && inputs ? keep(worker, task->ticket, inputs->bundle) : rc;
}

void let_go(csched_t *s, worker_t *worker, uint64_t ticket)
{
    for (uint32_t i = 0; i < worker->kept_count;) {
        if (ticket && worker->kept[i].ticket != ticket) {
            i++;
            continue;
        }
        blob_t *blob = worker->kept[i].blob;
        worker->kept[i] = worker->kept[--worker->kept_count];
        blob_release(s, blob);
    }
}
