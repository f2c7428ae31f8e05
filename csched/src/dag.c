/* The graph of dependencies with task states, from three sources: the log of dependencies, the records of unfinished
 * tasks and the journeys of finished ones. The lock is held for some hundred tasks at a time. */
#include "cancel.h"
#include "dag.h"

#include <stdlib.h>
#include <string.h>

enum { SLICE = 512, MOST_EDGES = 2 * LINEAGE_ROWS, NOWHERE = UINT32_MAX };

CSCHED_EXPORT int csched_dag_open(csched_t *s, csched_dag_t **dag)
{
    csched_dag_t *d = calloc(1, sizeof *d);
    if (!d)
        return CSCHED_ENOMEM;
    d->s = s;
    d->info.structure = d->info.changes = 1;
    *dag = d;
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_dag_close(csched_dag_t *dag)
{
    free(dag->nodes);
    free(dag->edges);
    free(dag->table.slots);
    free(dag->open);
    free(dag->groups);
    free(dag->links);
    free(dag);
    return CSCHED_OK;
}

static void forget(csched_dag_t *dag)
{
    dag->node_count = dag->edge_count = dag->open_count = 0;
    dag->log_cursor = dag->row_cursor = 0;
    dag->forgot = false;
    dag->info.partial = 0;
    dag->info.structure++;
    dag->info.changes++;
    if (dag->table.slots)
        memset(dag->table.slots, 0, dag->table.size * sizeof *dag->table.slots);
}

/* Makes room for one more item in `*items`. */
static int grow(void *items, size_t size, uint32_t count, uint32_t *capacity)
{
    void *found;
    if (count < *capacity)
        return CSCHED_OK;
    uint32_t wanted = *capacity ? 2 * *capacity : 256;
    memcpy(&found, items, sizeof found);
    found = realloc(found, wanted * size);
    if (!found)
        return CSCHED_ENOMEM;
    memcpy(items, &found, sizeof found);
    *capacity = wanted;
    return CSCHED_OK;
}

/* The table entry of this ticket, or the free one where it belongs. */
static uint32_t *place(const csched_dag_t *dag, uint64_t ticket)
{
    uint32_t mask = dag->table.size - 1;
    uint32_t at = (uint32_t)dag_hash(ticket) & mask;
    while (dag->table.slots[at] && dag->nodes[dag->table.slots[at] - 1].ticket != ticket)
        at = (at + 1) & mask;
    return &dag->table.slots[at];
}

static int grow_table(csched_dag_t *dag)
{
    if (dag->table.size > 2 * dag->node_count)
        return CSCHED_OK;
    uint32_t size = dag->table.size ? 2 * dag->table.size : 1024;
    uint32_t *slots = calloc(size, sizeof *slots);
    if (!slots)
        return CSCHED_ENOMEM;
    free(dag->table.slots);
    dag->table = (dag_table_t){slots, size};
    for (uint32_t i = 0; i < dag->node_count; i++)
        *place(dag, dag->nodes[i].ticket) = i + 1;
    return CSCHED_OK;
}

static int64_t node_of(csched_dag_t *dag, uint64_t ticket, uint32_t function, uint32_t run)
{
    int rc = grow_table(dag);
    if (rc < 0)
        return rc;
    uint32_t *entry = place(dag, ticket);
    if (*entry) {
        dag_node_t *known = &dag->nodes[*entry - 1];
        known->function = function == CSCHED_DAG_SEVERAL ? known->function : function;
        known->run = run == UINT32_MAX ? known->run : run;
        return *entry - 1;
    }
    if ((rc = grow(&dag->nodes, sizeof *dag->nodes, dag->node_count, &dag->node_capacity)) < 0 ||
        (rc = grow(&dag->open, sizeof *dag->open, dag->open_count, &dag->open_capacity)) < 0)
        return rc;
    dag->nodes[dag->node_count] = (dag_node_t){.ticket = ticket, .function = function, .run = run};
    dag->open[dag->open_count++] = dag->node_count;
    *entry = ++dag->node_count;
    return dag->node_count - 1;
}

static int add_edge(csched_dag_t *dag, const lineage_row_t *row)
{
    int64_t from = node_of(dag, row->from, row->from_function, row->from_run);
    int64_t to = from < 0 ? from : node_of(dag, row->to, row->to_function, row->to_run);
    if (to < 0)
        return (int)to;
    int rc = grow(&dag->edges, sizeof *dag->edges, dag->edge_count, &dag->edge_capacity);
    if (rc < 0)
        return rc;
    dag->edges[dag->edge_count++] = (dag_edge_t){(uint32_t)from, (uint32_t)to};
    uint32_t depth = dag->nodes[from].depth + 1; /* the input's depth is known: it was submitted before */
    if (dag->nodes[to].depth < depth)
        dag->nodes[to].depth = depth;
    dag->info.structure++;
    dag->info.changes++;
    return CSCHED_OK;
}

static bool is_of_this_work(const csched_dag_t *dag, uint64_t ticket)
{
    return !dag->since || (int32_t)((uint32_t)(ticket >> 32) - dag->since) > 0;
}

static int read_log(csched_dag_t *dag)
{
    lineage_row_t rows[SLICE];
    uint64_t dropped;
    uint32_t n;
    do {
        pthread_mutex_lock(&dag->s->lock);
        n = lineage_read(&dag->s->lineage, &dag->log_cursor, SLICE, rows, &dropped);
        pthread_mutex_unlock(&dag->s->lock);
        for (uint32_t i = 0; i < n; i++) {
            if (!is_of_this_work(dag, rows[i].to))
                continue;
            if (i == 0 && dropped)
                dag->info.partial = 1;
            int rc = add_edge(dag, &rows[i]);
            if (rc < 0)
                return rc;
        }
    } while (n == SLICE);
    return CSCHED_OK;
}

static uint8_t state_of_status(uint32_t status)
{
    switch (status) {
    case CSCHED_VALUE:
    case CSCHED_NONE:
        return CSCHED_DAG_DONE;
    case CSCHED_CANCELLED:
        return CSCHED_DAG_CANCELLED;
    case CSCHED_DEPENDENCY:
        return CSCHED_DAG_SKIPPED;
    case CSCHED_LOST:
        return CSCHED_DAG_LOST;
    default:
        return CSCHED_DAG_FAILED;
    }
}

static uint8_t state_of_task(csched_t *s, const task_t *task)
{
    switch (task->state) {
    case TASK_DONE:
        return state_of_status(task->status);
    case TASK_QUEUED:
        return graph_parked(&s->graph, task) ? CSCHED_DAG_WAITING : CSCHED_DAG_QUEUED;
    case TASK_SENT:
        return task_runs(s, task) ? CSCHED_DAG_RUNNING : CSCHED_DAG_QUEUED;
    default:
        return CSCHED_DAG_WAITING;
    }
}

static void set_state(csched_dag_t *dag, dag_node_t *node, uint8_t state, bool over)
{
    dag->info.changes += node->state != state;
    node->state = state;
    node->over = over;
}

/* Reads the records of some open nodes; returns how many have none any more. */
static uint32_t read_records(csched_dag_t *dag, uint32_t first, uint32_t count)
{
    uint32_t gone = 0;
    pthread_mutex_lock(&dag->s->lock);
    for (uint32_t i = first; i < first + count; i++) {
        dag_node_t *node = &dag->nodes[dag->open[i]];
        const task_t *task = node->gone ? NULL : graph_find(&dag->s->graph, node->ticket);
        node->gone = !task;
        gone += !task;
        if (!task && !node->seen)
            dag->row_cursor = 0; /* its journey may have been skipped before it had dependents */
        node->seen = true;
        if (!task)
            continue;
        node->run = task->run;
        bool over = task->state == TASK_DONE;
        if (over && task->status <= CSCHED_ERROR)
            node->ran_ns = task->ran_ns;
        set_state(dag, node, state_of_task(dag->s, task), over);
    }
    pthread_mutex_unlock(&dag->s->lock);
    return gone;
}

static void take_row(csched_dag_t *dag, const csched_journey_t *row)
{
    uint32_t entry = *place(dag, row->ticket);
    if (!entry)
        return;
    dag_node_t *node = &dag->nodes[entry - 1];
    node->function = row->function;
    node->run = row->run;
    if (node->over)
        return;
    if (row->status == CSCHED_RETRIED) {
        node->retried = true;
        return;
    }
    node->ran_ns = row->stamps[5] > row->stamps[4] && row->stamps[4] ? row->stamps[5] - row->stamps[4] : 0;
    set_state(dag, node, state_of_status(row->status), true);
}

static void read_journeys(csched_dag_t *dag)
{
    const journey_t *journey = &dag->s->journey;
    bool more = true;
    while (more) {
        pthread_mutex_lock(&dag->s->lock);
        uint64_t oldest = journey->written > journey->capacity ? journey->written - journey->capacity : 0;
        if (dag->row_cursor < oldest) {
            dag->forgot = true;
            dag->row_cursor = oldest;
        }
        for (uint32_t i = 0; i < SLICE && dag->row_cursor < journey->written; i++)
            take_row(dag, journey_row(journey, dag->row_cursor++));
        more = dag->row_cursor < journey->written;
        pthread_mutex_unlock(&dag->s->lock);
    }
}

static bool is_bad(const dag_node_t *node)
{
    return node->over && node->state >= CSCHED_DAG_FAILED;
}

/* Settles nodes that ended without a journey, cancelled with their whole run, or whose journey was overwritten. */
static void settle_the_rest(csched_dag_t *dag)
{
    for (uint32_t i = 0; i < dag->edge_count && dag->forgot; i++) {
        dag_node_t *node = &dag->nodes[dag->edges[i].to];
        if (node->gone && !node->over && !node->retried && is_bad(&dag->nodes[dag->edges[i].from]))
            set_state(dag, node, CSCHED_DAG_SKIPPED, true);
    }
    for (uint32_t i = 0; i < dag->open_count; i++) {
        dag_node_t *node = &dag->nodes[dag->open[i]];
        if (node->gone && !node->over)
            set_state(dag, node,
                      node->retried ? CSCHED_DAG_FAILED
                      : dag->forgot ? CSCHED_DAG_DONE
                                    : CSCHED_DAG_CANCELLED,
                      true);
    }
}

static void read_states(csched_dag_t *dag)
{
    uint32_t gone = 0, kept = 0;
    for (uint32_t first = 0; first < dag->open_count; first += SLICE)
        gone += read_records(dag, first, dag->open_count - first < SLICE ? dag->open_count - first : SLICE);
    if (gone) {
        read_journeys(dag);
        settle_the_rest(dag);
    }
    for (uint32_t i = 0; i < dag->open_count; i++)
        if (!dag->nodes[dag->open[i]].over)
            dag->open[kept++] = dag->open[i];
    dag->open_count = kept;
}

CSCHED_EXPORT int csched_dag_look(csched_dag_t *dag, uint32_t since, csched_dag_info_t *info)
{
    bool too_many = since == dag->since && dag->edge_count > MOST_EDGES;
    if (since != dag->since || too_many) {
        forget(dag); /* the newest edges are read again from the log */
        dag->since = since;
        dag->info.partial = too_many;
    }
    int rc = read_log(dag);
    if (rc < 0)
        return rc;
    read_states(dag);
    dag->info.nodes = dag->node_count;
    dag->info.edges = dag->edge_count;
    dag->info.own = dag->node_count;
    *info = dag->info;
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_dag_of_run(const csched_dag_t *dag, uint32_t run, csched_dag_t *part, csched_dag_info_t *info)
{
    bool forgot = false;
    forget(part);
    for (uint32_t i = 0; i < dag->edge_count; i++) {
        const dag_node_t *from = &dag->nodes[dag->edges[i].from], *to = &dag->nodes[dag->edges[i].to];
        const lineage_row_t row = {from->ticket, to->ticket, from->function, to->function, from->run, to->run};
        bool unknown = dag->forgot && from->run == UINT32_MAX && to->run != run;
        int rc = from->run == run || to->run == run ? add_edge(part, &row) : CSCHED_OK;
        if (rc < 0)
            return rc;
        forgot |= unknown;
    }
    part->open_count = 0; /* it is made anew from the whole */
    part->info.own = 0;
    for (uint32_t i = 0; i < part->node_count; i++) {
        dag_node_t *node = &part->nodes[i];
        const dag_node_t *whole = &dag->nodes[*place(dag, node->ticket) - 1];
        node->state = whole->state;
        node->ran_ns = whole->ran_ns;
        part->info.own += node->run == run;
    }
    part->info.nodes = part->node_count;
    part->info.edges = part->edge_count;
    part->info.partial = dag->info.partial || forgot;
    part->info.structure = dag->info.structure;
    part->info.changes = dag->info.changes;
    *info = part->info;
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_dag_nodes(const csched_dag_t *dag, uint64_t *tickets, uint32_t *functions, uint32_t *depths,
                                   uint8_t *states, float *seconds)
{
    for (uint32_t i = 0; i < dag->node_count; i++) {
        const dag_node_t *node = &dag->nodes[i];
        if (tickets)
            tickets[i] = node->ticket;
        if (functions)
            functions[i] = node->function;
        if (depths)
            depths[i] = node->depth;
        if (states)
            states[i] = node->state;
        if (seconds)
            seconds[i] = (float)((double)node->ran_ns / 1e9);
    }
    return (int)dag->node_count;
}

CSCHED_EXPORT int csched_dag_edges(const csched_dag_t *dag, uint32_t *pairs)
{
    if (dag->edge_count)
        memcpy(pairs, dag->edges, dag->edge_count * sizeof *dag->edges);
    return (int)dag->edge_count;
}
