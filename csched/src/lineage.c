#include "lineage.h"

#include <stdlib.h>

#include "internal.h"

void lineage_append(lineage_t *lineage, const lineage_row_t *row)
{
    if (!lineage->rows)
        lineage->rows = malloc(LINEAGE_ROWS * sizeof *lineage->rows);
    if (lineage->rows) /* without memory nothing is logged */
        lineage->rows[lineage->written++ % LINEAGE_ROWS] = *row;
}

void lineage_close(lineage_t *lineage)
{
    free(lineage->rows);
    lineage->rows = NULL;
}

uint32_t lineage_read(const lineage_t *lineage, uint64_t *cursor, uint32_t most, lineage_row_t *rows, uint64_t *dropped)
{
    uint64_t oldest = lineage->written > LINEAGE_ROWS ? lineage->written - LINEAGE_ROWS : 0;
    *dropped = *cursor < oldest ? oldest - *cursor : 0;
    *cursor += *dropped;
    uint32_t n = 0;
    while (n < most && *cursor < lineage->written)
        rows[n++] = lineage->rows[(*cursor)++ % LINEAGE_ROWS];
    return n;
}

/* Logs inputs that were over when the task was submitted, and whose values travel with it: the graph would lack most
 * edges without them. */
CSCHED_EXPORT int csched_depended(csched_t *s, uint64_t ticket, uint32_t function, const uint64_t *inputs,
                                  uint32_t count)
{
    pthread_mutex_lock(&s->lock);
    const task_t *task = graph_find(&s->graph, ticket);
    if (task)
        kept_calls_linked(s, task);
    for (uint32_t i = 0; i < count; i++) {
        const lineage_row_t row = {.from = inputs[i],
                                   .to = ticket,
                                   .from_function = CSCHED_DAG_SEVERAL,
                                   .to_function = function,
                                   .from_run = UINT32_MAX,
                                   .to_run = task ? task->run : UINT32_MAX};
        lineage_append(&s->lineage, &row);
        account_late_input(&s->accounts, task, ticket, inputs[i]);
    }
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}
