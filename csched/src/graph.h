/* Task records, dependency edges and the ready queues (ready.h): private memory of the kernel, under its lock. */
#ifndef CSCHED_GRAPH_H
#define CSCHED_GRAPH_H

#include "layout.h"
#include "ready.h"
#include "resources.h"

#define NO_TASK UINT32_MAX
#define NO_EDGE UINT32_MAX
#define NO_WORKER UINT16_MAX
#define NO_ROW UINT64_MAX
#define TABLE_PAGE 4096u

enum { PRIORITY_MIN = -100, PRIORITY_MAX = 100, PRIORITIES = PRIORITY_MAX - PRIORITY_MIN + 1 };

typedef enum {
    TASK_FREE,    /* not submitted, or collected */
    TASK_WAITING, /* for inputs */
    TASK_QUEUED,  /* ready, in a ready queue */
    TASK_SENT,    /* in a worker's ring, or running there */
    TASK_DELAYED, /* until not_before */
    TASK_DONE     /* has its outcome, not collected yet */
} task_state_t;

/* A payload with a reference count: inputs, results and functions. None has no blob. */
typedef struct blob {
    uint64_t offset, size;
    uint32_t region; /* REGION_INLINE: the bytes follow this struct */
    uint32_t refs;
} blob_t;

typedef struct { /* a task's inputs; present if one of them is not None, or if the task needs a function */
    blob_t *bundle; /* inputs that did not fit into the ring entry, while the task is sent */
    uint32_t count;
    uint32_t needs; /* a second function that its worker must have, 0: none */
    uint32_t warm;  /* 1 + the worker that has what its arguments refer to, 0: none known */
    uint32_t stays_kb; /* KiB that other workers have to fetch from that one */
    struct {
        blob_t *blob; /* NULL: None, or not available yet */
        uint16_t status;
        uint16_t worker;   /* that made it */
        uint32_t stays_kb; /* KiB that other workers have to fetch from that one */
    } of[];
} inputs_t;

typedef struct {
    uint64_t ticket; /* slot in the low 32 bits, a serial number above; 0: free */
    uint64_t submitted;
    union {
        uint64_t ready;
        uint32_t missing; /* waiting: number of missing inputs */
    };
    union {
        uint64_t dispatched;
        uint32_t queue; /* queued: its ready queue */
    };
    float pack_ns;
    uint32_t demand; /* resources that it asks for (resources.h); 0: none */
    union {
        uint64_t timeout_ns;
        uint64_t stays_kb; /* done, with a value: KiB that other workers have to fetch from its maker */
    };
    union {
        uint64_t not_before; /* until it is done: when it may start */
        uint64_t ran_ns;     /* done: how long it ran */
    };
    uint64_t row;        /* its first row in the journey ring */
    blob_t *payload;
    blob_t *result;
    inputs_t *inputs; /* NULL: all available ones are None */
    uint32_t run, function;
    uint32_t count;
    uint32_t dependents; /* first edge */
    uint32_t next, previous; /* in its ready queue, or the list of completions (next only) */
    union {
        uint32_t input_count; /* until it is done */
        uint32_t detail;      /* done */
    };
    uint16_t worker;
    uint8_t state, status;
    uint8_t priority; /* 0 .. PRIORITIES-1, larger first */
    uint8_t retries, attempt;
    uint8_t flags;
    uint32_t first; /* position of its first element in the map */
} task_t;

_Static_assert(sizeof(task_t) <= 128, "a task record is at most 128 bytes");

typedef struct {
    uint64_t ticket;   /* of the dependent, which may be over and its slot reused */
    uint32_t position; /* among its inputs */
    uint32_t next;
} edge_t;

typedef struct {
    uint32_t head, tail;
} list_t;

typedef struct graph {
    task_t **pages; /* TABLE_PAGE records each: they never move */
    uint32_t capacity;
    uint32_t serial;

    edge_t *edges;
    uint32_t edge_capacity, edge_free;

    ready_t ready;
    resources_t resources;
    uint64_t waiting_count;
} graph_t;

int graph_open(graph_t *graph);
void graph_close(graph_t *graph);
int graph_reserve(graph_t *graph, uint32_t slots);

static inline task_t *graph_task(const graph_t *graph, uint32_t slot)
{
    return &graph->pages[slot / TABLE_PAGE][slot % TABLE_PAGE];
}

static inline uint32_t in_kb(uint64_t bytes)
{
    return bytes >> 10 < UINT32_MAX ? (uint32_t)(bytes >> 10) : UINT32_MAX;
}

static inline uint32_t ticket_slot(uint64_t ticket)
{
    return (uint32_t)ticket;
}

/* Whether its ready queue is in a wait queue. */
static inline bool graph_parked(const graph_t *graph, const task_t *task)
{
    return task->state == TASK_QUEUED && graph->ready.queues[task->queue].place == PARKED;
}

/* The task of this ticket, or NULL if its slot has been freed or reused. */
task_t *graph_find(const graph_t *graph, uint64_t ticket);
uint64_t graph_ticket(graph_t *graph, uint32_t slot); /* a new one for the slot */

int graph_depend(graph_t *graph, uint64_t dependent, uint32_t producer, uint32_t position);
uint32_t graph_take_edges(graph_t *graph, uint32_t producer); /* first edge; the caller frees each by */
uint32_t graph_free_edge(graph_t *graph, uint32_t edge);      /* ... this, which returns the next one */

#endif
