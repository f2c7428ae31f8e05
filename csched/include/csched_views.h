/* csched, for views: questions about tasks, and pictures of them.  A part of csched.h, which is what to include.
 *
 * They look at all there is in steps that hold the scheduler's lock for well below a millisecond: without the GIL.
 */
#ifndef CSCHED_VIEWS_H
#define CSCHED_VIEWS_H

#include "csched.h"

/* cffi: begin */
/* what a row of csched_find is: a bit for each */
enum {
    CSCHED_IS_WAITING = 1,   /* for inputs */
    CSCHED_IS_DELAYED = 2,   /* kept back until a time, or for some of a resource */
    CSCHED_IS_QUEUED = 4,    /* ready, for a worker */
    CSCHED_IS_SENT = 8,      /* in a worker's ring, behind others */
    CSCHED_IS_RUNNING = 16,
    CSCHED_IS_STOPPING = 32, /* it runs, and is to end */
    CSCHED_IS_DONE = 64,
    CSCHED_IS_FAILED = 128,  /* with an error, at its time limit, without room */
    CSCHED_IS_LOST = 256,
    CSCHED_IS_CANCELLED = 512,
    CSCHED_IS_NOT_RUN = 1024, /* an input failed */
    CSCHED_IS_RETRIED = 2048 /* an attempt that failed, and another one followed */
};

/* in which order csched_find gives its rows */
enum {
    CSCHED_BY_NEWS = 0,   /* what happened last, first */
    CSCHED_BY_NEWEST = 1, /* submitted last, first */
    CSCHED_BY_OLDEST = 2,
    CSCHED_BY_RUN = 3,    /* the longest time in user code first */
    CSCHED_BY_QUEUE = 4,  /* the longest time from ready to a worker */
    CSCHED_BY_ATTEMPTS = 5
};

enum {
    CSCHED_WHY_OVER = 0, /* or never heard of */
    CSCHED_WHY_RUNNING = 1,
    CSCHED_WHY_STOPPING = 2,
    CSCHED_WHY_INPUTS = 3,
    CSCHED_WHY_DELAYED = 4,
    CSCHED_WHY_PAUSED = 5,
    CSCHED_WHY_NO_WORKER = 6, /* none is ready */
    CSCHED_WHY_QUEUED = 7,
    CSCHED_WHY_SENT = 8, /* in a worker's ring */
    CSCHED_WHY_RESOURCE = 9 /* for some of a resource */
};

/* csched_figures_t.of: the seven intervals between the stages, and these two */
enum { CSCHED_PICKLE = 7, CSCHED_BESIDE = 8, CSCHED_INTERVALS = 9, CSCHED_EVERY_RUN = -1 };

/* states of the map: of a task, and of a cell that stands for one */
enum {
    CSCHED_MAP_NONE = 0,
    CSCHED_MAP_WAITING = 1, /* for inputs, or to be tried again */
    CSCHED_MAP_QUEUED = 2,
    CSCHED_MAP_RUNNING = 3,
    CSCHED_MAP_DONE = 4,
    CSCHED_MAP_FAILED = 5,
    CSCHED_MAP_CANCELLED = 6,
    CSCHED_MAP_LOST = 7,
    CSCHED_MAP_STATES = 8
};

/* A cell that stands for several: how many fifteenths of them are done, 0 and 15 only when none and all are, and
 * whether any failed or was lost, runs, waits for inputs or for a worker, was cancelled. */
enum { CSCHED_CELL_FAILED = 16, CSCHED_CELL_RUNNING = 32, CSCHED_CELL_WAITING = 64, CSCHED_CELL_CANCELLED = 128 };

typedef struct csched_dag csched_dag_t;
typedef struct csched_timeline csched_timeline_t;

typedef struct { /* 64 bytes: tasks that a worker ran one after the other, or one of them */
    uint64_t start, end;
    uint64_t ticket; /* of the first */
    uint32_t count;  /* tasks, an estimate when only a sample was read */
    uint32_t failed; /* of them: with an error, or past their time limit */
    uint32_t cut;    /* of them: lost with their worker, or stopped */
    uint16_t worker;
    uint16_t running; /* 1: it still runs, `end` is now */
    uint32_t functions[3]; /* UINT32_MAX: none */
    uint8_t shares[4]; /* of its length that each of them took, in 255ths; the last: all other functions */
    uint32_t place;  /* of the span among all: what comes later for the same place replaces it */
    uint32_t reserved;
} csched_span_t;

typedef struct {
    uint64_t count, sum, median, p95, p99, largest; /* tasks that tell, and nanoseconds */
} csched_figure_t;

typedef struct { /* of one function */
    uint32_t function; /* UINT32_MAX: of the functions beyond those that are told apart */
    uint32_t reserved;
    uint64_t tasks, failed, cut; /* attempts count as tasks */
    csched_figure_t of[9];
} csched_figures_t;

typedef struct {
    uint64_t now;
    uint64_t fold;      /* number of this fold */
    uint64_t tasks;     /* of this piece of work that have been folded */
    uint64_t sampled;   /* of them: known from a sample only */
    uint64_t dropped;   /* overwritten before they were read; their number may hold some of earlier work */
    uint64_t forgotten; /* tasks without a span, of a pool with very many workers */
    uint64_t threshold; /* spans shorter than this hold several tasks */
    uint32_t generation; /* another one: the spans' places are not what they were */
    uint32_t spans, functions;
    uint32_t behind;    /* 1: there is more to read */
} csched_timeline_state_t;

typedef struct { /* what csched_state_map is asked for, and answers */
    uint64_t first, last; /* positions from, and up to: wanted, then told */
    uint64_t next;     /* positions ever given */
    uint64_t counts[8]; /* of those told, by state */
    uint32_t span;     /* positions a cell, a power of two, at most 65,536 */
    uint32_t cells;    /* written */
} csched_state_map_t;

/* how the tasks of a picture of dependencies stand */
enum {
    CSCHED_DAG_WAITING = 0,
    CSCHED_DAG_QUEUED = 1,
    CSCHED_DAG_RUNNING = 2,
    CSCHED_DAG_DONE = 3, /* also where the journey ring has forgotten how it ended */
    CSCHED_DAG_FAILED = 4,
    CSCHED_DAG_CANCELLED = 5,
    CSCHED_DAG_SKIPPED = 6, /* an input failed or was cancelled */
    CSCHED_DAG_STATES = 7
};
#define CSCHED_DAG_SEVERAL 4294967295 /* in place of a function's number: not known, or more than one */

typedef struct {
    uint32_t nodes, edges;
    uint32_t partial;   /* 1: this work has had more edges than are kept, the oldest are missing */
    uint32_t reserved;
    uint64_t structure; /* another number when there are other nodes or edges */
    uint64_t changes;   /* another number when a state changed, too */
} csched_dag_info_t;

typedef struct { /* tasks of one function at one depth, 48 bytes */
    uint32_t function;
    uint32_t depth;
    float seconds; /* run time of all */
    uint32_t reserved;
    uint32_t counts[8]; /* by state */
} csched_dag_group_t;

typedef struct { /* an edge between groups */
    uint32_t from, to, count;
} csched_dag_link_t;

typedef struct { /* what csched_find looks for: every condition that is there must hold */
    uint32_t kinds;         /* bit mask of CSCHED_IS_ */
    uint32_t order;         /* CSCHED_BY_ */
    uint32_t by_run, run;   /* by_run 1: of this run alone */
    const uint64_t *functions; /* bit set of function numbers; a task of one of these, */
    uint32_t function_words;
    uint32_t ticket_count;
    const uint64_t *tickets; /* or one of these: tickets, or serial numbers (below 2^32); sorted */
    uint32_t by_text;       /* 1: functions and tickets are looked at */
    uint32_t by_position;   /* 1: of the one at this position of the map alone, its attempts, the latest first */
    uint64_t position;
    uint32_t offset;        /* rows that are left out, the best ones: at most 100,000 */
    uint32_t reserved;
} csched_query_t;

typedef struct { /* 128 bytes: an attempt that is over (of each element), or a task that is not (its elements in one) */
    csched_journey_t journey; /* what is not known yet is 0; `received` of one that runs: since when */
    uint32_t kind; /* CSCHED_IS_ */
    uint32_t count; /* elements it stands for */
    int32_t priority; /* of those that are not over */
    uint32_t reserved;
    uint64_t key; /* what it is ordered by */
    uint64_t matched; /* in the first row: all that matched, however many rows were asked for; of a position: more */
} csched_row_t;

typedef struct { /* why a task waits, or what it does instead */
    uint32_t reason; /* CSCHED_WHY_ */
    uint32_t run, function, count;
    int32_t priority;
    uint32_t worker; /* in whose ring it stands, or that runs it; UINT32_MAX: none */
    uint32_t inputs, missing; /* that it takes, and of those: not there yet */
    uint32_t named; /* of those: how many are in `waits_for` */
    uint32_t attempt, retries;
    uint32_t workers, ready; /* that there are, and of those: started */
    uint32_t asked; /* 1: kept back until who submitted it has decided */
    uint64_t waits_for[8]; /* tickets */
    uint64_t higher, same,
        others; /* queued: elements before it, of a higher priority; of its own run; and of other runs
                                    * with the same priority, with whom it takes turns */
    uint64_t ahead; /* sent: tasks before it in that worker's ring */
    uint64_t ticket; /* sent: what runs there now, 0: nothing */
    uint64_t since; /* that, or it, began; or it has been ready */
    uint64_t until; /* kept back until then */
    uint32_t resource; /* that it waits for */
    uint32_t holder_count; /* of those that have some: how many are in `holders` */
    uint64_t wanted, used, total; /* of it */
    uint64_t holders[8]; /* tickets */
    uint64_t first; /* the task that gets some before it and asks for `first_wanted`; 0: none */
    uint64_t first_wanted;
} csched_why_t;

typedef struct { /* a task that has not been committed yet */
    uint64_t ticket;
    uint64_t address, size; /* failed: its payload, in place until it is committed */
    uint32_t run, function, worker, attempt;
} csched_ended_t;

/* the tasks with inputs or dependents, as a view draws them: the newest 65,536 edges and more.  One picture belongs to
 * one thread at a time, and goes before its scheduler; a look takes some milliseconds: without the GIL. */
int csched_depended(csched_t *s, uint64_t ticket, uint32_t function, const uint64_t *inputs,
                    uint32_t count); /* its inputs were over, and their values went along */
int csched_dag_open(csched_t *s, csched_dag_t **dag);
int csched_dag_close(csched_dag_t *dag);
/* `since`: only tasks with later serial numbers and their inputs; 0: all */
int csched_dag_look(csched_dag_t *dag, uint32_t since, csched_dag_info_t *info);
/* one element of each column a node; NULL: not wanted.  Inputs come before what takes them, so that the depth is the
 * longest path from a task without inputs. */
int csched_dag_nodes(const csched_dag_t *dag, uint64_t *tickets, uint32_t *functions, uint32_t *depths, uint8_t *states,
                     float *seconds);
int csched_dag_edges(const csched_dag_t *dag, uint32_t *pairs); /* positions of the nodes: from, to */
/* Folded into at most `most` groups: of one function and one depth, or of 2, 4, 8... depths where those are too many;
 * the caller frees neither.  `span`: the depths of a group.  Valid until the next look or fold. */
int csched_dag_fold(csched_dag_t *dag, uint32_t most, const csched_dag_group_t **groups, uint32_t *group_count,
                    const csched_dag_link_t **links, uint32_t *link_count, uint32_t *span);

/* The journeys of one piece of work, folded for views: who calls it, from one thread at a time, need not be who runs
 * tasks.  A call holds the scheduler's lock for well below a millisecond at a time. */
int csched_timeline_open(csched_timeline_t **timeline);
int csched_timeline_close(csched_timeline_t *t);
/* anew: tasks submitted since then, of one run or (CSCHED_EVERY_RUN) of all */
int csched_timeline_begin(csched_timeline_t *t, csched_t *s, uint64_t since, int64_t run);
int csched_timeline_fold(csched_timeline_t *t, csched_t *s, csched_timeline_state_t *state); /* what came since */
/* number of spans that changed after fold `after`; UINT64_MAX: all */
int csched_timeline_spans(const csched_timeline_t *t, uint64_t after, uint32_t most, csched_span_t *spans);
int csched_timeline_figures(const csched_timeline_t *t, uint32_t most, csched_figures_t *figures);
int csched_timeline_running(csched_t *s, uint32_t most, csched_span_t *spans); /* a span for each task that runs */
/* tasks that ran between these times, of those whose journeys are kept, one span each; when there are more than `most`
 * an even choice of them.  `found`: how many there are */
int csched_timeline_window(csched_t *s, uint64_t from, uint64_t to, uint32_t most, csched_span_t *spans,
                           uint64_t *found);

/* the state map: a byte for each task, or element of a chunk, in the order of submission; the newest 4,194,304 */
int csched_state_map(csched_t *s, csched_state_map_t *wanted, uint8_t *cells,
                     uint32_t most); /* to be called without the GIL */
uint64_t csched_state_map_next(csched_t *s); /* positions ever given */
int csched_state_map_add(csched_t *s, uint32_t count,
                         uint32_t state); /* those of tasks that never come to be submitted */
/* outcomes that the scheduler does not see: of elements within a chunk */
int csched_state_map_set(csched_t *s, uint64_t position, uint32_t count, uint32_t state);
uint64_t csched_task_position(csched_t *s, uint32_t slot); /* of its first element; 2^64-1: there is no such task */
/* PackBits: n < 128 is followed by n + 1 cells, n > 128 by one that comes 257 - n times.  How many bytes: at most
 * count + count / 128 + 1 */
uint32_t csched_state_map_pack(const uint8_t *cells, uint32_t count, uint8_t *packed);

/* questions, for views.  They look at all there is in steps that hold the lock for well below a millisecond, so what they
 * see of different tasks may differ by some; without the GIL. */
int csched_find(csched_t *s, const csched_query_t *query, uint32_t most, csched_row_t *rows); /* how many, best first */
int csched_why(csched_t *s, uint64_t ticket, csched_why_t *why);
/* of tasks that have not begun: 1 or the number of elements; 0: too late.  Those behind them in rings come back first */
int csched_set_priority(csched_t *s, uint64_t ticket, int32_t priority);
int64_t csched_set_run_priority(csched_t *s, uint32_t run, int32_t priority);
int csched_ended(csched_t *s, uint32_t slot, csched_ended_t *ended);
/* the size of the payload of a task that is not over, copied if there is room for it */
int64_t csched_payload(csched_t *s, uint64_t ticket, void *data, uint64_t room);
/* cffi: end */

#endif
