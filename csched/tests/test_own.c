#include "own.h"

#include <sys/mman.h>

#include "csched.h"
#include "harness.h"
#include "segment.h"

enum { PAGES = 2000, HELD = 300 };

typedef struct {
    int fd;
    uint8_t *owner, *reader; /* the same memory: as its owner maps it, and a reader */
    own_t own;
} both_t;

static both_t open_both(void)
{
    both_t both = {0};
    void *owner, *reader;
    OK(memory_create("test", PAGES * PAGE, &both.fd));
    OK(memory_map(both.fd, PAGES * PAGE, MAP_WRITES, &owner));
    OK(own_map(&both.own, both.fd, PAGES * PAGE, &reader));
    both.owner = owner;
    both.reader = reader;
    memset(both.owner, 1, PAGES * PAGE);
    return both;
}

static void close_both(both_t *both)
{
    own_close(&both->own);
    memory_unmap(both->owner, PAGES * PAGE);
    memory_unmap(both->reader, PAGES * PAGE);
    close(both->fd);
}

static uint64_t address_of(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

static place_t place_at(const both_t *both, uint64_t page, uint64_t bytes)
{
    return (place_t){.address = address_of(both->reader + page * PAGE),
                     .size = bytes,
                     .fd = both->fd,
                     .offset = page * PAGE,
                     .foreign = true};
}

static uint8_t *take(both_t *both, const place_t *place)
{
    uint64_t mapped;
    OK(own_take(&both->own, place, &mapped));
    return (uint8_t *)(uintptr_t)mapped;
}

static void drop(both_t *both, const place_t *place, const uint8_t *mapped)
{
    own_drop(&both->own, place->address, place->size, address_of(mapped));
}

/* Whatever pages of it were written, of few or of more than one look at the page table sees. */
static void what_was_written_is_gone_with_its_holder(void)
{
    static const uint64_t steps[] = {1, 2, 7, 511, 513, 1500};
    both_t both = open_both();
    place_t place = place_at(&both, 3, 1600 * PAGE - 100);
    for (int with_pagemap = 1; with_pagemap >= 0; with_pagemap--)
        for (uint64_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            uint8_t *held = take(&both, &place);
            CHECK(held == both.reader + 3 * PAGE);
            for (uint64_t page = 0; page < 1600; page += steps[i])
                held[page * PAGE + i] = 77;
            EQUAL(both.owner[3 * PAGE + i], 1); /* no other process sees it */
            if (!with_pagemap) {
                own_leave(&both.own); /* as where /proc is not to be had */
                both.own.left = false;
            }
            drop(&both, &place, held);
            CHECK(memcmp(both.reader, both.owner, PAGES * PAGE) == 0);
            memset(both.owner, 1 + (int)i, PAGES * PAGE); /* the next block there */
            CHECK(memcmp(both.reader, both.owner, PAGES * PAGE) == 0);
            memset(both.owner, 1, PAGES * PAGE);
        }
    close_both(&both);
}

static void a_second_holder_has_its_own(void)
{
    both_t both = open_both();
    place_t place = place_at(&both, 5, 2 * PAGE + 1);
    uint8_t *first = take(&both, &place), *second = take(&both, &place), *third = take(&both, &place);
    CHECK(first == both.reader + 5 * PAGE && second != first && third != second);
    first[0] = 10, second[0] = 20, third[0] = 30;
    CHECK(first[0] == 10 && second[0] == 20 && third[0] == 30 && both.owner[5 * PAGE] == 1);
    EQUAL(second[2 * PAGE], 1);
    drop(&both, &place, second);
    CHECK(first[0] == 10 && third[0] == 30);
    drop(&both, &place, first);
    EQUAL(both.reader[5 * PAGE], 1);
    CHECK(take(&both, &place) == first); /* in place again */
    drop(&both, &place, first);
    drop(&both, &place, third);
    EQUAL(both.own.apart, 0);
    place.fd = -1;
    uint64_t mapped;
    first = take(&both, &place);
    EQUAL(own_take(&both.own, &place, &mapped), CSCHED_EFULL); /* without a descriptor the caller copies */
    drop(&both, &place, first);
    close_both(&both);
}

static void what_the_process_writes_itself_is_held_apart(void)
{
    both_t both = open_both();
    place_t place = place_at(&both, 1, PAGE);
    place.foreign = false;
    uint8_t *held = take(&both, &place);
    CHECK(held != both.reader + PAGE);
    drop(&both, &place, held);
    place.address += 64;
    uint64_t mapped;
    EQUAL(own_take(&both.own, &place, &mapped), CSCHED_EINVAL); /* others have a part of its page */
    close_both(&both);
}

/* After holds and releases in every order the table is right. */
static void many_are_held(void)
{
    both_t both = open_both();
    bool held[HELD] = {0};
    srand(1);
    for (int i = 0; i < 20000; i++) {
        uint64_t n = (uint64_t)rand() % HELD;
        place_t place = place_at(&both, n * 3, PAGE);
        uint8_t *mapped = take(&both, &place);
        CHECK((mapped == both.reader + n * 3 * PAGE) == !held[n]);
        mapped[1] = 9;
        if (held[n]) { /* the one apart goes, and sometimes the one in place */
            drop(&both, &place, mapped);
            mapped = both.reader + n * 3 * PAGE;
            held[n] = rand() % 2;
            if (!held[n])
                drop(&both, &place, mapped);
        } else {
            held[n] = true;
        }
    }
    uint64_t count = 0;
    for (uint64_t n = 0; n < HELD; n++) {
        count += held[n];
        EQUAL(both.reader[n * 3 * PAGE + 1], held[n] ? 9 : 1);
    }
    EQUAL(both.own.count, count);
    close_both(&both);
}

static void memory_that_cannot_be_promised_is_mapped_to_read(void)
{
    both_t both = open_both();
    u32_store_relaxed(&both.own.reads, 1); /* as own_map does then */
    place_t place = place_at(&both, 1, PAGE);
    uint8_t *held = take(&both, &place);
    CHECK(held != both.reader + PAGE);
    held[0] = 5;
    drop(&both, &place, held);
    close_both(&both);
}

static void a_forked_child_leaves_it_all(void)
{
    both_t both = open_both();
    place_t place = place_at(&both, 1, PAGE);
    uint8_t *held = take(&both, &place);
    held[0] = 5;
    own_leave(&both.own);
    drop(&both, &place, held);
    EQUAL(held[0], 5); /* what user code had when it forked stays */
    uint64_t mapped;
    EQUAL(own_take(&both.own, &place, &mapped), CSCHED_EINVAL);
    close_both(&both);
}

MAIN(TEST(what_was_written_is_gone_with_its_holder), TEST(a_second_holder_has_its_own),
     TEST(what_the_process_writes_itself_is_held_apart), TEST(many_are_held),
     TEST(memory_that_cannot_be_promised_is_mapped_to_read), TEST(a_forked_child_leaves_it_all))
