/* csched, seen from another process: a page in shared memory, on which the helper thread writes figures when they are
 * asked for, and from which it takes commands.  Neither needs a Python thread of the kernel.
 */
#ifndef CSCHED_OUTSIDE_H
#define CSCHED_OUTSIDE_H

#include "csched.h"

/* cffi: begin */
enum {
    CSCHED_OUTSIDE_RUNS = 256,
    CSCHED_OUTSIDE_WORKERS = 512,
    CSCHED_OUTSIDE_JOURNEYS = 512,
    CSCHED_OUTSIDE_TEXT = 262144
};

/* commands */
enum { CSCHED_DO_PAUSE = 1, CSCHED_DO_RESUME = 2, CSCHED_DO_CANCEL_RUN = 3, CSCHED_DO_CANCEL_ALL = 4 };

typedef struct csched_outside csched_outside_t;

typedef struct { /* a run that is open */
    uint32_t run;
    uint32_t running; /* its tasks in user code */
    uint64_t opened;  /* when: numbers of runs are used again */
    csched_run_t counts;
} csched_outside_run_t;

typedef struct { /* the figures of a kernel at one moment */
    uint64_t at;
    uint64_t spent; /* nanoseconds of workers on tasks that have ended */
    uint32_t paused;
    uint32_t closed;  /* it takes no more tasks */
    uint32_t run_count, runs_left_out; /* the newest runs are here */
    uint32_t worker_count, workers_left_out;
    uint32_t journey_count;
    uint32_t reserved;
    csched_stats_t stats;
    csched_outside_run_t runs[256];
    csched_worker_info_t workers[512];
    csched_journey_t journeys[512]; /* of the newest ended tasks, oldest first; some are not resolved yet */
} csched_overview_t;

/* kernel side. A descriptor to be passed on and closed. The page lasts as long as the scheduler. */
int csched_outside_open(csched_t *s, int *fd);
/* What the kernel tells in words, at most CSCHED_OUTSIDE_TEXT bytes; one thread at a time. */
int csched_outside_tell(csched_t *s, const char *text, uint64_t size);
int csched_paused(csched_t *s);
/* Serial number of the latest task that a run (or, of no run: the scheduler) had when it was cancelled by a command; 0:
 * it was not. */
uint32_t csched_cancelled_by_command(csched_t *s, uint32_t run);

/* other side, one thread. Takes over the descriptor. */
int csched_outside_attach(int fd, csched_outside_t **outside);
int csched_outside_detach(csched_outside_t *outside);
/* Asks for new figures. */
int csched_outside_ask(csched_outside_t *outside);
/* 1: copies the figures that were asked for; 0: they are not there yet; CSCHED_ESTOPPED: the scheduler has ended. */
int csched_outside_read(csched_outside_t *outside, csched_overview_t *figures);
/* The latest text: its size; CSCHED_EAGAIN: it is being written. */
int64_t csched_outside_text(csched_outside_t *outside, char *text);
/* Gives a command, one at a time: `opened` as in csched_outside_run_t. */
int csched_outside_command(csched_outside_t *outside, uint32_t command, uint32_t run, uint64_t opened);
/* 1: it was done, with the number of cancelled tasks; 0: not yet; CSCHED_ESTALE: there is no such run any more. */
int csched_outside_answer(csched_outside_t *outside, uint32_t *count);
/* cffi: end */

#endif
