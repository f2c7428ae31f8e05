/* What do an allocation and its free cost, alone and among many of other sizes? */
#include <unistd.h>

#include "arena.h"
#include "bench.h"
#include "segment.h"

enum { LIVE = 4096 };

static arena_t arena;

static void open_arena(void)
{
    int fd;
    void *base;
    must(memory_create("bench", 0, &fd));
    must(memory_map(fd, UINT64_C(1) << 32, true, &base));
    arena_open(&arena, base, fd, UINT64_C(1) << 32, memory_grow);
}

static void close_arena(void)
{
    memory_unmap(arena.base, arena.limit);
    close(arena.fd);
}

static uint64_t one_block(uint64_t operations)
{
    uint64_t offset;
    open_arena();
    uint64_t begin = csched_now();
    for (uint64_t i = 0; i < operations; i++) {
        must(arena_alloc(&arena, 10000, &offset));
        must(arena_free(&arena, offset));
    }
    uint64_t spent = csched_now() - begin;
    close_arena();
    return spent;
}

static uint64_t among_many(uint64_t operations)
{
    static uint64_t live[LIVE];
    uint64_t random = 88172645463325252u;
    open_arena();
    for (int i = 0; i < LIVE; i++)
        must(arena_alloc(&arena, 64 + (uint64_t)i * 7, &live[i]));
    uint64_t begin = csched_now();
    for (uint64_t i = 0; i < operations; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint64_t *block = &live[random % LIVE];
        must(arena_free(&arena, *block));
        must(arena_alloc(&arena, 64 + (random >> 40) % 30000, block));
    }
    uint64_t spent = csched_now() - begin;
    close_arena();
    return spent;
}

int main(void)
{
    bench("arena: alloc and free, one block", 5000000, one_block);
    bench("arena: free and alloc among 4,096 blocks", 1000000, among_many);
}
