#define _GNU_SOURCE
#include "arena.h"

#include <sys/stat.h>

#include "csched.h"
#include "harness.h"
#include "segment.h"

enum { LIMIT = 1 << 22, LIVE = 256 };

static arena_t open_arena(uint64_t limit)
{
    arena_t arena;
    void *base;
    int fd;
    OK(memory_create("test", 0, &fd));
    OK(memory_map(fd, limit, true, &base));
    arena_open(&arena, base, fd, limit, memory_grow);
    return arena;
}

static void close_arena(arena_t *arena)
{
    memory_unmap(arena->base, arena->limit);
    close(arena->fd);
}

static void blocks_are_aligned_and_counted(void)
{
    arena_t arena = open_arena(LIMIT);
    uint64_t offset[3];
    for (int i = 0; i < 3; i++) {
        OK(arena_alloc(&arena, (uint64_t)i, &offset[i])); /* 0 bytes as well */
        EQUAL(offset[i] % LINE, 0);
        memset(arena_at(&arena, offset[i]), 0xff, (size_t)i);
    }
    CHECK(offset[0] != offset[1] && offset[1] != offset[2]);
    EQUAL(arena.used, 3 * 128);
    for (int i = 0; i < 3; i++)
        OK(arena_free(&arena, offset[i]));
    EQUAL(arena.used, 0);
    close_arena(&arena);
}

static void neighbours_coalesce(void)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int n = 0; n < 6; n++) {
        arena_t arena = open_arena(LIMIT);
        uint64_t offset[3], guard, whole;
        for (int i = 0; i < 3; i++)
            OK(arena_alloc(&arena, 10000, &offset[i]));
        OK(arena_alloc(&arena, 64, &guard));
        uint64_t end = arena.end;
        for (int i = 0; i < 3; i++)
            OK(arena_free(&arena, offset[orders[n][i]]));
        OK(arena_alloc(&arena, 30000, &whole)); /* fits only where the three were */
        EQUAL(whole, offset[0]);
        EQUAL(arena.end, end);
        close_arena(&arena);
    }
}

static void full_and_too_big(void)
{
    arena_t arena = open_arena(LIMIT);
    uint64_t first, second, third;
    EQUAL(arena_alloc(&arena, LIMIT, &first), CSCHED_ETOOBIG); /* its header does not fit */
    EQUAL(arena_alloc(&arena, UINT64_MAX, &first), CSCHED_ETOOBIG);
    OK(arena_alloc(&arena, LIMIT / 2, &first));
    EQUAL(arena_alloc(&arena, LIMIT / 2, &second), CSCHED_EFULL);
    OK(arena_alloc(&arena, LIMIT / 4, &second));
    OK(arena_free(&arena, first));
    OK(arena_free(&arena, second));
    OK(arena_alloc(&arena, LIMIT - 64, &third)); /* all of it is one block again */
    OK(arena_free(&arena, third));
    EQUAL(arena.used, 0);
    close_arena(&arena);
}

static void a_free_tail_grows(void)
{
    arena_t arena = open_arena(LIMIT);
    uint64_t offset, guard;
    OK(arena_alloc(&arena, 64, &guard));
    for (uint64_t size = 1000; size < LIMIT - 1000; size = size * 3 / 2) {
        OK(arena_alloc(&arena, size, &offset));
        EQUAL(offset, guard + 128);
        OK(arena_free(&arena, offset));
    }
    close_arena(&arena);
}

static void wrong_frees_are_refused(void)
{
    arena_t arena = open_arena(LIMIT);
    uint64_t a, b;
    OK(arena_alloc(&arena, 1000, &a));
    OK(arena_alloc(&arena, 1000, &b));
    static const uint64_t wrong[] = {0, 1, 63, LIMIT, UINT64_MAX, NO_BLOCK - 63};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        EQUAL(arena_free(&arena, wrong[i]), CSCHED_EINVAL);
    EQUAL(arena_free(&arena, a + 1), CSCHED_EINVAL);
    OK(arena_free(&arena, a));
    EQUAL(arena_free(&arena, a), CSCHED_EINVAL);
    OK(arena_free(&arena, b)); /* merges with a and, the other way round, */
    EQUAL(arena_free(&arena, b), CSCHED_EINVAL);
    EQUAL(arena_free(&arena, a), CSCHED_EINVAL);
    EQUAL(arena.used, 0);
    close_arena(&arena);
}

static void the_file_grows_and_is_reused(void)
{
    arena_t arena = open_arena(UINT64_C(1) << 30);
    uint64_t offset, size;
    OK(memory_size(arena.fd, &size));
    EQUAL(size, 0);
    for (int i = 0; i < 50; i++) {
        OK(arena_alloc(&arena, 3 << 20, &offset));
        memset(arena_at(&arena, offset), i, 3 << 20);
        OK(arena_free(&arena, offset));
    }
    OK(memory_size(arena.fd, &size));
    CHECK(size >= 3 << 20 && size < 8 << 20);
    EQUAL(size, arena.size);
    close_arena(&arena);
}

typedef struct {
    uint64_t offset, size;
    uint8_t fill;
} live_t;

static void check_fill(const arena_t *arena, const live_t *block)
{
    const uint8_t *data = arena_at(arena, block->offset);
    for (uint64_t i = 0; i < block->size; i++)
        EQUAL(data[i], block->fill);
}

/* Every block keeps its content: no two overlap, and none contains a header. */
static void random_allocs_against_a_model(void)
{
    arena_t arena = open_arena(LIMIT);
    live_t live[LIVE] = {0};
    uint64_t seed = 11, used = 0;
    int refused = 0;
    for (int step = 0; step < 60000; step++) {
        live_t *block = &live[next_random(&seed) % LIVE];
        if (block->size) {
            if (step % 8 == 0 || block->size < 4096)
                check_fill(&arena, block);
            uint64_t before = arena.used;
            OK(arena_free(&arena, block->offset));
            used -= before - arena.used;
            *block = (live_t){0};
        } else {
            uint64_t size = 1 + (next_random(&seed) >> (34 + next_random(&seed) % 24)) % 200000, before = arena.used;
            int rc = arena_alloc(&arena, size, &block->offset);
            refused += rc == CSCHED_EFULL;
            if (rc == CSCHED_EFULL)
                continue;
            OK(rc);
            CHECK(block->offset + size <= arena.end && arena.end <= arena.size && arena.size <= LIMIT);
            block->size = size;
            block->fill = (uint8_t)step;
            memset(arena_at(&arena, block->offset), block->fill, size);
            used += arena.used - before;
        }
    }
    CHECK(refused > 0);
    EQUAL(used, arena.used);
    for (int i = 0; i < LIVE; i++)
        if (live[i].size) {
            check_fill(&arena, &live[i]);
            OK(arena_free(&arena, live[i].offset));
        }
    EQUAL(arena.used, 0);
    uint64_t whole;
    OK(arena_alloc(&arena, LIMIT - 64, &whole)); /* all of it has come together again */
    close_arena(&arena);
}

static uint64_t pages_of(const arena_t *arena)
{
    struct stat state;
    OK(fstat(arena->fd, &state));
    return (uint64_t)state.st_blocks * 512 / PAGE;
}

static void trim_all(arena_t *arena, uint64_t keep)
{
    for (int i = 0; i < TRIM_AGE; i++)
        arena_age(arena);
    while (arena_trim(arena, keep, 1 << 18))
        continue;
}

static void what_stays_free_gives_its_pages_back(void)
{
    arena_t arena = open_arena(LIMIT);
    uint64_t offset[8];
    for (int i = 0; i < 8; i++) {
        OK(arena_alloc(&arena, 400000, &offset[i]));
        memset(arena_at(&arena, offset[i]), i + 1, 400000);
    }
    uint64_t all = pages_of(&arena);
    CHECK(all >= 8 * 400000 / PAGE);
    for (int i = 1; i < 8; i += 2)
        OK(arena_free(&arena, offset[i]));
    EQUAL(arena_trim(&arena, 0, LIMIT), 0); /* freed too recently */
    arena_age(&arena);
    EQUAL(arena_trim(&arena, 0, LIMIT), 0);
    EQUAL(pages_of(&arena), all);
    trim_all(&arena, 800000);
    CHECK(arena.hot <= 800000 && pages_of(&arena) <= all - 2 * 400000 / PAGE + 4);
    trim_all(&arena, 0);
    EQUAL(arena.hot, 0);
    CHECK(pages_of(&arena) <= 4 * (400000 / PAGE + 3));
    for (int i = 0; i < 8; i += 2) {
        CHECK(*((uint8_t *)arena_at(&arena, offset[i])) == i + 1);
        CHECK(*((uint8_t *)arena_at(&arena, offset[i]) + 399999) == i + 1);
        OK(arena_free(&arena, offset[i]));
    }
    trim_all(&arena, 0);
    CHECK(pages_of(&arena) <= 8);
    CHECK(arena.reused <= PAGE); /* all behind is as if no block had been there */
    OK(arena_alloc(&arena, LIMIT - 64, &offset[0]));
    close_arena(&arena);
}

/* The first part of the free space keeps its pages: the next block takes it. */
static void what_is_kept_is_used_first(void)
{
    arena_t arena = open_arena(LIMIT);
    uint64_t first, second;
    OK(arena_alloc(&arena, LIMIT / 2, &first));
    memset(arena_at(&arena, first), 1, LIMIT / 2);
    OK(arena_free(&arena, first));
    trim_all(&arena, 1 << 16);
    uint64_t pages = pages_of(&arena);
    CHECK(pages <= (1 << 16) / PAGE + 2);
    OK(arena_alloc(&arena, 60000, &second));
    memset(arena_at(&arena, second), 2, 60000);
    CHECK(second == first && pages_of(&arena) <= pages + 1);
    OK(arena_free(&arena, second));
    CHECK(arena.hot <= 1 << 17);
    close_arena(&arena);
}

/* During any allocations and frees no used block loses a byte, and the count of bytes with pages is right in the
 * end. */
static void blocks_in_use_keep_theirs(void)
{
    arena_t arena = open_arena(LIMIT);
    uint64_t offset[LIVE] = {0}, bytes[LIVE];
    srand(2);
    for (int i = 0; i < 20000; i++) {
        int n = rand() % LIVE;
        if (offset[n]) {
            const uint8_t *data = arena_at(&arena, offset[n]);
            CHECK(data[0] == (uint8_t)n && data[bytes[n] / 2] == (uint8_t)n && data[bytes[n] - 1] == (uint8_t)n);
            OK(arena_free(&arena, offset[n]));
            offset[n] = 0;
        } else {
            bytes[n] = 1 + (uint64_t)rand() % (rand() % 8 ? 5000 : 120000);
            if (arena_alloc(&arena, bytes[n], &offset[n]) == CSCHED_OK)
                memset(arena_at(&arena, offset[n]), n, bytes[n]);
            else
                offset[n] = 0;
        }
        if (i % 50 == 0)
            arena_age(&arena);
        if (i % 7 == 0)
            arena_trim(&arena, (uint64_t)(rand() % 3) << 17, 1 << 16);
    }
    for (int n = 0; n < LIVE; n++)
        if (offset[n])
            OK(arena_free(&arena, offset[n]));
    trim_all(&arena, 0);
    CHECK(arena.used == 0 && arena.hot == 0 && pages_of(&arena) <= 8);
    close_arena(&arena);
}

MAIN(TEST(blocks_are_aligned_and_counted), TEST(neighbours_coalesce), TEST(full_and_too_big), TEST(a_free_tail_grows),
     TEST(wrong_frees_are_refused), TEST(the_file_grows_and_is_reused), TEST(random_allocs_against_a_model),
     TEST(what_stays_free_gives_its_pages_back), TEST(what_is_kept_is_used_first), TEST(blocks_in_use_keep_theirs))
