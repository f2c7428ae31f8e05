/* The header of a segment, and all that a worker does before its first task. */
#define _GNU_SOURCE
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "segment.h"
#include "worker.h"

enum { RING = 4096, MODEST = 64 << 20 };

static void write_header(segment_t *segment, input_t *in)
{
    segment_format(segment, 0, RING, 1 << 20, 1 << 20);
    while (in->left) {
        uint64_t value;
        switch (below(in, 7)) {
        case 0:
            segment->magic = (uint32_t)number(in);
            break;
        case 1:
            segment->ring_bytes = number(in);
            break;
        case 2:
            segment->arena_bytes = number(in);
            break;
        case 3:
            segment->file_bytes = number(in);
            break;
        case 4:
            u32_store_relaxed(&segment->version, (uint32_t)number(in));
            break;
        case 5:
            segment->arena_bytes <<= below(in, 64);
            break;
        default:
            value = number(in);
            memcpy((uint8_t *)segment + 8 * below(in, 128), &value, sizeof value);
        }
    }
}

static void use(csched_worker_t *w)
{
    csched_item_t item;
    uint64_t offset, address;
    csched_worker_ready(w);
    csched_worker_next(w, 0, 0, &item);
    if (csched_worker_alloc(w, 100000, &offset, &address) == CSCHED_OK)
        memset((void *)(uintptr_t)address, 1, 100000);
    csched_worker_emit(w, CSCHED_OUTPUT, 1, "text", 4, NO_BLOCK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input_t in = {bytes, size};
    static const uint64_t sizes[] = {0, 4096, sizeof(segment_t), SEGMENT_HEADER_BYTES, SEGMENT_HEADER_BYTES + RING};
    uint64_t choice = raw(&in, 1) % 16, file_bytes = choice < 5 ? sizes[choice] : segment_bytes(RING);
    int fds[4], pair[2];
    segment_t *header = aligned_alloc(LINE, SEGMENT_HEADER_BYTES);
    HOLDS(header);
    memset(header, 0, SEGMENT_HEADER_BYTES);
    write_header(header, &in);
    HOLDS(memory_create("segment", file_bytes, &fds[0]) == CSCHED_OK);
    HOLDS(memory_create("arena", 0, &fds[3]) == CSCHED_OK);
    HOLDS(pwrite(fds[0], header, file_bytes < SEGMENT_HEADER_BYTES ? file_bytes : SEGMENT_HEADER_BYTES, 0) >= 0);
    bool modest = header->arena_bytes <= MODEST && header->file_bytes <= MODEST;
    int rc = segment_check(header, file_bytes);
    HOLDS(rc < 0 || segment_bytes(header->ring_bytes) <= file_bytes);
    free(header);
    fds[1] = eventfd(0, EFD_NONBLOCK);
    HOLDS(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
    fds[2] = pair[0];
    csched_worker_t *w;
    if ((modest || rc < 0) && csched_worker_attach(fds, &w) == CSCHED_OK) { /* the sanitizer is slow with more */
        use(w);
        csched_worker_detach(w);
    } else {
        for (int i = 0; i < 4; i++)
            close(fds[i]);
    }
    close(pair[1]);
    return 0;
}
