/* A worker whose task ring, segment or regions hold anything: it says so, and touches nothing that is not there. */
#define _GNU_SOURCE
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "csched.h"
#include "fuzz.h"
#include "segment.h"
#include "worker.h"

enum { RING = 4096, MEMORY = 1 << 20, STEPS = 200 };

typedef struct {
    csched_worker_t *w;
    ring_t tasks; /* the kernel's end */
    uint8_t *region;
    uint64_t freed; /* into the frees ring, so far */
} scene_t;

/* A region that never comes is waited for; here it never comes at once. */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)wanted;
    (void)left;
    return 0;
}

static void open_worker(scene_t *scene, int *far_end)
{
    int fds[4], pair[2], region;
    void *base;
    HOLDS(memory_create("segment", segment_bytes(RING), &fds[0]) == CSCHED_OK);
    HOLDS(memory_map(fds[0], segment_bytes(RING), true, &base) == CSCHED_OK);
    segment_format(base, 0, RING, MEMORY, MEMORY);
    memory_unmap(base, segment_bytes(RING));
    HOLDS(memory_create("arena", 0, &fds[3]) == CSCHED_OK);
    fds[1] = eventfd(0, EFD_NONBLOCK);
    HOLDS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
    fds[2] = pair[0];
    *far_end = pair[1];
    HOLDS(csched_worker_attach(fds, &scene->w) == CSCHED_OK);
    /* region 0, the kernel's, as the watching thread would map it; its file as well: the lowest bit */
    HOLDS(memory_create("region", 2 * MEMORY, &region) == CSCHED_OK);
    HOLDS(memory_map(region, 2 * MEMORY, true, &base) == CSCHED_OK);
    close(region);
    scene->region = base;
    shared_u64 *page = calloc(REGION_PAGE, sizeof *page);
    HOLDS(page);
    u64_store_relaxed(&page[0], (uint64_t)(uintptr_t)base | 1);
    scene->w->regions[0] = page;
    segment_t *segment = scene->w->segment;
    ring_open(&scene->tasks, &segment->tasks, (uint8_t *)segment + SEGMENT_HEADER_BYTES, RING);
}

static void write_ref(ref_t *ref, uint64_t at, input_t *in)
{
    static const uint32_t regions[] = {REGION_INLINE, REGION_NONE, REGION_KERNEL, REGION_INLINE};
    *ref = (ref_t){.region = regions[below(in, 4)], .offset = at, .size = below(in, 64), .status = CSCHED_VALUE};
    if (below(in, 8) == 0)
        ref->offset = number(in);
    if (below(in, 8) == 0)
        ref->size = number(in);
    if (below(in, 16) == 0)
        ref->region = (uint32_t)number(in);
}

/* An entry that makes sense, and then one or two of its words are something else. */
static void send_entry(scene_t *scene, input_t *in)
{
    entry_t *head;
    uint32_t inputs = below(in, 5);
    uint64_t at = sizeof(task_entry_t) + inputs * sizeof(ref_t);
    if (ring_reserve(&scene->tasks, at + below(in, 100), &head) < 0)
        return;
    task_entry_t *entry = (task_entry_t *)head;
    uint32_t bytes = head->bytes;
    *entry = (task_entry_t){.head = {.bytes = bytes, .kind = ENTRY_TASK + below(in, 3)},
                            .ticket = below(in, 9),
                            .count = below(in, 4),
                            .bundle = NO_BLOCK,
                            .inputs = inputs};
    write_ref(&entry->payload, at, in);
    ref_t *refs = (ref_t *)(entry + 1);
    if (below(in, 3) == 0) {
        entry->bundle = (uint64_t)64 * below(in, 200);
        refs = (ref_t *)(void *)(scene->region + entry->bundle);
    } else if (below(in, 3) == 0) {
        entry->bundle = ALL_NONE;
    }
    for (uint32_t i = 0; i < inputs; i++)
        write_ref(&refs[i], at, in);
    for (uint32_t spoils = below(in, 3); spoils; spoils--) {
        uint64_t value = number(in);
        memcpy((uint8_t *)entry + 4 * below(in, sizeof *entry / 4 - 1), &value, 4 + 4 * below(in, 2));
    }
    ring_commit(&scene->tasks);
}

static void scribble(scene_t *scene, input_t *in)
{
    segment_t *segment = scene->w->segment;
    uint64_t value = number(in);
    uint8_t *places[] = {(uint8_t *)&segment->tasks,
                         (uint8_t *)&segment->results,
                         (uint8_t *)&segment->kernel_sleeping,
                         (uint8_t *)&segment->frees_tail,
                         (uint8_t *)segment + SEGMENT_HEADER_BYTES,
                         (uint8_t *)segment};
    memcpy(places[below(in, 6)] + 4 * below(in, 48), &value, 4 + 4 * below(in, 2));
}

static void receive(scene_t *scene, input_t *in)
{
    csched_item_t item;
    uint64_t address, size;
    uint32_t status;
    if (csched_worker_next(scene->w, 0, 0, &item) != CSCHED_OK)
        return;
    HOLDS(item.kind >= CSCHED_TASK && item.kind <= CSCHED_CONTROL);
    touch(item.address, item.size);
    for (uint32_t i = 0; i < item.inputs && i < 8; i++)
        if (csched_worker_input(scene->w, i, &status, &address, &size) == CSCHED_OK)
            touch(address, size);
    uint32_t far = (uint32_t)number(in);
    if (csched_worker_input(scene->w, far, &status, &address, &size) == CSCHED_OK)
        touch(address, size);
}

static void publish(scene_t *scene, input_t *in)
{
    uint8_t data[512] = {0};
    uint64_t size = below(in, 200), block, address;
    switch (below(in, 5)) {
    case 0:
        csched_worker_emit(scene->w, CSCHED_OUTPUT, 1, data, size, NO_BLOCK);
        break;
    case 1:
        csched_worker_element(scene->w, below(in, 4));
        break;
    case 2:
        if (csched_worker_alloc(scene->w, size * 200, &block, &address) == CSCHED_OK) {
            touch(address, size * 200);
            csched_worker_publish(scene->w, CSCHED_VALUE, 0, NULL, size * 200, block);
        }
        break;
    case 3:
        csched_worker_unpin(scene->w, number(in));
        break;
    default:
        csched_worker_publish(scene->w, CSCHED_VALUE, 0, data, size, NO_BLOCK);
    }
}

static void give_back(scene_t *scene, input_t *in)
{
    segment_t *segment = scene->w->segment;
    segment->frees[scene->freed++ % FREES_CAPACITY] = number(in) * (below(in, 2) ? 64 : 1);
    u64_store_relaxed(&segment->frees_tail, scene->freed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input_t in = {bytes, size};
    scene_t scene = {0};
    int far_end;
    open_worker(&scene, &far_end);
    for (int step = 0; step < STEPS && in.left; step++) {
        switch (below(&in, 6)) {
        case 0:
            send_entry(&scene, &in);
            break;
        case 1:
        case 2:
            receive(&scene, &in);
            break;
        case 3:
            publish(&scene, &in);
            break;
        case 4:
            give_back(&scene, &in);
            break;
        default:
            scribble(&scene, &in);
        }
    }
    memory_unmap(scene.region, 2 * MEMORY);
    u64_store_relaxed(&scene.w->regions[0][0], 0);
    csched_worker_detach(scene.w);
    close(far_end);
    return 0;
}
