#define _GNU_SOURCE
#include "arena.h"

#include <fcntl.h>
#include <string.h>

#include "csched.h"

enum { BLOCK_FREE = 0x46524545, BLOCK_USED = 0x55534544 };
enum { HEADER = 64 };

typedef struct { /* the 64 bytes before each payload */
    uint64_t size; /* payload and header */
    uint64_t previous; /* offset of the block before it, NO_BLOCK for the first */
    uint64_t next_free, last_free;
    uint32_t state;
    uint32_t freed; /* the arena's age when it was freed */
    uint64_t hot;   /* free block: bytes from its start that may have pages; the rest has none */
    uint32_t pad[4];
} block_t;

_Static_assert(sizeof(block_t) == HEADER, "block_t is one cache line");

static block_t *block_at(const arena_t *arena, uint64_t offset)
{
    return (block_t *)(arena->base + offset);
}

/* The class of a block of `size` bytes: the largest class with a lower bound of at most `size`. */
static void class_of(uint64_t size, uint32_t *first, uint32_t *second)
{
    uint32_t top = 63u - (uint32_t)__builtin_clzll(size);
    *first = top - ARENA_FIRST_SHIFT;
    *second = (uint32_t)(size >> (top - 3)) & (ARENA_SUBCLASSES - 1);
}

static uint64_t counted(const block_t *block)
{
    return block->size >= TRIM_MIN ? block->hot : 0;
}

static void list_push(arena_t *arena, uint64_t at)
{
    block_t *block = block_at(arena, at);
    uint32_t first, second;
    class_of(block->size, &first, &second);
    block->state = BLOCK_FREE;
    arena->hot += counted(block);
    block->last_free = NO_BLOCK;
    block->next_free = arena->lists[first][second];
    if (block->next_free != NO_BLOCK)
        block_at(arena, block->next_free)->last_free = at;
    arena->lists[first][second] = at;
    arena->first_map |= UINT64_C(1) << first;
    arena->second_map[first] |= (uint8_t)(1u << second);
}

static void list_remove(arena_t *arena, uint64_t at)
{
    block_t *block = block_at(arena, at);
    uint32_t first, second;
    class_of(block->size, &first, &second);
    arena->hot -= counted(block);
    if (block->next_free != NO_BLOCK)
        block_at(arena, block->next_free)->last_free = block->last_free;
    if (block->last_free != NO_BLOCK)
        block_at(arena, block->last_free)->next_free = block->next_free;
    else if ((arena->lists[first][second] = block->next_free) == NO_BLOCK) {
        arena->second_map[first] &= (uint8_t)~(1u << second);
        if (!arena->second_map[first])
            arena->first_map &= ~(UINT64_C(1) << first);
    }
}

/* A free block of at least `size` bytes: the newest of its own class if it fits, else of the next class up. */
static uint64_t list_find(const arena_t *arena, uint64_t size)
{
    uint32_t first, second;
    class_of(size, &first, &second);
    uint64_t at = arena->lists[first][second];
    if (at != NO_BLOCK && block_at(arena, at)->size >= size)
        return at;
    uint32_t above = arena->second_map[first] & (uint32_t)(0xffu << (second + 1));
    if (!above) {
        uint64_t higher = first + 1 < 64 ? arena->first_map & (~UINT64_C(0) << (first + 1)) : 0;
        if (!higher)
            return NO_BLOCK;
        first = (uint32_t)__builtin_ctzll(higher);
        above = arena->second_map[first];
    }
    return arena->lists[first][__builtin_ctz(above)];
}

void arena_open(arena_t *arena, void *base, int fd, uint64_t limit, int (*grow)(int fd, uint64_t from, uint64_t to))
{
    *arena = (arena_t){.base = base, .fd = fd, .grow = grow, .limit = limit, .last = NO_BLOCK};
    memset(arena->lists, 0xff, sizeof arena->lists);
}

static uint64_t megabytes(uint64_t bytes, uint64_t limit)
{
    bytes = (bytes + 0xfffff) & ~UINT64_C(0xfffff);
    return bytes < limit ? bytes : limit;
}

/* Extends the file by an eighth, so that this stays rare, or by what is needed if there is not so much. */
static int grow(arena_t *arena, uint64_t needed)
{
    uint64_t generous = megabytes(needed + arena->size / 8, arena->limit);
    int rc = arena->grow(arena->fd, arena->size, generous);
    if (rc < 0 && generous > megabytes(needed, arena->limit)) {
        generous = megabytes(needed, arena->limit);
        rc = arena->grow(arena->fd, arena->size, generous);
    }
    if (rc == CSCHED_OK)
        arena->size = generous;
    return rc;
}

/* Makes a block at the end; a free block there is enlarged. */
static int extend(arena_t *arena, uint64_t size, uint64_t *at)
{
    uint64_t start = arena->end;
    bool larger = arena->last != NO_BLOCK && block_at(arena, arena->last)->state == BLOCK_FREE;
    if (larger)
        start = arena->last;
    if (size > arena->limit)
        return CSCHED_ETOOBIG;
    if (start + size > arena->limit)
        return CSCHED_EFULL;
    if (start + size > arena->size) {
        int rc = grow(arena, start + size);
        if (rc < 0)
            return rc;
    }
    *at = start;
    block_t *block = block_at(arena, start);
    if (larger) {
        list_remove(arena, start);
    } else {
        block->previous = arena->last;
        block->size = 0;
        arena->last = start;
    }
    if (block->size < size) {
        block->size = size;
        arena->end = start + size;
    }
    return CSCHED_OK;
}

static void split(arena_t *arena, uint64_t at, uint64_t size)
{
    block_t *block = block_at(arena, at);
    uint64_t rest = block->size - size;
    if (rest < 4 * HEADER || rest < size / 16)
        return;
    block->size = size;
    block_t *tail = block_at(arena, at + size);
    tail->size = rest;
    tail->previous = at;
    tail->freed = block->freed;
    tail->hot = block->hot > size ? block->hot - size : 0;
    if (arena->last == at)
        arena->last = at + size;
    else
        block_at(arena, at + size + rest)->previous = at + size;
    list_push(arena, at + size);
}

int arena_alloc(arena_t *arena, uint64_t size, uint64_t *offset)
{
    if (size > arena->limit - HEADER)
        return CSCHED_ETOOBIG;
    uint64_t whole = ((size ? size : 1) + HEADER + LINE - 1) & ~(uint64_t)(LINE - 1);
    uint64_t at = list_find(arena, whole);
    if (at != NO_BLOCK) {
        list_remove(arena, at);
        split(arena, at, whole);
    } else {
        int rc = extend(arena, whole, &at);
        if (rc < 0)
            return rc;
    }
    block_at(arena, at)->state = BLOCK_USED;
    arena->used += block_at(arena, at)->size;
    *offset = at + HEADER;
    return CSCHED_OK;
}

static uint64_t merge(arena_t *arena, uint64_t low, uint64_t high)
{
    block_t *block = block_at(arena, low);
    if (block_at(arena, high)->hot)
        block->hot = block->size + block_at(arena, high)->hot;
    block->size += block_at(arena, high)->size;
    if (arena->last == high)
        arena->last = low;
    else
        block_at(arena, low + block->size)->previous = low;
    return low;
}

int arena_free(arena_t *arena, uint64_t offset)
{
    if (offset < HEADER || offset >= arena->end || offset % LINE)
        return CSCHED_EINVAL;
    uint64_t at = offset - HEADER;
    block_t *block = block_at(arena, at);
    if (block->state != BLOCK_USED)
        return CSCHED_EINVAL;
    arena->used -= block->size;
    block->state = BLOCK_FREE;
    block->hot = block->size;
    uint64_t next = at + block->size;
    if (next > arena->reused)
        arena->reused = next;
    if (next < arena->end && block_at(arena, next)->state == BLOCK_FREE) {
        list_remove(arena, next);
        merge(arena, at, next);
    }
    if (block->previous != NO_BLOCK && block_at(arena, block->previous)->state == BLOCK_FREE) {
        uint64_t before = block->previous;
        list_remove(arena, before);
        at = merge(arena, before, at);
    }
    block_at(arena, at)->freed = arena->age;
    list_push(arena, at);
    return CSCHED_OK;
}

/* Gives back the pages of the last `most` bytes of a free block that have some, and returns how many bytes. Allocation
 * takes a block's first bytes first. */
static uint64_t cool(arena_t *arena, uint64_t at, uint64_t most)
{
    block_t *block = block_at(arena, at);
    uint64_t to = (at + block->hot) / PAGE * PAGE, least = (at + HEADER + PAGE - 1) / PAGE * PAGE;
    uint64_t from = to > most ? (to - most) / PAGE * PAGE : 0;
    if (from < least)
        from = least;
    if (from >= to || fallocate(arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(to - from)))
        return 0;
    uint64_t left = from == least ? 0 : from - at;
    arena->hot -= block->hot - left;
    block->hot = left;
    if (arena->last == at && arena->reused > from)
        arena->reused = from; /* pages beyond are new again */
    return to - from;
}

uint64_t arena_trim(arena_t *arena, uint64_t keep, uint64_t most)
{
    for (uint32_t first = ARENA_CLASSES; first-- > TRIM_MIN_SHIFT - ARENA_FIRST_SHIFT;)
        for (uint32_t second = ARENA_SUBCLASSES; second-- > 0;) {
            if (arena->hot <= keep)
                return 0;
            if (!(arena->first_map >> first & 1))
                break;
            for (uint64_t at = arena->lists[first][second]; at != NO_BLOCK; at = block_at(arena, at)->next_free) {
                const block_t *block = block_at(arena, at);
                uint64_t surplus = arena->hot > keep ? arena->hot - keep : 0;
                if (!surplus || !block->hot || arena->age - block->freed < TRIM_AGE)
                    continue;
                uint64_t given = cool(arena, at, surplus < most ? surplus : most);
                if (given)
                    return given;
            }
        }
    return 0;
}
