#define _GNU_SOURCE
#include "heap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "csched.h"
#include "harness.h"
#include "machine.h"
#include "segment.h"

enum { MEMORY = 1 << 20, DISK = 1 << 24 };

static heap_t open_heap(void)
{
    heap_t heap;
    int fd;
    OK(memory_create("test", 0, &fd));
    OK(heap_open(&heap, fd, MEMORY, DISK));
    return heap;
}

static uint64_t blocks_on_disk(const heap_t *heap)
{
    uint64_t bytes;
    OK(memory_size(heap->file.fd, &bytes));
    return bytes;
}

static void offsets_tell_memory_from_file(void)
{
    heap_t heap = open_heap();
    uint64_t near, far, third;
    OK(heap_alloc(&heap, MEMORY / 2, &near));
    EQUAL(heap_alloc(&heap, MEMORY / 2, &far), CSCHED_EFULL);
    EQUAL(heap_alloc(&heap, MEMORY + 1, &far), CSCHED_ETOOBIG);
    EQUAL(heap_free(&heap, MEMORY + 64), CSCHED_EINVAL); /* there is no file yet */
    OK(heap_spill(&heap, MEMORY * 3, &far));
    CHECK(near < MEMORY && far > MEMORY && far % LINE == 0);
    memset(heap_at(&heap, near), 1, MEMORY / 2);
    memset(heap_at(&heap, far), 2, MEMORY * 3);
    EQUAL(*(uint8_t *)heap_at(&heap, near), 1);
    OK(heap_free(&heap, near));
    OK(heap_spill(&heap, 100, &third));
    OK(heap_free(&heap, far));
    EQUAL(heap_free(&heap, far), CSCHED_EINVAL);
    CHECK(blocks_on_disk(&heap) > 0); /* the third is in it */
    OK(heap_free(&heap, third));
    EQUAL(heap.memory.used + heap.file.used, 0);
    heap_close(&heap);
}

static void the_last_block_gives_the_disk_back(void)
{
    heap_t heap = open_heap();
    uint64_t offset, first = 0;
    for (int i = 0; i < 3; i++) {
        OK(heap_spill(&heap, MEMORY * 4, &offset));
        CHECK(!first || offset == first);
        first = offset;
        CHECK(blocks_on_disk(&heap) >= MEMORY * 4);
        memset(heap_at(&heap, offset), i, MEMORY * 4);
        OK(heap_free(&heap, offset));
        EQUAL(blocks_on_disk(&heap), 0);
    }
    heap_close(&heap);
}

/* New pages are written by the file, used ones in place: what is read is the same. */
static void blocks_are_filled_either_way(void)
{
    static uint8_t data[FILL_MIN * 2];
    heap_t heap = open_heap();
    for (int round = 0; round < 3; round++) {
        uint64_t near, far;
        memset(data, round + 1, sizeof data);
        OK(heap_alloc(&heap, sizeof data * (round + 1) / 2 + sizeof data, &near)); /* partly used from the second on */
        OK(heap_spill(&heap, sizeof data + 10, &far));
        EQUAL(heap_fresh(&heap) == 0, round == 0);
        for (uint64_t shift = 5; shift < sizeof data / 2; shift *= 100)
            heap_fill(&heap, heap_fresh(&heap), near + shift, data, sizeof data);
        heap_fill(&heap, heap_fresh(&heap), near + 5, data, sizeof data);
        heap_fill(&heap, heap_fresh(&heap), far + 5, data, sizeof data);
        EQUAL(memcmp((uint8_t *)heap_at(&heap, near) + 5, data, sizeof data), 0);
        EQUAL(memcmp((uint8_t *)heap_at(&heap, far) + 5, data, sizeof data), 0);
        OK(heap_free(&heap, near));
        OK(heap_free(&heap, far));
    }
    heap_close(&heap);
}

static void its_descriptions_are_private_and_close_on_exec(void)
{
    int fd, readonly;
    OK(file_create(&fd));
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    OK(memory_readonly(fd, &readonly));
    CHECK(write(readonly, "x", 1) < 0);
    close(fd);
    close(readonly);
}

/* A limit on the size of files acts as a full disk: an error, and not a signal when the block is written. */
static void a_full_disk_is_an_error(void)
{
    heap_t heap = open_heap();
    uint64_t offset, second;
    struct rlimit limit = {.rlim_cur = 4 * MEMORY, .rlim_max = RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    OK(setrlimit(RLIMIT_FSIZE, &limit));
    EQUAL(heap_spill(&heap, 5 * MEMORY, &offset), CSCHED_EDISK);
    OK(heap_spill(&heap, 3 * MEMORY, &offset)); /* where an eighth more finds no room either */
    memset(heap_at(&heap, offset), 1, 3 * MEMORY);
    EQUAL(heap_spill(&heap, 2 * MEMORY, &second), CSCHED_EDISK);
    OK(heap_free(&heap, offset));
    OK(heap_spill(&heap, 2 * MEMORY, &second));
    EQUAL(heap_spill(&heap, DISK, &offset), CSCHED_ETOOBIG);
    heap_close(&heap);
}

static void the_machine_has_some_memory_left(void)
{
    CHECK(machine_memory() >= UINT64_C(1) << 26);
    CHECK(machine_left() < machine_memory());
    int fd;
    OK(memory_create("test", 0, &fd));
    EQUAL(memory_grow(fd, 0, machine_memory() * 2), CSCHED_EFULL);
    OK(memory_grow(fd, 0, 4096));
    close(fd);
}

MAIN(TEST(offsets_tell_memory_from_file), TEST(the_last_block_gives_the_disk_back), TEST(blocks_are_filled_either_way),
     TEST(its_descriptions_are_private_and_close_on_exec), TEST(a_full_disk_is_an_error),
     TEST(the_machine_has_some_memory_left))
