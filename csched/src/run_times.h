/* What the tasks of each open run took: sums of the intervals of their journeys, and a histogram of their run times.
 * Kept as tasks end, exact however many there were, in 3 KB a run; items of a batch have equal shares of its time.
 * Under the scheduler's lock. */
#ifndef CSCHED_RUN_TIMES_H
#define CSCHED_RUN_TIMES_H

#include "csched_views.h"
#include "graph.h"

enum {
    TIMES_BITS = 4, /* a step is a sixteenth of an octave */
    TIMES_LONGEST = 45, /* 2^45 ns, nearly ten hours, and all above are the last step */
    TIMES_STEPS = (TIMES_LONGEST - TIMES_BITS + 1) << TIMES_BITS
};

typedef struct {
    csched_run_times_t sums;
    uint32_t steps[TIMES_STEPS];
} times_t;

typedef struct {
    times_t **of; /* by run; NULL: no task of it has ended */
    uint32_t count;
} run_times_t;

/* The step of a value, and the least value of a step: below 16 each value has its own. */
uint32_t times_step(uint64_t value);
uint64_t times_start(uint32_t step);

int run_times_open(run_times_t *times, uint32_t run);
void run_times_forget(run_times_t *times, uint32_t run);
void run_times_close(run_times_t *times);
/* `task` has ended on a worker with a result of its own. `marks`: when each element began, and the end, if the entry
 * has as many. */
void run_times_ended(run_times_t *times, const task_t *task, const result_entry_t *entry, const uint64_t *marks);
/* An element of `task`, which has ended and is in the times, came to nothing: it is taken out again. */
void run_times_wasted(run_times_t *times, const task_t *task, uint64_t ran);

#endif
