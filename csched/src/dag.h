/* The graph of dependencies that a view draws. Private memory of the calling thread; only dag.c takes the lock. */
#ifndef CSCHED_DAG_H
#define CSCHED_DAG_H

#include "internal.h"

typedef struct {
    uint64_t ticket;
    uint64_t ran_ns;
    uint32_t function, depth;
    uint32_t run; /* UINT32_MAX: none, or not known yet */
    uint8_t state;
    bool over;    /* its state is final */
    bool gone;    /* its slot has been reused, and its journey was not read yet */
    bool seen;    /* its record has been read */
    bool retried; /* an attempt failed; whether another followed is unknown yet */
} dag_node_t;

typedef struct {
    uint32_t from, to;
} dag_edge_t;

typedef struct { /* open addressing; 0: free, else a position + 1 */
    uint32_t *slots;
    uint32_t size; /* a power of two, at least twice the number of entries */
} dag_table_t;

struct csched_dag {
    csched_t *s;
    uint32_t since;
    uint64_t log_cursor, row_cursor;
    dag_node_t *nodes;
    dag_edge_t *edges;
    uint32_t node_count, node_capacity, edge_count, edge_capacity;
    dag_table_t table; /* nodes by ticket */
    uint32_t *open;    /* nodes that are not over */
    uint32_t open_count, open_capacity;
    bool forgot; /* journeys were overwritten before they were read */
    csched_dag_info_t info;

    csched_dag_group_t *groups; /* of the last fold */
    csched_dag_link_t *links;
};

static inline uint64_t dag_hash(uint64_t key)
{
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 32;
}

#endif
