#include "ready.h"

#include "csched.h"
#include "graph.h"
#include "harness.h"

static graph_t open_graph(uint32_t slots)
{
    graph_t graph;
    OK(graph_open(&graph));
    OK(graph_reserve(&graph, slots));
    return graph;
}

static void make_of(graph_t *graph, uint32_t slot, uint32_t run, uint32_t priority)
{
    *graph_task(graph, slot) = (task_t){.ticket = graph_ticket(graph, slot),
                                        .dependents = NO_EDGE,
                                        .state = TASK_WAITING,
                                        .run = run,
                                        .priority = (uint8_t)priority};
}

static void make(graph_t *graph, uint32_t slot, task_state_t state, uint8_t priority)
{
    make_of(graph, slot, 0, priority);
    graph_task(graph, slot)->state = (uint8_t)state;
}

static uint32_t pop(graph_t *graph)
{
    uint32_t first = ready_first(graph);
    if (first == NO_TASK)
        return NO_TASK;
    ready_take(graph, first);
    return first;
}

static void first_in_first_out_within_a_priority(void)
{
    graph_t graph = open_graph(16);
    for (uint32_t i = 0; i < 16; i++) {
        make(&graph, i, TASK_WAITING, i % 2 ? 100 : 101);
        ready_push(&graph, i);
    }
    EQUAL(graph.ready.count, 16);
    for (uint32_t i = 0; i < 16; i++)
        EQUAL(pop(&graph), i < 8 ? 2 * i : 2 * (i - 8) + 1);
    EQUAL(pop(&graph), NO_TASK);
    EQUAL(graph.ready.count, 0);
    graph_close(&graph);
}

/* Whatever the order in which they come back. */
static void what_comes_back_is_first_in_order(void)
{
    static const uint32_t returned[] = {4, 1, 5, 0, 3, 2};
    graph_t graph = open_graph(8);
    for (uint32_t i = 0; i < 8; i++) {
        make(&graph, i, TASK_WAITING, 100);
        graph_task(&graph, i)->ready = 10 + i / 2; /* pairs become ready together */
        ready_push(&graph, i);
    }
    for (uint32_t i = 0; i < 6; i++)
        EQUAL(pop(&graph), i);
    for (uint32_t i = 0; i < 6; i++)
        ready_return(&graph, returned[i]);
    for (uint32_t i = 0; i < 8; i++)
        EQUAL(pop(&graph), i);
    EQUAL(pop(&graph), NO_TASK);
    graph_close(&graph);
}

/* Random pushes and removals at every priority, against the order that a scan finds. */
static void every_priority_against_a_model(void)
{
    graph_t graph = open_graph(512);
    static uint64_t pushed[512]; /* when, 0: not in */
    uint64_t seed = 5, clock = 0;
    for (int step = 0; step < 60000; step++) {
        uint32_t slot = next_random(&seed) % 512;
        if (next_random(&seed) % 3 == 0) {
            uint32_t best = NO_TASK;
            for (uint32_t i = 0; i < 512; i++)
                if (pushed[i] &&
                    (best == NO_TASK || graph_task(&graph, i)->priority > graph_task(&graph, best)->priority ||
                     (graph_task(&graph, i)->priority == graph_task(&graph, best)->priority &&
                      pushed[i] < pushed[best])))
                    best = i;
            EQUAL(ready_first(&graph), best);
            if (best != NO_TASK)
                ready_take(&graph, best), pushed[best] = 0;
        } else if (pushed[slot]) { /* a cancelled one leaves the middle */
            ready_remove(&graph, slot);
            pushed[slot] = 0;
        } else {
            make(&graph, slot, TASK_WAITING, (uint8_t)(next_random(&seed) % PRIORITIES));
            ready_push(&graph, slot);
            pushed[slot] = ++clock;
        }
    }
    graph_close(&graph);
}

/* The few tasks of a second run take turns with the many of the first. */
static void runs_take_turns(void)
{
    enum { MANY = 1000, FEW = 10 };
    graph_t graph = open_graph(MANY + FEW);
    for (uint32_t i = 0; i < MANY; i++) {
        make_of(&graph, i, 1, 100);
        ready_push(&graph, i);
    }
    for (uint32_t i = 0; i < 100; i++)
        EQUAL(pop(&graph), i);
    for (uint32_t i = 0; i < FEW; i++) {
        make_of(&graph, MANY + i, 2, 100);
        ready_push(&graph, MANY + i);
    }
    uint32_t next[2] = {100, MANY};
    for (uint32_t i = 0; i < 2 * FEW; i++) {
        uint32_t slot = pop(&graph), second = slot >= MANY;
        EQUAL(slot, next[second]++); /* in order within each */
    }
    CHECK(next[1] >= MANY + FEW - 1); /* one ahead at most */
    graph_close(&graph);
}

/* By time, not by number: a run whose tasks are a hundred times as long gets a hundredth as many. */
static void long_tasks_do_not_starve_short_ones(void)
{
    enum { EACH = 2000 };
    graph_t graph = open_graph(2 * EACH);
    for (uint32_t i = 0; i < 2 * EACH; i++) {
        make_of(&graph, i, i % 2, 100);
        ready_push(&graph, i);
        ready_learn(&graph, i % 2, 100, 0, i % 2 ? 100000 : 10000000);
    }
    uint32_t taken[2] = {0};
    while (taken[1] < 1000)
        taken[pop(&graph) % 2]++;
    CHECK(taken[0] >= 8 && taken[0] <= 14);
    graph_close(&graph);
}

/* A run that was idle has saved up no time, and one whose tasks come back has lost none. */
static void no_run_saves_up_time(void)
{
    graph_t graph = open_graph(300);
    for (uint32_t i = 0; i < 300; i++)
        make_of(&graph, i, i >= 200, 100);
    ready_push(&graph, 200);
    EQUAL(pop(&graph), 200);
    for (uint32_t i = 0; i < 200; i++)
        ready_push(&graph, i);
    for (uint32_t i = 0; i < 100; i++)
        EQUAL(pop(&graph), i);
    for (uint32_t i = 201; i < 300; i++)
        ready_push(&graph, i);
    uint32_t second = 0;
    for (uint32_t i = 0; i < 20; i++)
        second += pop(&graph) >= 200;
    CHECK(second >= 9 && second <= 11);
    uint32_t slot = pop(&graph);
    ready_return(&graph, slot);
    EQUAL(pop(&graph), slot);
    graph_close(&graph);
}

/* Thousands of runs come and go; their queues do not stay, and nothing is lost or served twice. */
static void thousands_of_runs(void)
{
    enum { RUNS = 5000 };
    graph_t graph = open_graph(2 * RUNS);
    static uint8_t seen[2 * RUNS];
    for (int round = 0; round < 3; round++) {
        memset(seen, 0, sizeof seen);
        for (uint32_t i = 0; i < 2 * RUNS; i++) {
            make_of(&graph, i, i % RUNS + (uint32_t)round * RUNS, 100);
            ready_push(&graph, i);
        }
        for (uint32_t i = 0; i < 2 * RUNS; i++) {
            uint32_t slot = pop(&graph);
            CHECK(slot < 2 * RUNS && !seen[slot]++);
        }
        EQUAL(pop(&graph), NO_TASK);
        EQUAL(graph.ready.active, 0);
    }
    CHECK(graph.ready.queue_count <= RUNS + 300);
    CHECK(graph.ready.named <= 300);
    graph_close(&graph);
}

MAIN(TEST(first_in_first_out_within_a_priority), TEST(what_comes_back_is_first_in_order),
     TEST(every_priority_against_a_model), TEST(runs_take_turns), TEST(long_tasks_do_not_starve_short_ones),
     TEST(no_run_saves_up_time), TEST(thousands_of_runs))
