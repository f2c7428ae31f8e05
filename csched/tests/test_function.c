#include "internal.h"
#include "worker.h"
#include "world.h"

enum { LARGE = 100000 };

static uint32_t add_large(world_t *w)
{
    uint64_t block, address;
    uint32_t function;
    OK(csched_block_alloc(w->s, LARGE, &block, &address));
    memset((void *)(uintptr_t)address, 7, LARGE);
    OK(csched_function_add(w->s, NULL, LARGE, block, &function));
    return function;
}

static void call(world_t *w, uint32_t slot, uint32_t function)
{
    OK(csched_reserve(w->s, slot + 1));
    CHECK(csched_submit(w->s, slot, function, 0, NULL, 0, 0) > 0);
}

/* The block stays as long as a task may need it and a worker reads it in place. */
static void a_dropped_function_goes_with_its_last_reader(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint32_t function = add_large(w);
    call(w, 0, function);
    EQUAL(next_item(worker, CSCHED_FUNCTION).size, LARGE);
    OK(csched_function_drop(w->s, function));
    EQUAL(csched_submit(w->s, 1, function, 0, NULL, 0, 0), CSCHED_ESTALE);
    EQUAL(csched_function_drop(w->s, function), CSCHED_EINVAL);
    next_item(worker, CSCHED_TASK);
    publish_none(worker);
    finish(w, 1);
    CHECK(stats_of(w).arena_used > LARGE); /* the worker has it still */
    csched_item_t item = next_item(worker, CSCHED_FUNCTION);
    EQUAL(item.function, function);
    EQUAL(item.size, 0);
    OK(csched_worker_unpin(worker, function));
    UNTIL((csched_poll(w->s, 0), stats_of(w).arena_used == 0));
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void one_that_was_not_called_goes_at_once(void)
{
    world_t *w = world_open(0);
    uint32_t function = add_large(w), other = add_large(w);
    OK(csched_function_drop(w->s, function));
    CHECK(stats_of(w).arena_used < 2 * LARGE);
    OK(csched_function_drop(w->s, other));
    EQUAL(stats_of(w).arena_used, 0);
    EQUAL(csched_function_drop(w->s, 0), CSCHED_EINVAL);
    EQUAL(csched_function_drop(w->s, 99), CSCHED_EINVAL);
    world_close(w);
}

static void a_lost_worker_holds_no_function(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint32_t function = add_large(w);
    call(w, 0, function);
    next_item(worker, CSCHED_FUNCTION);
    next_item(worker, CSCHED_TASK);
    publish_none(worker);
    finish(w, 1);
    OK(csched_function_drop(w->s, function));
    OK(csched_worker_lost(w->s, 0));
    EQUAL(stats_of(w).arena_used, 0);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* A task that is cancelled, or that fails with its input, counts as one of the function's. */
static void tasks_that_never_run_count(void)
{
    world_t *w = world_open(0);
    uint32_t function = add_large(w);
    csched_options_t options = plain();
    OK(csched_reserve(w->s, 3));
    uint64_t first = (uint64_t)csched_submit(w->s, 0, function, 0, NULL, 0, 0);
    options.inputs = &first;
    options.input_count = 1;
    CHECK(csched_submit_with(w->s, 1, function, 0, NULL, 0, 0, &options) > 0);
    options.priority = 1000;
    EQUAL(csched_submit_with(w->s, 2, function, 0, NULL, 0, 0, &options), CSCHED_EINVAL);
    OK(csched_function_drop(w->s, function));
    CHECK(stats_of(w).arena_used > LARGE);
    EQUAL(csched_cancel(w->s, first), 1);
    EQUAL(stats_of(w).arena_used, 0);
    finish(w, 2);
    world_close(w);
}

/* More to forget than a ring holds, while the worker is away. */
static void many_are_forgotten(void)
{
    enum { FUNCTIONS = 3000 };
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = 64 << 20};
    world_t *w = world_open_with(&config);
    csched_worker_t *worker = by_hand(w);
    uint32_t function, forgotten = 0;
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        OK(csched_function_add(w->s, "f", 1, IN_LINE, &function));
        call(w, i, function);
        next_item(worker, CSCHED_FUNCTION);
        next_item(worker, CSCHED_TASK);
        publish_none(worker);
        finish(w, i + 1);
    }
    for (uint32_t i = 1; i <= FUNCTIONS; i++)
        OK(csched_function_drop(w->s, i));
    CHECK(w->s->workers[0]->forget_count > 0);
    csched_item_t item;
    UNTIL((csched_poll(w->s, 0), forgotten += csched_worker_next(worker, 0, 0, &item) == CSCHED_OK && !item.size,
           forgotten == FUNCTIONS));
    EQUAL(w->s->workers[0]->forget_count, 0);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static uint32_t add_empty(world_t *w, uint32_t first, uint32_t second)
{
    const uint32_t needs[] = {first, second};
    uint32_t function;
    OK(csched_function_add(w->s, NULL, 0, IN_LINE, &function));
    OK(csched_function_needs(w->s, function, needs, second ? 2 : 1));
    return function;
}

static void call_with(world_t *w, uint32_t slot, uint32_t function, uint32_t needs)
{
    csched_options_t options = plain();
    options.beside = needs;
    OK(csched_reserve(w->s, slot + 1));
    CHECK(csched_submit_with(w->s, slot, function, 0, "x", 1, 0, &options) > 0);
}

/* Functions that a task and its function need are sent before them, once. */
static void needs_come_first(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint32_t shared = add_large(w), other = add_large(w), function;
    OK(csched_function_add(w->s, "f", 1, IN_LINE, &function));
    OK(csched_function_needs(w->s, function, &shared, 1));
    call_with(w, 0, function, add_empty(w, shared, other));
    call_with(w, 1, function, other);
    EQUAL(next_item(worker, CSCHED_FUNCTION).function, shared);
    EQUAL(next_item(worker, CSCHED_FUNCTION).function, function);
    EQUAL(next_item(worker, CSCHED_FUNCTION).function, other);
    next_item(worker, CSCHED_TASK);
    publish_none(worker);
    EQUAL(next_item(worker, CSCHED_TASK).inputs, 0);
    publish_none(worker);
    finish(w, 2);
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* It stays while a task needs it; then functions that refer to it are dropped, too. */
static void what_is_shared_takes_its_functions_along(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    uint32_t shared = add_large(w), nested = add_large(w), function, group;
    OK(csched_function_needs(w->s, nested, &shared, 1));
    OK(csched_function_add(w->s, "f", 1, IN_LINE, &function));
    OK(csched_function_needs(w->s, function, &nested, 1));
    group = add_empty(w, shared, nested);
    EQUAL(csched_function_users(w->s, shared), 2);
    call_with(w, 0, function, group);
    for (uint32_t expected = shared; expected <= function; expected++)
        EQUAL(next_item(worker, CSCHED_FUNCTION).function, expected);
    OK(csched_function_drop(w->s, shared));
    EQUAL(csched_submit(w->s, 1, function, 0, NULL, 0, 0), CSCHED_ESTALE);
    csched_options_t options = plain();
    options.beside = group;
    EQUAL(csched_submit_with(w->s, 1, 0, 0, NULL, 0, 0, &options), CSCHED_ESTALE);
    CHECK(csched_function_users(w->s, shared) > 0);
    next_item(worker, CSCHED_TASK);
    publish_none(worker);
    finish(w, 1);
    EQUAL(csched_function_users(w->s, shared), CSCHED_ESTALE);
    EQUAL(csched_function_users(w->s, group), CSCHED_ESTALE);
    uint32_t forgotten = 0;
    for (uint32_t i = 0; i < 3; i++) {
        csched_item_t item = next_item(worker, CSCHED_FUNCTION);
        EQUAL(item.size, 0);
        forgotten |= 1u << item.function;
        OK(csched_worker_unpin(worker, item.function));
    }
    EQUAL(forgotten, 1u << shared | 1u << nested | 1u << function);
    UNTIL((csched_poll(w->s, 0), stats_of(w).arena_used == 0));
    OK(csched_worker_detach(worker));
    world_close(w);
}

/* Inputs share the record of needs; a task that is refused or never runs needs nothing any more. */
static void a_task_that_waits_needs_it_still(void)
{
    world_t *w = world_open(0);
    uint32_t shared = add_large(w), function;
    OK(csched_function_add(w->s, "f", 1, IN_LINE, &function));
    OK(csched_reserve(w->s, 3));
    uint64_t first = (uint64_t)csched_submit(w->s, 0, function, 0, NULL, 0, 0);
    csched_options_t options = plain();
    options.inputs = &first;
    options.input_count = 1;
    options.beside = shared;
    CHECK(csched_submit_with(w->s, 1, function, 0, NULL, 0, 0, &options) > 0);
    options.beside = 99;
    EQUAL(csched_submit_with(w->s, 2, function, 0, NULL, 0, 0, &options), CSCHED_EINVAL);
    OK(csched_function_drop(w->s, shared));
    EQUAL(csched_function_users(w->s, shared), 1);
    csched_worker_t *worker = by_hand(w);
    next_item(worker, CSCHED_FUNCTION);
    next_item(worker, CSCHED_TASK);
    OK(csched_worker_publish(worker, CSCHED_VALUE, 0, "v", 1, IN_LINE));
    UNTIL((csched_poll(w->s, 0), w->s->loads[0].held == 1));
    EQUAL(next_item(worker, CSCHED_FUNCTION).function, shared);
    EQUAL(next_item(worker, CSCHED_TASK).inputs, 1);
    uint32_t status;
    uint64_t address, size;
    OK(csched_worker_input(worker, 0, &status, &address, &size));
    EQUAL(size, 1);
    publish_none(worker);
    finish(w, 2);
    EQUAL(csched_function_users(w->s, shared), CSCHED_ESTALE);
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void needs_that_make_no_sense(void)
{
    world_t *w = world_open(0);
    uint32_t one = add_large(w), two = add_large(w), zero = 0, far = 99;
    EQUAL(csched_function_needs(w->s, one, &two, 1), CSCHED_EINVAL);
    EQUAL(csched_function_needs(w->s, two, &two, 1), CSCHED_EINVAL);
    EQUAL(csched_function_needs(w->s, two, &zero, 1), CSCHED_EINVAL);
    EQUAL(csched_function_needs(w->s, two, &far, 1), CSCHED_EINVAL);
    EQUAL(csched_function_needs(w->s, two, &one, 0), CSCHED_EINVAL);
    EQUAL(csched_function_needs(w->s, 99, &one, 1), CSCHED_EINVAL);
    OK(csched_function_drop(w->s, one));
    EQUAL(csched_function_needs(w->s, two, &one, 1), CSCHED_ESTALE);
    EQUAL(csched_function_users(w->s, two), 0);
    EQUAL(csched_function_users(w->s, 99), CSCHED_ESTALE);
    world_close(w);
}

MAIN(TEST(a_dropped_function_goes_with_its_last_reader), TEST(one_that_was_not_called_goes_at_once),
     TEST(a_lost_worker_holds_no_function), TEST(tasks_that_never_run_count), TEST(many_are_forgotten),
     TEST(needs_come_first), TEST(what_is_shared_takes_its_functions_along), TEST(a_task_that_waits_needs_it_still),
     TEST(needs_that_make_no_sense))
