/* Where the time of the workers went: sums kept as tasks end, exact however many there were.  One account for each run,
 * and one for the present piece of work: all that was submitted since csched_account_begin.  Under the scheduler's lock.
 *
 * The longest chain is kept in the same way: a task that takes results of others knows the longest of their chains
 * (`waiting`, until it ends), and a task that has ended is remembered with its own (`ended`, the newest CHAINS_ENDED),
 * for dependents that are submitted later. */
#ifndef CSCHED_ACCOUNT_H
#define CSCHED_ACCOUNT_H

#include <stdbool.h>

#include "csched.h"
#include "csched_views.h"
#include "graph.h"

enum { CHAINS_ENDED = 65536, CHANGES_KEPT = 256 };

typedef struct { /* the longest chain of tasks that ends with the inputs of a task, or with the task itself */
    uint64_t ticket; /* of that task */
    uint64_t before; /* the task before it in the chain; 0: none */
    uint64_t ns; /* run time of the tasks in the chain that belong to the present work */
    uint64_t run_ns; /* of those of the task's own run only */
    uint64_t ran; /* of the task itself, when it has ended */
    uint32_t function, run;
    uint32_t tasks, run_tasks;
} chain_t;

typedef struct {
    csched_account_t sums;
    uint64_t capacity_before; /* of the pool when it began */
    uint64_t spent_before;
} account_t;

typedef struct { /* bytes that tasks of a function have moved */
    uint64_t sent, received;
    uint32_t number; /* in the piece of work with this number */
} moved_t;

typedef struct {
    account_t work;
    bool begins; /* the next task begins a piece of work */
    uint32_t number; /* of the present one */
    uint32_t serial; /* of its first task */

    account_t *runs; /* by run */
    uint32_t run_count;

    uint64_t capacity, since; /* worker-nanoseconds until `since`, from when on there are `ready` workers */
    uint32_t ready;
    csched_workers_t changes[CHANGES_KEPT]; /* of `ready`: the newest, a ring */
    uint64_t changed; /* how often */
    uint64_t spent; /* by workers on tasks */

    moved_t *moved; /* by function */
    uint32_t moved_count;

    chain_t **waiting; /* by slot, in pages of TABLE_PAGE; made for slots whose tasks have inputs */
    uint32_t page_count;
    chain_t *ended; /* by serial number; NULL until the first task ends */
} accounts_t;

typedef struct { /* of one worker, in the present piece of work */
    uint32_t number; /* of that work */
    uint64_t first, last; /* when it took its first task, and gave the result of its last */
} worker_time_t;

/* Nanoseconds from one stamp to a later one; 0 where stamps of two processes are out of order. */
static inline uint64_t ns_between(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

void accounts_close(accounts_t *accounts);
int account_open(accounts_t *accounts, uint32_t run); /* an empty account for this run */
/* A worker has become ready (1), or is gone (-1). */
void account_worker(accounts_t *accounts, int change, uint64_t now);
/* Copies the numbers of workers from `since` on, the first of which was there before, or begins with it; returns how many
 * these are, 0 where they are not all kept. `changes`: room for CHANGES_KEPT + 1. */
uint32_t account_changes(const accounts_t *accounts, uint64_t since, csched_workers_t *changes);
void account_submitted(accounts_t *accounts, const task_t *task); /* begins the accounts that have no task yet */
/* `task` takes the result of the task `from`. */
void account_input(accounts_t *accounts, const task_t *task, uint64_t from);
/* The same, told after the submission of the task with this ticket, which may be over since; NULL: it is no more. */
void account_late_input(accounts_t *accounts, const task_t *task, uint64_t ticket, uint64_t from);
/* `task` has ended on a worker with a result of its own. Before `task_finish`. */
void account_ended(accounts_t *accounts, const task_t *task, const result_entry_t *entry, worker_time_t *worker);
/* An attempt ended without one: lost, at its limit, stopped, or to be retried. */
void account_wasted(accounts_t *accounts, const task_t *task, uint64_t received, uint64_t ended, worker_time_t *worker);
/* An element of `task`, which has ended and is accounted for, is such an attempt: it ran for so many nanoseconds. */
void account_element_wasted(accounts_t *accounts, const task_t *task, uint64_t ran);

#endif
