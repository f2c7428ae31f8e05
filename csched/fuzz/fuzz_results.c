/* The kernel against workers that write anything into the memory they share with it, and into their socket: each task
 * ends exactly once all the same, nothing is read that is not there, nothing is left. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "internal.h"
#include "segment.h"

enum { MEMORY = 1 << 20, TASKS = 48, WORKERS = 6, STEPS = 200, INPUTS = 3 };

typedef struct { /* a worker, by hand */
    uint32_t index;
    int control, arena; /* -1: it has been declared lost */
    ring_t tasks, results;
    uint64_t ticket; /* of the task it took last */
} hostile_t;

typedef struct {
    csched_t *s;
    hostile_t workers[WORKERS];
    uint32_t worker_count;
    uint64_t tickets[TASKS];
    uint32_t ended[TASKS];
    uint32_t submitted;
} scene_t;

static segment_t *segment_of(const scene_t *scene, const hostile_t *h)
{
    return scene->s->workers[h->index]->segment;
}

static void add_worker(scene_t *scene)
{
    hostile_t *h = &scene->workers[scene->worker_count];
    int fds[4];
    if (scene->worker_count == WORKERS || csched_worker_add(scene->s, &h->index, fds) < 0)
        return;
    close(fds[0]);
    close(fds[1]);
    h->control = fds[2];
    h->arena = fds[3];
    segment_t *segment = segment_of(scene, h);
    uint8_t *data = (uint8_t *)segment + SEGMENT_HEADER_BYTES;
    ring_open(&h->tasks, &segment->tasks, data, segment->ring_bytes);
    ring_open(&h->results, &segment->results, data + segment->ring_bytes, segment->ring_bytes);
    u32_store_relaxed(&segment->ready, 1);
    scene->worker_count++;
}

static void lose_worker(scene_t *scene, hostile_t *h)
{
    HOLDS(csched_worker_lost(scene->s, h->index) == CSCHED_OK);
    close(h->control);
    close(h->arena);
    h->control = h->arena = -1;
}

static void submit(scene_t *scene, input_t *in)
{
    uint32_t slot = scene->submitted;
    uint64_t inputs[INPUTS], block, address;
    csched_options_t options = {.block = NO_BLOCK, .inputs = inputs, .count = 1 + below(in, 4)};
    if (slot == TASKS)
        return;
    options.retries = below(in, 3);
    options.timeout_ns = below(in, 2);
    options.priority = (int32_t)below(in, 5) - 2;
    for (uint32_t i = below(in, INPUTS + 1); i && slot; i--)
        inputs[options.input_count++] = scene->tickets[below(in, slot)];
    uint64_t size = below(in, 200);
    if (below(in, 4) == 0 && csched_block_alloc(scene->s, 20000, &block, &address) == CSCHED_OK) {
        options.block = block;
        size = 20000;
    }
    uint8_t data[256] = {0};
    int64_t ticket = csched_submit_with(scene->s, slot, 0, 0, data, size, 0, &options);
    if (ticket > 0)
        scene->tickets[scene->submitted++] = (uint64_t)ticket;
    else if (options.block != NO_BLOCK)
        csched_block_free(scene->s, block);
}

/* -- what a worker does */

static void claim(const scene_t *scene, hostile_t *h)
{
    entry_t *entry;
    if (ring_peek(&h->tasks, &entry) != 1)
        return;
    u32_cas(&entry->claim, CLAIM_QUEUED, CLAIM_TAKEN);
    if (entry->kind == ENTRY_TASK)
        h->ticket = ((task_entry_t *)entry)->ticket;
    u64_store_relaxed(&segment_of(scene, h)->claim_ticket, h->ticket);
    ring_advance(&h->tasks);
}

/* A result or message that makes sense, and then one or two of its words are something else. */
static void answer(hostile_t *h, input_t *in)
{
    static const uint32_t regions[] = {REGION_INLINE, REGION_NONE, 0, 1};
    entry_t *head;
    uint64_t now = csched_now(), marks = below(in, 6), size = below(in, 100), at = sizeof(result_entry_t) + 8 * marks;
    if (ring_reserve(&h->results, at + size, &head) < 0)
        return;
    uint32_t bytes = head->bytes;
    memset(head, 0, bytes);
    result_entry_t *entry = (result_entry_t *)head;
    *entry = (result_entry_t){.head = {.bytes = bytes, .kind = ENTRY_RESULT, .slot = ticket_slot(h->ticket)},
                              .ticket = h->ticket,
                              .status = below(in, 3),
                              .payload = {.region = regions[below(in, 4)], .offset = at, .size = size},
                              .count = 1,
                              .stamps = (uint32_t)marks,
                              .received = now - 3,
                              .started = now - 2,
                              .finished = now - 1,
                              .returned = now};
    if (below(in, 3) == 0) {
        entry->head.kind = ENTRY_MESSAGE;
        entry->count = below(in, 7);
    } else if (below(in, 3) == 0) {
        entry->head.claim = CSCHED_PINS;
    }
    if (entry->payload.region < 2)
        entry->payload.offset = (uint64_t)64 << below(in, 20);
    for (uint32_t spoils = below(in, 3); spoils; spoils--) {
        uint64_t value = number(in);
        memcpy((uint8_t *)entry + 4 * below(in, sizeof *entry / 4 - 1), &value, 4 + 4 * below(in, 2));
    }
    ring_commit(&h->results);
}

static void scribble(const scene_t *scene, const hostile_t *h, input_t *in)
{
    segment_t *segment = segment_of(scene, h);
    uint64_t value = number(in);
    uint8_t *places[] = {(uint8_t *)&segment->tasks,
                         (uint8_t *)&segment->results,
                         (uint8_t *)&segment->claim_ticket,
                         (uint8_t *)&segment->kernel_sleeping,
                         (uint8_t *)&segment->frees_tail,
                         (uint8_t *)segment + SEGMENT_HEADER_BYTES,
                         (uint8_t *)segment + SEGMENT_HEADER_BYTES + segment->ring_bytes,
                         (uint8_t *)segment};
    memcpy(places[below(in, 8)] + 4 * below(in, 64), &value, 4 + 4 * below(in, 2));
}

static void grow(const hostile_t *h, input_t *in)
{
    if (ftruncate(h->arena, (off_t)below(in, 64) << 14) < 0)
        return; /* never smaller: it is sealed */
}

static void send_on_socket(const hostile_t *h, input_t *in)
{
    int fd = -1;
    char body[16] = {0};
    switch (below(in, 5)) {
    case 0: /* a file, as it should be */
        fd = memfd_create("file", MFD_CLOEXEC);
        if (fd >= 0 && ftruncate(fd, (off_t)below(in, 64) << 14) == 0)
            fd_send(h->control, TAG_FILE, fd);
        break;
    case 1: /* what cannot be mapped */
        fd = open("/", O_RDONLY | O_CLOEXEC);
        fd_send(h->control, TAG_FILE, fd);
        break;
    case 2:
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        fd_send(h->control, (uint32_t)number(in), fd);
        break;
    case 3:
        fd_send(h->control, (uint32_t)number(in), -1);
        break;
    default:
        send(h->control, body, below(in, sizeof body), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (fd >= 0)
        close(fd);
}

static void act(scene_t *scene, hostile_t *h, input_t *in)
{
    switch (below(in, 8)) {
    case 0:
    case 1:
        claim(scene, h);
        break;
    case 2:
    case 3:
        answer(h, in);
        break;
    case 4:
        scribble(scene, h, in);
        break;
    case 5:
        grow(h, in);
        break;
    case 6:
        send_on_socket(h, in);
        break;
    default:
        lose_worker(scene, h);
    }
}

/* -- what the kernel does */

static void collect(scene_t *scene)
{
    csched_completion_t rows[16];
    csched_message_t messages[16];
    int count = csched_collect(scene->s, 16, rows);
    HOLDS(count >= 0);
    for (int i = 0; i < count; i++) {
        HOLDS(rows[i].slot < scene->submitted && rows[i].status <= CSCHED_NOROOM);
        HOLDS(++scene->ended[rows[i].slot] == 1);
        touch(rows[i].address, rows[i].size);
    }
    HOLDS(csched_commit(scene->s, (uint32_t)count) == CSCHED_OK);
    count = csched_messages(scene->s, 16, messages);
    for (int i = 0; i < count; i++) {
        HOLDS(messages[i].worker < scene->s->worker_count);
        HOLDS(messages[i].kind != CSCHED_PARTIAL || messages[i].slot < scene->submitted);
        HOLDS(messages[i].kind >= CSCHED_OUTPUT && messages[i].kind <= CSCHED_OVERDUE);
        touch(messages[i].address, messages[i].size);
    }
    HOLDS(csched_messages_commit(scene->s, (uint32_t)count) == CSCHED_OK);
}

static void administer(scene_t *scene, input_t *in)
{
    static const char *policies[] = {"least-loaded", "work-stealing", "round-robin", "random"};
    csched_stats_t stats;
    csched_worker_info_t info;
    csched_target_t target;
    uint64_t ticket = scene->submitted ? scene->tickets[below(in, scene->submitted)] : 0;
    uint32_t index = scene->worker_count ? scene->workers[below(in, scene->worker_count)].index : 0;
    switch (below(in, 8)) {
    case 0:
        csched_cancel(scene->s, ticket);
        break;
    case 1:
        csched_worker_retire(scene->s, index);
        break;
    case 2:
        csched_interrupt(scene->s, ticket, NO_ELEMENT, &target);
        break;
    case 3:
        csched_pause(scene->s, (int)below(in, 2));
        break;
    case 4:
        csched_set_policy(scene->s, policies[below(in, 4)]);
        break;
    case 5:
        csched_control(scene->s, index, 1, "control", 7);
        break;
    case 6:
        scene->s->next_tick = 0; /* as if time had passed */
        break;
    default:
        csched_stats(scene->s, &stats);
        csched_worker_info(scene->s, index, &info);
    }
}

static void step(scene_t *scene, input_t *in)
{
    hostile_t *h;
    switch (below(in, 8)) {
    case 0:
        submit(scene, in);
        break;
    case 1:
        add_worker(scene);
        break;
    case 2:
        csched_poll(scene->s, 0);
        break;
    case 3:
        collect(scene);
        break;
    case 4:
        administer(scene, in);
        break;
    default:
        h = scene->worker_count ? &scene->workers[below(in, scene->worker_count)] : NULL;
        if (h && h->control >= 0)
            act(scene, h, in);
    }
}

static void end(scene_t *scene)
{
    csched_stats_t stats;
    for (uint32_t i = 0; i < scene->worker_count; i++)
        if (scene->workers[i].control >= 0)
            lose_worker(scene, &scene->workers[i]);
    csched_cancel_all(scene->s);
    while (csched_poll(scene->s, 0) > 0)
        collect(scene);
    for (uint32_t i = 0; i < scene->submitted; i++)
        HOLDS(scene->ended[i] == 1);
    csched_stats(scene->s, &stats);
    HOLDS(stats.arena_used == 0 && stats.file_used == 0 && stats.waiting == 0 && stats.queued == 0);
    HOLDS(u64_relaxed(&scene->s->outstanding) == 0 && stats.workers == 0);
    for (uint32_t i = 1; i < scene->s->region_count; i++)
        HOLDS(!scene->s->regions[i].base);
    csched_destroy(scene->s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input_t in = {bytes, size};
    scene_t scene = {0};
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = MEMORY, .file_bytes = MEMORY, .journey_rows = 1024};
    HOLDS(csched_create(&config, &scene.s) == CSCHED_OK);
    HOLDS(csched_reserve(scene.s, TASKS) == CSCHED_OK);
    add_worker(&scene);
    for (int i = 0; i < STEPS && in.left; i++)
        step(&scene, &in);
    end(&scene);
    return 0;
}
