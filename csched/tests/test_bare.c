#include <pthread.h>
#include <sched.h>

#include "csched_lab.h"
#include "harness.h"
#include "layout.h"

enum { BYTES = 65536, MESSAGES = 100000 };

static _Alignas(4096) uint8_t memory[BYTES];

static void a_message_arrives_as_it_was_put(void)
{
    csched_bare_t in, out;
    char found[32] = {0};
    memset(memory, 0, sizeof memory);
    EQUAL(csched_bare_open(memory, BYTES, &in), 0);
    EQUAL(csched_bare_open(memory, BYTES, &out), 0);
    EQUAL(csched_bare_take(&out, found, sizeof found), CSCHED_EAGAIN);
    EQUAL(csched_bare_put(&in, "first", 6), 0);
    EQUAL(csched_bare_put(&in, "second", 7), 0);
    EQUAL(csched_bare_take(&out, found, sizeof found), 1);
    CHECK(strcmp(found, "first") == 0);
    EQUAL(csched_bare_take(&out, found, 3), 1); /* no more than there is room for */
    CHECK(memcmp(found, "secst", 5) == 0);
    EQUAL(csched_bare_take(&out, found, sizeof found), CSCHED_EAGAIN);
}

static void a_full_ring_says_so_and_has_room_again(void)
{
    csched_bare_t in, out;
    char message[48] = {0};
    int put = 0, taken = 0;
    memset(memory, 0, sizeof memory);
    EQUAL(csched_bare_open(memory, BYTES, &in), 0);
    EQUAL(csched_bare_open(memory, BYTES, &out), 0);
    while (csched_bare_put(&in, message, sizeof message) == 0)
        put++;
    CHECK(put > 100);
    EQUAL(csched_bare_put(&in, message, sizeof message), CSCHED_EFULL);
    EQUAL(csched_bare_take(&out, message, sizeof message), 1);
    EQUAL(csched_bare_put(&in, message, sizeof message), 0);
    while (csched_bare_take(&out, message, sizeof message) == 1)
        taken++;
    EQUAL(taken, put);
    EQUAL(csched_bare_put(&in, memory, BYTES), CSCHED_ETOOBIG);
}

static void memory_that_cannot_hold_a_ring_is_refused(void)
{
    csched_bare_t ring;
    EQUAL(csched_bare_open(NULL, BYTES, &ring), CSCHED_EINVAL);
    EQUAL(csched_bare_open(memory + 1, BYTES - 1, &ring), CSCHED_EINVAL);
    EQUAL(csched_bare_open(memory, sizeof(ring_ends_t), &ring), CSCHED_EINVAL);
}

static void *send(void *argument)
{
    csched_bare_t in;
    EQUAL(csched_bare_open(memory, BYTES, &in), 0);
    for (uint32_t i = 0; i < MESSAGES; i++)
        while (csched_bare_put(&in, &i, sizeof i) == CSCHED_EFULL)
            sched_yield();
    return argument;
}

static void messages_keep_their_order_between_threads(void)
{
    csched_bare_t out;
    pthread_t thread;
    memset(memory, 0, sizeof memory);
    EQUAL(csched_bare_open(memory, BYTES, &out), 0);
    EQUAL(pthread_create(&thread, NULL, send, NULL), 0);
    for (uint32_t i = 0, found; i < MESSAGES; i++) {
        while (csched_bare_take(&out, &found, sizeof found) == CSCHED_EAGAIN)
            sched_yield();
        EQUAL(found, i);
    }
    EQUAL(pthread_join(thread, NULL), 0);
}

MAIN(TEST(a_message_arrives_as_it_was_put), TEST(a_full_ring_says_so_and_has_room_again),
     TEST(memory_that_cannot_hold_a_ring_is_refused), TEST(messages_keep_their_order_between_threads))
