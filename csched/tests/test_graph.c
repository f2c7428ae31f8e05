#include "graph.h"

#include "csched.h"
#include "harness.h"

enum { TASKS = 3000 };

static graph_t open_graph(uint32_t slots)
{
    graph_t graph;
    OK(graph_open(&graph));
    OK(graph_reserve(&graph, slots));
    return graph;
}

static task_t *make(graph_t *graph, uint32_t slot, task_state_t state, uint8_t priority)
{
    task_t *task = graph_task(graph, slot);
    *task = (task_t){
        .ticket = graph_ticket(graph, slot), .dependents = NO_EDGE, .state = (uint8_t)state, .priority = priority};
    return task;
}

static void records_never_move(void)
{
    graph_t graph = open_graph(10);
    task_t *first = graph_task(&graph, 9);
    OK(graph_reserve(&graph, 1000000));
    CHECK(graph.capacity >= 1000000);
    CHECK(graph_task(&graph, 9) == first);
    graph_task(&graph, 999999)->count = 1;
    OK(graph_reserve(&graph, 10)); /* less is nothing to do */
    EQUAL(graph_reserve(&graph, UINT32_MAX), CSCHED_EINVAL);
    graph_close(&graph);
}

static void stale_tickets_find_nothing(void)
{
    graph_t graph = open_graph(4);
    task_t *task = make(&graph, 2, TASK_QUEUED, 0);
    uint64_t old = task->ticket;
    CHECK(graph_find(&graph, old) == task);
    EQUAL(ticket_slot(old), 2);
    CHECK((int64_t)old > 0);
    make(&graph, 2, TASK_QUEUED, 0); /* the slot's next task */
    CHECK(!graph_find(&graph, old));
    CHECK(!graph_find(&graph, 0));
    CHECK(!graph_find(&graph, old | 0xfffffff0u)); /* a slot that is none */
    task->state = TASK_FREE;
    CHECK(!graph_find(&graph, task->ticket));
    graph.serial = INT32_MAX; /* and the serial number starts again, never 0 */
    CHECK((int64_t)graph_ticket(&graph, 1) > 0);
    CHECK(graph_ticket(&graph, 1) >> 32 != 0);
    graph_close(&graph);
}

static uint32_t pop(graph_t *graph)
{
    uint32_t first = ready_first(graph);
    if (first != NO_TASK)
        ready_take(graph, first);
    return first;
}

static void edges_are_used_again(void)
{
    graph_t graph = open_graph(2);
    make(&graph, 0, TASK_QUEUED, 0);
    uint32_t capacity = 0;
    for (int round = 0; round < 100; round++) {
        for (uint32_t i = 0; i < 5000; i++)
            OK(graph_depend(&graph, i + 1, 0, i));
        if (round == 0)
            capacity = graph.edge_capacity;
        EQUAL(graph.edge_capacity, capacity);
        uint32_t edge = graph_take_edges(&graph, 0), count = 0;
        for (; edge != NO_EDGE; count++) {
            EQUAL(graph.edges[edge].ticket, graph.edges[edge].position + 1);
            edge = graph_free_edge(&graph, edge);
        }
        EQUAL(count, 5000);
        EQUAL(graph_take_edges(&graph, 0), NO_EDGE);
    }
    graph_close(&graph);
}

/* A random graph, run from its edges alone: every task after all that it depends on, and each exactly once. */
static void random_graphs_in_order(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t random = seed * 77777;
        graph_t graph = open_graph(TASKS);
        uint32_t *missing = calloc(TASKS, sizeof *missing), *level = calloc(TASKS, sizeof *level), run = 0;
        for (uint32_t i = 0; i < TASKS; i++) {
            make(&graph, i, TASK_WAITING, (uint8_t)(next_random(&random) % PRIORITIES));
            missing[i] = i ? (uint32_t)(next_random(&random) % 4) : 0;
            for (uint32_t k = 0; k < missing[i]; k++) {
                uint32_t from = (uint32_t)(next_random(&random) % i);
                OK(graph_depend(&graph, graph_task(&graph, i)->ticket, from, k)); /* twice the same one at times */
                level[i] = level[i] > level[from] ? level[i] : level[from] + 1;
            }
            if (!missing[i])
                ready_push(&graph, i);
        }
        for (uint32_t slot; (slot = pop(&graph)) != NO_TASK; run++) {
            graph_task(&graph, slot)->state = TASK_DONE;
            for (uint32_t edge = graph_take_edges(&graph, slot); edge != NO_EDGE;
                 edge = graph_free_edge(&graph, edge)) {
                task_t *to = graph_find(&graph, graph.edges[edge].ticket);
                CHECK(to && to->state == TASK_WAITING);
                uint32_t target = ticket_slot(to->ticket);
                CHECK(level[target] > level[slot]);
                if (--missing[target] == 0)
                    ready_push(&graph, target);
            }
        }
        EQUAL(run, TASKS);
        free(missing);
        free(level);
        graph_close(&graph);
    }
}

MAIN(TEST(records_never_move), TEST(stale_tickets_find_nothing), TEST(edges_are_used_again),
     TEST(random_graphs_in_order))
