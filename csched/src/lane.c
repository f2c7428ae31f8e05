/* Lanes: workers on a cluster.
 *
 * To the scheduler a lane is a worker like any other: a segment with rings, a window, results in the tasks' order.  The
 * worker's end of the rings belongs to a relay, one thread of this process.  It copies tasks into a pack, whose bytes are
 * sent as they are, and publishes the outcomes.  Entries are released when they are taken; the lane keeps only what a
 * result has to repeat.  It has neither a region nor a socket: results that do not fit into the ring are in blocks of
 * the kernel.
 *
 * Who may call at once: one relay; csched_lane_wake from any thread.  Tasks that are taken and not published when the
 * worker is declared lost are lost, except those given back before (csched_lane_give_back). */
#include <stdlib.h>
#include <string.h>

#include "blob.h"
#include "pool.h"
#include "lane.h"
#include "segment.h"

enum { PACK_ALIGN = 8, PACK_ALIGN_LARGE = 64, PACK_LARGE = 4096, INPUT_HEAD = 16 };

CSCHED_EXPORT int csched_lane_open(csched_t *s, uint32_t *index, csched_lane_t **lane)
{
    csched_lane_t *made = calloc(1, sizeof *made);
    if (!made)
        return CSCHED_ENOMEM;
    int rc = lane_add(s, index);
    if (rc < 0) {
        free(made);
        return rc;
    }
    made->s = s;
    made->index = *index;
    made->segment = s->workers[*index]->segment;
    uint64_t ring = made->segment->ring_bytes;
    uint8_t *data = (uint8_t *)made->segment + SEGMENT_HEADER_BYTES;
    ring_open(&made->tasks, &made->segment->tasks, data, ring);
    ring_open(&made->results, &made->segment->results, data + ring, ring);
    *lane = made;
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_lane_close(csched_lane_t *l)
{
    free(l->in_flight);
    free(l);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_lane_ready(csched_lane_t *l)
{
    u32_store_release(&l->segment->ready, 1); /* partner: drain */
    csched_poll(l->s, 0);
    return CSCHED_OK;
}

/* Sets the claim to the oldest task without a result: the one that runs, as far as is known here. */
void lane_say_what_runs(csched_lane_t *l)
{
    segment_t *segment = l->segment;
    const in_flight_t *oldest = l->count ? in_flight_at(l, 0) : NULL;
    uint64_t ticket = oldest ? oldest->ticket : 0;
    if (u64_relaxed(&segment->claim_ticket) == ticket)
        return;
    if (oldest) {
        u32_store_relaxed(&segment->claim_slot, oldest->slot);
        u32_store_relaxed(&segment->claim_element, NO_ELEMENT);
        u32_store_relaxed(&segment->claim_attempt, oldest->attempt);
        u64_store_relaxed(&segment->claim_since, now_ns());
    }
    u64_store_release(&segment->claim_ticket, ticket); /* partner: check_limit */
}

/* -- taking */

/* The base address of a ref; blocks stay until the task is over. */
static const uint8_t *base_of(csched_lane_t *l, const ref_t *ref, const uint8_t *entry)
{
    if (ref->region == REGION_INLINE)
        return entry;
    pthread_mutex_lock(&l->s->lock); /* the table of regions may be growing */
    const uint8_t *base = ref->region < l->s->region_count ? l->s->regions[ref->region].base : NULL;
    pthread_mutex_unlock(&l->s->lock);
    return base;
}

static uint64_t size_of(const ref_t *ref)
{
    return ref->region == REGION_NONE ? 0 : ref->size;
}

static uint64_t aligned(uint64_t at, uint64_t size)
{
    uint64_t align = size >= PACK_LARGE ? PACK_ALIGN_LARGE : PACK_ALIGN;
    return (at + align - 1) & ~(align - 1);
}

static uint32_t inputs_of(const task_entry_t *entry)
{
    return entry->head.kind == ENTRY_TASK ? entry->inputs : 0; /* undefined in other entries */
}

/* The refs of a task's inputs and the base of inline ones; NULL: all are None. */
static const ref_t *refs_of(csched_lane_t *l, const task_entry_t *entry, const uint8_t **base)
{
    if (!inputs_of(entry) || entry->bundle == ALL_NONE)
        return NULL;
    if (entry->bundle == NO_BLOCK) {
        *base = (const uint8_t *)entry;
        return (const ref_t *)(entry + 1);
    }
    const ref_t bundle = {.region = REGION_KERNEL};
    *base = base_of(l, &bundle, NULL) + entry->bundle;
    return (const ref_t *)*base;
}

static uint64_t copy_ref(csched_lane_t *l, const ref_t *ref, const uint8_t *entry, uint8_t *to)
{
    uint64_t size = size_of(ref);
    const uint8_t *base = size ? base_of(l, ref, entry) : NULL;
    if (base)
        memcpy(to, base + ref->offset, size);
    return size;
}

/* The end of its bytes in the pack, if they begin at `at`. */
static uint64_t end_of(const task_entry_t *entry, const ref_t *refs, uint64_t at)
{
    uint64_t size = size_of(&entry->payload);
    at = aligned(at, size) + size;
    for (uint32_t i = 0; i < inputs_of(entry); i++)
        at = aligned(at, 0) + INPUT_HEAD + (refs ? size_of(&refs[i]) : 0);
    return at;
}

/* Copies its bytes into the pack and returns their end. */
static uint64_t copy_out(csched_lane_t *l, const task_entry_t *entry, uint8_t *data, uint64_t at,
                         csched_packed_t *record)
{
    static const uint32_t kinds[] = {
        [ENTRY_TASK] = CSCHED_TASK, [ENTRY_FUNCTION] = CSCHED_FUNCTION, [ENTRY_CONTROL] = CSCHED_CONTROL};
    const uint8_t *base = NULL;
    const ref_t *refs = refs_of(l, entry, &base);
    uint64_t size = size_of(&entry->payload);
    bool task = entry->head.kind == ENTRY_TASK;
    at = aligned(at, size);
    *record = (csched_packed_t){.kind = kinds[entry->head.kind],
                                .function = entry->function,
                                .ticket = task ? entry->ticket : 0,
                                .count = task ? entry->count : 0,
                                .inputs = inputs_of(entry),
                                .alone = task && entry->attempt & ENTRY_ALONE,
                                .at = at,
                                .size = size};
    at += copy_ref(l, &entry->payload, (const uint8_t *)entry, data + at);
    for (uint32_t i = 0; i < record->inputs; i++) {
        ref_t ref = refs ? refs[i] : (ref_t){.region = REGION_NONE, .status = CSCHED_NONE};
        uint64_t end = aligned(at, 0), head[2] = {ref.status, size_of(&ref)};
        memset(data + at, 0, end - at);
        memcpy(data + end, head, sizeof head);
        at = end + INPUT_HEAD;
        at += copy_ref(l, &ref, base, data + at);
    }
    return at;
}

static int make_room(csched_lane_t *l)
{
    if (l->count == l->capacity) {
        uint32_t capacity = l->capacity ? 2 * l->capacity : 64;
        in_flight_t *grown = malloc(capacity * sizeof *grown);
        if (!grown)
            return CSCHED_ENOMEM;
        for (uint32_t i = 0; i < l->count; i++)
            grown[i] = *in_flight_at(l, i);
        free(l->in_flight);
        l->in_flight = grown;
        l->head = 0;
        l->capacity = capacity;
    }
    return CSCHED_OK;
}

/* Puts one entry into the pack. 1: done; 0: it was revoked; CSCHED_EFULL: it does not fit; CSCHED_EAGAIN: it must
 * wait. */
static int take_one(csched_lane_t *l, task_entry_t *entry, uint32_t tasks, void *data, uint64_t room,
                    csched_packed_t *record, uint64_t *used)
{
    bool task = entry->head.kind == ENTRY_TASK;
    if (l->tasks.peeked < sizeof *entry || entry->head.kind < ENTRY_TASK || entry->head.kind > ENTRY_CONTROL)
        return CSCHED_ECORRUPT;
    if (task && u32_acquire(&entry->head.claim) != CLAIM_QUEUED) /* partner: held_revoke */
        return 0;
    if (task && entry->attempt & ENTRY_ALONE && (tasks || l->count))
        return CSCHED_EAGAIN;
    const uint8_t *base;
    uint64_t end = end_of(entry, refs_of(l, entry, &base), *used);
    if (end > room) {
        *used = end;
        return CSCHED_EFULL;
    }
    int rc = task ? make_room(l) : CSCHED_OK;
    if (rc < 0)
        return rc;
    if (task && !u32_cas(&entry->head.claim, CLAIM_QUEUED, CLAIM_TAKEN)) /* partner: held_revoke */
        return 0;
    *used = copy_out(l, entry, data, *used, record);
    if (task)
        *in_flight_at(l, l->count++) = (in_flight_t){.ticket = entry->ticket,
                                                     .dispatched = entry->dispatched,
                                                     .slot = entry->head.slot,
                                                     .count = entry->count,
                                                     .attempt = entry->attempt & ~ENTRY_FLAGS,
                                                     .urgent = (entry->attempt & ENTRY_URGENT) != 0};
    return 1;
}

/* Unpins a large function for this worker: it has been copied. */
static void drop_function(csched_lane_t *l, const task_entry_t *entry)
{
    if (entry->head.kind != ENTRY_FUNCTION || entry->payload.region != REGION_KERNEL)
        return;
    pthread_mutex_lock(&l->s->lock);
    unpin(l->s, l->s->workers[l->index], entry->function);
    pthread_mutex_unlock(&l->s->lock);
}

static void sleep_on_ring(csched_lane_t *l, uint32_t timeout_ms)
{
    shared_u32 *sleeping = &l->segment->tasks.sleeping;
    u32_exchange(sleeping, 1); /* before the last look at tail and woken; partners: worker_wake, csched_lane_wake */
    fence_seq_cst();
    if (ring_empty(&l->tasks) && !u32_relaxed(&l->woken) && !u32_relaxed(&l->segment->retire))
        futex_wait(sleeping, 1, (uint64_t)timeout_ms * 1000000);
    u32_exchange(sleeping, 0);
}

/* Takes what is available; returns the number of records, or the error of the first one. */
static int take_all(csched_lane_t *l, uint32_t most, void *data, uint64_t room, csched_packed_t *records,
                    uint32_t record_most, uint64_t *used)
{
    uint32_t n = 0, tasks = 0;
    entry_t *entry;
    int rc = 0;
    *used = 0;
    while (n < record_most && tasks < most && (rc = ring_peek(&l->tasks, &entry)) == 1) {
        uint64_t at = *used;
        rc = take_one(l, (task_entry_t *)entry, tasks, data, room, &records[n], &at);
        if (rc < 0) {
            if (!n)
                *used = at;
            break;
        }
        if (rc == 1) {
            *used = at;
            drop_function(l, (task_entry_t *)entry);
            tasks += entry->kind == ENTRY_TASK;
        }
        ring_advance(&l->tasks);
        n += (uint32_t)rc;
        if (rc == 1 && records[n - 1].alone)
            break;
    }
    if (n)
        return (int)n;
    return rc == CSCHED_EFULL ? CSCHED_ETOOBIG : rc < 0 ? rc : 0;
}

CSCHED_EXPORT int csched_lane_take(csched_lane_t *l, uint32_t timeout_ms, uint32_t most, void *data, uint64_t room,
                                   csched_packed_t *records, uint32_t record_most, uint64_t *used)
{
    int rc = take_all(l, most, data, room, records, record_most, used);
    if (!rc && timeout_ms && !u32_relaxed(&l->woken)) {
        sleep_on_ring(l, timeout_ms);
        rc = take_all(l, most, data, room, records, record_most, used);
    }
    u32_exchange(&l->woken, 0);
    lane_say_what_runs(l);
    if (!rc && u32_acquire(&l->segment->retire) && ring_empty(&l->tasks)) /* partner: csched_worker_retire */
        return CSCHED_ESTOPPED;
    return rc;
}

CSCHED_EXPORT int csched_lane_wait(csched_lane_t *l, uint32_t timeout_ms)
{
    if (!u32_exchange(&l->woken, 0)) {
        futex_wait(&l->woken, 0, (uint64_t)timeout_ms * 1000000); /* partner: csched_lane_wake */
        u32_exchange(&l->woken, 0);
    }
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_lane_wake(csched_lane_t *l)
{
    u32_exchange(&l->woken, 1); /* before the look at sleeping; partner: sleep_on_ring */
    futex_wake(&l->woken);
    if (u32_exchange(&l->segment->tasks.sleeping, 0))
        futex_wake(&l->segment->tasks.sleeping);
    return CSCHED_OK;
}

CSCHED_EXPORT uint32_t csched_lane_outstanding(const csched_lane_t *l)
{
    return l->count;
}

CSCHED_EXPORT uint32_t csched_lane_oldest(const csched_lane_t *l, uint32_t most, uint64_t *tickets)
{
    uint32_t n = most < l->count ? most : l->count;
    for (uint32_t i = 0; i < n; i++)
        tickets[i] = in_flight_at(l, i)->ticket;
    return n;
}
