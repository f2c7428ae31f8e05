#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "csched.h"
#include "pages.h"

int graph_open(graph_t *graph)
{
    memset(graph, 0, sizeof *graph);
    graph->edge_free = NO_EDGE;
    graph->serial = 1;
    resources_open(&graph->resources);
    return ready_open(&graph->ready);
}

void graph_close(graph_t *graph)
{
    for (uint32_t i = 0; i < graph->capacity / TABLE_PAGE; i++)
        pages_close(graph->pages[i], TABLE_PAGE * sizeof(task_t));
    free(graph->pages);
    free(graph->edges);
    ready_close(&graph->ready);
    resources_close(&graph->resources);
    memset(graph, 0, sizeof *graph);
}

int graph_reserve(graph_t *graph, uint32_t slots)
{
    if (slots >= UINT32_MAX - TABLE_PAGE)
        return CSCHED_EINVAL;
    while (graph->capacity < slots) {
        uint32_t page = graph->capacity / TABLE_PAGE;
        if ((page & (page - 1)) == 0) { /* the directory doubles */
            task_t **grown = realloc(graph->pages, (page ? 2 * (size_t)page : 1) * sizeof *grown);
            if (!grown)
                return CSCHED_ENOMEM;
            graph->pages = grown;
        }
        void *at = pages_open(TABLE_PAGE * sizeof(task_t)); /* records are aligned to cache lines */
        if (!at)
            return CSCHED_ENOMEM;
        graph->pages[page] = at;
        graph->capacity += TABLE_PAGE;
    }
    return CSCHED_OK;
}

task_t *graph_find(const graph_t *graph, uint64_t ticket)
{
    uint32_t slot = ticket_slot(ticket);
    if (slot >= graph->capacity)
        return NULL;
    task_t *task = graph_task(graph, slot);
    return task->ticket == ticket && task->state != TASK_FREE ? task : NULL;
}

uint64_t graph_ticket(graph_t *graph, uint32_t slot)
{
    graph->serial = graph->serial % INT32_MAX + 1; /* 31 bits: tickets are positive as int64_t */
    return (uint64_t)graph->serial << 32 | slot;
}

static int edges_grow(graph_t *graph)
{
    uint32_t capacity = graph->edge_capacity ? 2 * graph->edge_capacity : 1024;
    edge_t *grown = realloc(graph->edges, capacity * sizeof *grown);
    if (!grown)
        return CSCHED_ENOMEM;
    graph->edges = grown;
    for (uint32_t i = graph->edge_capacity; i < capacity; i++)
        grown[i].next = i + 1 < capacity ? i + 1 : NO_EDGE;
    graph->edge_free = graph->edge_capacity;
    graph->edge_capacity = capacity;
    return CSCHED_OK;
}

int graph_depend(graph_t *graph, uint64_t dependent, uint32_t producer, uint32_t position)
{
    if (graph->edge_free == NO_EDGE && edges_grow(graph) < 0)
        return CSCHED_ENOMEM;
    uint32_t at = graph->edge_free;
    edge_t *edge = &graph->edges[at];
    task_t *from = graph_task(graph, producer);
    graph->edge_free = edge->next;
    *edge = (edge_t){.ticket = dependent, .position = position, .next = from->dependents};
    from->dependents = at;
    return CSCHED_OK;
}

uint32_t graph_take_edges(graph_t *graph, uint32_t producer)
{
    task_t *task = graph_task(graph, producer);
    uint32_t first = task->dependents;
    task->dependents = NO_EDGE;
    return first;
}

uint32_t graph_free_edge(graph_t *graph, uint32_t edge)
{
    uint32_t next = graph->edges[edge].next;
    graph->edges[edge].next = graph->edge_free;
    graph->edge_free = edge;
    return next;
}
