/* Folds nodes into groups: of one function and one depth, or of a range of depths. */
#include <stdlib.h>
#include <string.h>

#include "dag.h"

enum { MOST_SHIFT = 17 }; /* of depths; there are fewer edges than 2^17 */

typedef struct {
    uint32_t *group_of; /* by node */
    dag_table_t table;
    uint32_t count;
} fold_t;

static uint32_t *group_place(const csched_dag_t *dag, const fold_t *fold, uint32_t function, uint32_t depth)
{
    uint32_t mask = fold->table.size - 1;
    uint32_t at = (uint32_t)dag_hash((uint64_t)function << 32 | depth) & mask;
    while (fold->table.slots[at]) {
        const csched_dag_group_t *group = &dag->groups[fold->table.slots[at] - 1];
        if (group->function == function && group->depth == depth)
            break;
        at = (at + 1) & mask;
    }
    return &fold->table.slots[at];
}

/* True if the nodes fit into `most` groups. */
static bool try_fold(csched_dag_t *dag, fold_t *fold, uint32_t most, uint32_t shift, bool by_function)
{
    memset(fold->table.slots, 0, fold->table.size * sizeof *fold->table.slots);
    fold->count = 0;
    for (uint32_t i = 0; i < dag->node_count; i++) {
        const dag_node_t *node = &dag->nodes[i];
        uint32_t function = by_function ? node->function : CSCHED_DAG_SEVERAL;
        uint32_t *entry = group_place(dag, fold, function, node->depth >> shift);
        if (!*entry) {
            if (fold->count == most)
                return false;
            dag->groups[fold->count] = (csched_dag_group_t){.function = function, .depth = node->depth >> shift};
            *entry = ++fold->count;
        }
        csched_dag_group_t *group = &dag->groups[*entry - 1];
        group->counts[node->state]++;
        group->seconds += (float)((double)node->ran_ns / 1e9);
        fold->group_of[i] = *entry - 1;
    }
    return true;
}

static uint32_t fold_links(csched_dag_t *dag, const fold_t *fold, const dag_table_t *table)
{
    uint32_t count = 0, mask = table->size - 1;
    for (uint32_t i = 0; i < dag->edge_count; i++) {
        uint32_t from = fold->group_of[dag->edges[i].from], to = fold->group_of[dag->edges[i].to];
        if (from == to) /* an edge within a group of several depths */
            continue;
        uint32_t at = (uint32_t)dag_hash((uint64_t)from << 32 | to) & mask;
        while (table->slots[at] &&
               (dag->links[table->slots[at] - 1].from != from || dag->links[table->slots[at] - 1].to != to))
            at = (at + 1) & mask;
        if (!table->slots[at]) {
            dag->links[count] = (csched_dag_link_t){.from = from, .to = to};
            table->slots[at] = ++count;
        }
        dag->links[table->slots[at] - 1].count++;
    }
    return count;
}

static int table_for(uint32_t items, dag_table_t *table)
{
    table->size = 16;
    while (table->size < 2 * (items + 1))
        table->size *= 2;
    table->slots = calloc(table->size, sizeof *table->slots);
    return table->slots ? CSCHED_OK : CSCHED_ENOMEM;
}

static int reserve(csched_dag_t *dag, fold_t *fold, uint32_t most, dag_table_t *links)
{
    csched_dag_group_t *groups = realloc(dag->groups, most * sizeof *groups);
    if (groups)
        dag->groups = groups;
    csched_dag_link_t *grown = realloc(dag->links, (dag->edge_count + 1) * sizeof *grown);
    if (grown)
        dag->links = grown;
    fold->group_of = malloc((dag->node_count + 1) * sizeof *fold->group_of);
    int rc = groups && grown && fold->group_of ? table_for(most, &fold->table) : CSCHED_ENOMEM;
    return rc < 0 ? rc : table_for(dag->edge_count, links);
}

CSCHED_EXPORT int csched_dag_fold(csched_dag_t *dag, uint32_t most, const csched_dag_group_t **groups,
                                  uint32_t *group_count, const csched_dag_link_t **links, uint32_t *link_count,
                                  uint32_t *span)
{
    fold_t fold = {0};
    dag_table_t table = {0};
    uint32_t shift = 0;
    if (!most)
        return CSCHED_EINVAL;
    int rc = reserve(dag, &fold, most, &table);
    if (!rc) {
        while (shift < MOST_SHIFT && !try_fold(dag, &fold, most, shift, true))
            shift++;
        if (shift == MOST_SHIFT) /* too many functions */
            for (shift = 0; !try_fold(dag, &fold, most, shift, false);)
                shift++;
        *groups = dag->groups;
        *group_count = fold.count;
        *link_count = fold_links(dag, &fold, &table);
        *links = dag->links;
        *span = UINT32_C(1) << shift;
    }
    free(fold.group_of);
    free(fold.table.slots);
    free(table.slots);
    return rc;
}
