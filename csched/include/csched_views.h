/* csched, for views: queries about tasks, and pictures of them.  Included by csched.h.
 *
 * They read all records in steps that hold the scheduler's lock for well below a millisecond.  Called without the GIL.
 */
#ifndef CSCHED_VIEWS_H
#define CSCHED_VIEWS_H

#include "csched.h"

/* cffi: begin */
/* kinds of a row of csched_find, one bit each */
enum {
    CSCHED_IS_WAITING = 1,   /* for inputs */
    CSCHED_IS_DELAYED = 2,   /* until a time, or for a resource */
    CSCHED_IS_QUEUED = 4,    /* ready, waiting for a worker */
    CSCHED_IS_SENT = 8,      /* in a worker's ring, behind others */
    CSCHED_IS_RUNNING = 16,
    CSCHED_IS_STOPPING = 32, /* running, and to be ended */
    CSCHED_IS_DONE = 64,
    CSCHED_IS_FAILED = 128,  /* with an error, at its time limit, without room */
    CSCHED_IS_LOST = 256,
    CSCHED_IS_CANCELLED = 512,
    CSCHED_IS_NOT_RUN = 1024, /* an input failed */
    CSCHED_IS_RETRIED = 2048 /* an attempt that failed, and another one followed */
};

/* orders of the rows of csched_find */
enum {
    CSCHED_BY_NEWS = 0,   /* latest event first */
    CSCHED_BY_NEWEST = 1, /* latest submission first */
    CSCHED_BY_OLDEST = 2,
    CSCHED_BY_RUN = 3,    /* longest time in user code first */
    CSCHED_BY_QUEUE = 4,  /* longest time from ready to dispatched first */
    CSCHED_BY_ATTEMPTS = 5
};

enum {
    CSCHED_WHY_OVER = 0, /* or unknown */
    CSCHED_WHY_RUNNING = 1,
    CSCHED_WHY_STOPPING = 2,
    CSCHED_WHY_INPUTS = 3,
    CSCHED_WHY_DELAYED = 4,
    CSCHED_WHY_PAUSED = 5,
    CSCHED_WHY_NO_WORKER = 6, /* none is ready */
    CSCHED_WHY_QUEUED = 7,
    CSCHED_WHY_SENT = 8, /* in a worker's ring */
    CSCHED_WHY_RESOURCE = 9, /* waits for a resource */
    CSCHED_WHY_ENDED = 10 /* over on its worker; its outcome is on its way */
};

/* csched_figures_t.of: the seven intervals between the stages, then these two */
enum { CSCHED_PICKLE = 7, CSCHED_BESIDE = 8, CSCHED_INTERVALS = 9, CSCHED_EVERY_RUN = -1 };

/* states of the map: of a task, and of a cell for one task */
enum {
    CSCHED_MAP_NONE = 0,
    CSCHED_MAP_WAITING = 1, /* for inputs, or for a retry */
    CSCHED_MAP_QUEUED = 2,
    CSCHED_MAP_RUNNING = 3,
    CSCHED_MAP_DONE = 4,
    CSCHED_MAP_FAILED = 5,
    CSCHED_MAP_CANCELLED = 6,
    CSCHED_MAP_LOST = 7,
    CSCHED_MAP_STATES = 8
};

/* A cell for several tasks: in the low 4 bits how many fifteenths are done (0: none, 15: all), and a bit each if any
 * failed or was lost, runs, waits for inputs or a worker, was cancelled. */
enum { CSCHED_CELL_FAILED = 16, CSCHED_CELL_RUNNING = 32, CSCHED_CELL_WAITING = 64, CSCHED_CELL_CANCELLED = 128 };

typedef struct csched_dag csched_dag_t;
typedef struct csched_timeline csched_timeline_t;

typedef struct { /* 64 bytes: one task, or consecutive tasks of one worker */
    uint64_t start, end;
    uint64_t ticket; /* of the first */
    uint32_t count;  /* tasks; an estimate if only a sample was read */
    uint32_t failed; /* with an error, or past their time limit */
    uint32_t cut;    /* cancelled while they ran, or lost with their worker */
    uint16_t worker;
    uint16_t running; /* 1: it still runs, `end` is now */
    uint32_t functions[3]; /* UINT32_MAX: none */
    uint8_t shares[4]; /* fraction of its length in each function, in 255ths; the last: all other functions */
    uint32_t place;  /* index of the span: later data for the same place replaces it */
    uint32_t lost;   /* of the cut ones, those lost with their worker */
} csched_span_t;

typedef struct {
    uint64_t count, sum, median, p95, p99, largest; /* number of tasks, then nanoseconds */
} csched_figure_t;

typedef struct { /* of one function */
    uint32_t function; /* UINT32_MAX: all functions beyond those listed */
    uint32_t lost;     /* of the cut ones, those lost with their worker */
    uint64_t tasks, failed, cut; /* attempts that others follow count in the intervals alone */
    csched_figure_t of[9];
} csched_figures_t;

typedef struct {
    uint64_t now;
    uint64_t fold;      /* number of this fold */
    uint64_t tasks;     /* folded so far of this piece of work */
    uint64_t sampled;   /* of these, covered by a sample only */
    uint64_t dropped;   /* overwritten before they were read; may include earlier work */
    uint64_t forgotten; /* tasks without a span, in pools with very many workers */
    uint64_t threshold; /* shorter spans hold several tasks */
    uint32_t generation; /* changes when the spans' places change */
    uint32_t spans, functions;
    uint32_t behind;    /* 1: there is more to read */
} csched_timeline_state_t;

typedef struct { /* request and answer of csched_state_map */
    uint64_t first, last; /* range of positions: in: wanted, out: covered */
    uint64_t next;     /* positions given so far */
    uint64_t counts[8]; /* of the covered positions, by state */
    uint32_t span;     /* positions per cell, a power of two, at most 65,536 */
    uint32_t cells;    /* written */
} csched_state_map_t;

/* states of tasks in a picture of dependencies */
enum {
    CSCHED_DAG_WAITING = 0,
    CSCHED_DAG_QUEUED = 1,
    CSCHED_DAG_RUNNING = 2,
    CSCHED_DAG_DONE = 3, /* also if its journey was overwritten */
    CSCHED_DAG_FAILED = 4,
    CSCHED_DAG_CANCELLED = 5,
    CSCHED_DAG_SKIPPED = 6, /* an input failed or was cancelled */
    CSCHED_DAG_LOST = 7,    /* with its worker */
    CSCHED_DAG_STATES = 8
};
#define CSCHED_DAG_SEVERAL 4294967295 /* function number: unknown, or several */

typedef struct {
    uint32_t nodes, edges;
    uint32_t partial;   /* 1: the oldest edges of this work were overwritten */
    uint32_t own;       /* nodes of the run, in a picture of one; else all */
    uint64_t structure; /* changes with nodes and edges */
    uint64_t changes;   /* changes with these and with states */
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

typedef struct { /* query of csched_find: all given conditions must hold */
    uint32_t kinds;         /* bit mask of CSCHED_IS_ */
    uint32_t order;         /* CSCHED_BY_ */
    uint32_t by_run, run;   /* by_run 1: only tasks of this run */
    const uint64_t *functions; /* bit set of function numbers: tasks of one of these, */
    uint32_t function_words;
    uint32_t ticket_count;
    const uint64_t *tickets; /* or one of these: tickets, or serial numbers (below 2^32); sorted */
    const uint32_t
        *elements; /* NULL, or of each ticket the element that is meant; both sorted by ticket, then by this */
    uint32_t by_text;       /* 1: `functions` and `tickets` apply */
    uint32_t by_position;   /* 1: only attempts of the task at this position of the map, the latest first */
    uint64_t position;
    uint32_t offset;        /* number of first rows to skip, at most 100,000 */
    uint32_t reserved;
} csched_query_t;

typedef struct { /* 128 bytes: a finished attempt (one row per element), or an unfinished task (one row) */
    csched_journey_t journey; /* unknown stamps are 0; running: `received` is its start */
    uint32_t kind; /* CSCHED_IS_ */
    uint32_t count; /* elements */
    int32_t priority; /* of unfinished tasks */
    uint32_t reserved;
    uint64_t key; /* sort key */
    uint64_t matched; /* in the first row: all that matched, however many rows were asked for; of a position: more */
} csched_row_t;

typedef struct { /* why a task waits, or what else it does */
    uint32_t reason; /* CSCHED_WHY_ */
    uint32_t run, function, count;
    int32_t priority;
    uint32_t worker; /* that has it in its ring or runs it; UINT32_MAX: none */
    uint32_t inputs, missing; /* inputs in all, and those not available yet */
    uint32_t named; /* number of missing inputs listed in `waits_for` */
    uint32_t attempt, retries;
    uint32_t workers, ready; /* workers in all, and those started */
    uint32_t asked; /* 1: delayed until the submitter has decided on its retry */
    uint64_t waits_for[8]; /* tickets */
    uint64_t higher; /* queued: elements before it, of a higher priority, */
    uint64_t same;   /* of its own run, */
    uint64_t others; /* and of other runs of the same priority, with which it takes turns */
    uint64_t ahead; /* sent: tasks before it in that worker's ring */
    uint32_t moves; /* sent: 1: a worker that gets idle takes it over */
    uint64_t ticket; /* sent: the task that runs there now, 0: none */
    uint64_t since; /* start of that task, or of this one; or when this one became ready */
    uint64_t until; /* delayed until then */
    uint32_t resource; /* that it waits for */
    uint32_t holder_count; /* number of tasks in `holders`, which hold some of the resource */
    uint64_t wanted, used, total; /* of it */
    uint64_t holders[8]; /* tickets of some of them, */
    uint64_t all_holders; /* of so many */
    uint64_t first; /* the task that gets some before it and asks for `first_wanted`; 0: none */
    uint64_t first_wanted;
} csched_why_t;

typedef struct { /* where the time of workers went, in one run or piece of work: nanoseconds */
    uint64_t began, ended; /* when the first task was submitted, when the last one ended on its worker; 0: none */
    uint64_t capacity;     /* of all workers between the two: their number times the time, as it was */
    uint64_t busy;         /* of that, in user code; a chunk's elements count as one stretch */
    uint64_t wasted;       /* part of `busy`: attempts that were retried, lost, or stopped */
    uint64_t handling;     /* loading arguments, packing results */
    uint64_t others;       /* on tasks of other runs */
    uint64_t head, tail;   /* of a piece of work: idle before each worker's first task, after its last, */
    uint64_t unused;       /* and on workers that had none */
    uint64_t longest, longest_ticket; /* the longest task, or chunk */
    uint64_t span, span_ticket; /* run time of the longest chain of tasks, each taking the one before it; its end */
    uint64_t tasks;        /* attempts that ran, elements of chunks one by one */
    uint64_t chunks;       /* of these, elements that did not travel alone */
    uint64_t asked;        /* of these, tasks that asked for resources */
    uint64_t sent, received; /* bytes of arguments and of results of tasks that ended, packed; of a chunk as a whole */
    uint64_t outstanding; /* of one run: elements of tasks that are not over; a map may hold more back */
    uint32_t span_tasks;
    uint32_t
        partial; /* 1: some inputs were over so long ago that their chains are not known: `span` is at least that */
} csched_account_t;

enum { /* why a worker had no task */
       CSCHED_IDLE_UNUSED = 0, /* there was none for it at all */
       CSCHED_IDLE_SUBMISSION = 1, /* the next one was not yet submitted */
       CSCHED_IDLE_PACKING = 2, /* the same, while the kernel packed arguments */
       CSCHED_IDLE_DELIVERY = 3, /* one was ready and had not reached it */
       CSCHED_IDLE_CHAIN = 4, /* those that were left waited for results of others */
       CSCHED_IDLE_IMBALANCE = 5, /* those that were left ran on other workers, or were queued there */
       CSCHED_IDLE_LAST = 6, /* the same, with one that ran and no other left */
       CSCHED_IDLE_HELD = 7, /* those that were ready had to wait for resources, or for the end of a pause */
       CSCHED_IDLE_REASONS = 8
};

typedef struct { /* how many workers there are from a moment on */
    uint64_t at;
    uint32_t count;
    uint32_t reserved;
} csched_workers_t;

typedef struct { /* one attempt of a task, or chunk, on its way; nanoseconds on one clock */
    uint64_t packed; /* when the kernel began to pack its arguments, or `submitted` */
    uint64_t submitted, ready, dispatched, received, returned;
    uint32_t worker;
    uint16_t again; /* 1: an earlier attempt failed; this one is there since it was ready */
    uint16_t held; /* 1: it was ready and had to wait for resources, or for the end of a pause */
} csched_spell_t;

enum { CSCHED_RUN_STEPS = 672 };

typedef struct { /* what the tasks of a run took that ended by themselves, also with an error: nanoseconds */
    uint64_t tasks; /* elements of chunks one by one */
    uint64_t waited, queued, delivered; /* for inputs, for a worker, on the way there: sums over these */
    uint64_t unpacked, packed, pickled; /* of chunks once: arguments, results, and arguments in the kernel */
    uint64_t ran;
} csched_run_times_t;

typedef struct { /* tasks that ran for `start` to `end` nanoseconds, a range of a sixteenth of an octave */
    uint64_t start, end, count;
} csched_run_step_t;

enum { CSCHED_SLOWEST = 10 };

typedef struct { /* one of the tasks that ran longest, 40 bytes */
    uint64_t ticket, ran; /* nanoseconds in user code */
    uint64_t size; /* of its payload */
    uint32_t function;
    uint32_t element; /* of a chunk; 2^32-1: it is none */
    uint32_t status;
    uint32_t kept; /* 1: csched_slow_payload has the payload */
} csched_slow_t;

typedef struct { /* what is still to be done of one function */
    uint32_t function;
    uint32_t tasks; /* unfinished */
    uint64_t outstanding; /* elements of these */
    uint64_t ran, spent; /* elements that ended on workers, and nanoseconds there, of its latest run */
} csched_backlog_t;

typedef struct { /* an uncommitted task */
    uint64_t ticket;
    uint64_t address, size; /* failed: its payload, valid until its commit */
    uint32_t run, function, worker, attempt;
} csched_ended_t;

/* The graph of tasks with inputs or dependents, for drawing: at least the newest 65,536 edges. A csched_dag_t is used
 * by one thread at a time and freed before its scheduler; csched_dag_look takes milliseconds and is called without the
 * GIL. */
/* logs inputs that were over and whose values travel with the task */
int csched_depended(csched_t *s, uint64_t ticket, uint32_t function, const uint64_t *inputs, uint32_t count);
int csched_dag_open(csched_t *s, csched_dag_t **dag);
int csched_dag_close(csched_dag_t *dag);
/* `since`: only tasks with later serial numbers and their inputs; 0: all */
int csched_dag_look(csched_dag_t *dag, uint32_t since, csched_dag_info_t *info);
/* Makes `part` the edges of `dag` that begin or end at a task of that run, with the nodes at their ends. */
int csched_dag_of_run(const csched_dag_t *dag, uint32_t run, csched_dag_t *part, csched_dag_info_t *info);
/* Fills one element of each column per node; NULL: not wanted. Inputs precede their dependents; the depth is the
 * longest path from a task without inputs. */
int csched_dag_nodes(const csched_dag_t *dag, uint64_t *tickets, uint32_t *functions, uint32_t *depths, uint8_t *states,
                     float *seconds);
int csched_dag_edges(const csched_dag_t *dag, uint32_t *pairs); /* positions of the nodes: from, to */
/* Folds nodes into at most `most` groups: by function and depth, or by ranges of 2, 4, 8... depths (`span`) if those
 * are too many. The arrays belong to `dag` and are valid until the next look or fold. */
int csched_dag_fold(csched_dag_t *dag, uint32_t most, const csched_dag_group_t **groups, uint32_t *group_count,
                    const csched_dag_link_t **links, uint32_t *link_count, uint32_t *span);

/* The journeys of one piece of work, folded for views. Used by one thread at a time, any one. A call holds the
 * scheduler's lock for well below a millisecond at a time. */
int csched_timeline_open(csched_timeline_t **timeline);
int csched_timeline_close(csched_timeline_t *t);
/* starts again: tasks submitted since then, of one run or (CSCHED_EVERY_RUN) all */
int csched_timeline_begin(csched_timeline_t *t, csched_t *s, uint64_t since, int64_t run);
/* folds journeys recorded since the last fold */
int csched_timeline_fold(csched_timeline_t *t, csched_t *s, csched_timeline_state_t *state);
/* Returns the number of spans that changed after fold `after`; UINT64_MAX: all */
int csched_timeline_spans(const csched_timeline_t *t, uint64_t after, uint32_t most, csched_span_t *spans);
int csched_timeline_figures(const csched_timeline_t *t, uint32_t most, csched_figures_t *figures);
/* Fills the histogram of an interval of one function's tasks, in at most `most` bars; returns their number. Bar i has
 * counts[i] tasks of edges[i] to edges[i + 1] nanoseconds, the last edge one more than the largest of the last bar. */
int csched_timeline_histogram(const csched_timeline_t *t, uint32_t function, uint32_t interval, uint32_t most,
                              uint64_t *edges, uint64_t *counts);
/* one span per running task of that run */
int csched_timeline_running(csched_t *s, int64_t run, uint32_t most, csched_span_t *spans);
/* One span for each task of that run that ran between these times and whose journey is kept; if there are more than `most`, an even
 * selection. `found`: their number */
int csched_timeline_window(csched_t *s, int64_t run, uint64_t from, uint64_t to, uint32_t most, csched_span_t *spans,
                           uint64_t *found);

/* If all tasks are over, the next one begins a new piece of work: what csched_account says of EVERY_RUN is about that and what follows. */
int csched_account_begin(csched_t *s);
/* of one run, whose number must not have been closed long ago, or (CSCHED_EVERY_RUN) the present piece of work */
int csched_account(csched_t *s, int64_t run, csched_account_t *account);
/* bytes that tasks of this function moved in the present piece of work, as `sent` and `received` in csched_account_t */
int csched_account_moved(csched_t *s, uint32_t function, uint64_t *sent, uint64_t *received);
/* counts bytes that a task of this run and function has moved, and that are not in its payloads */
int csched_account_add(csched_t *s, uint32_t run, uint32_t function, uint64_t sent, uint64_t received);
/* What the tasks of a run took that has not been closed: their sums, and how many ran how long, the shortest first, in
 * at most CSCHED_RUN_STEPS steps; returns the number of steps. */
int csched_run_times(csched_t *s, uint32_t run, csched_run_times_t *sums, csched_run_step_t *steps);
/* The longest chain that ends with this task, backwards, as far as it is kept; returns the number of its tasks. */
int csched_account_chain(csched_t *s, uint64_t ticket, uint32_t most, uint64_t *tickets, uint32_t *functions);

/* Adds up why workers had no task from the beginning of the present piece of work to `ended`, by the stamps of its attempts
 * (the chunks of a map, single calls): CSCHED_IDLE_REASONS sums of nanoseconds. Called without the GIL: 0.6 us an attempt
 * at most. CSCHED_ESTALE: there are more than 262,144 attempts, it is not known how many workers there were, or another
 * piece of work has begun. */
int csched_idle(csched_t *s, uint64_t began, uint64_t ended, uint64_t *idle);
/* The same of given attempts and workers: from the times of `workers` on there are so many. */
int csched_idle_of(const csched_spell_t *spells, uint64_t count, const csched_workers_t *workers, uint32_t changes,
                   uint64_t began, uint64_t ended, uint64_t *idle);

/* Fills `slow` with the at most CSCHED_SLOWEST tasks that ran longest in the present piece of work, elements of chunks one
 * by one, the longest first; returns their number. */
int csched_slowest(csched_t *s, csched_slow_t *slow);
/* Returns the payload size of one of them, and copies the payload if `room` suffices; CSCHED_EINVAL: it is not kept. */
int64_t csched_slow_payload(csched_t *s, uint64_t ticket, uint32_t element, void *data, uint64_t room);

/* Functions with unfinished tasks; returns their number, at most `most`. */
int csched_backlogs(csched_t *s, uint32_t most, csched_backlog_t *backlogs);

/* the state map: one byte per task, or element of a chunk, in the order of submission; the newest 4,194,304 */
/* to be called without the GIL */
int csched_state_map(csched_t *s, csched_state_map_t *wanted, uint8_t *cells, uint32_t most);
uint64_t csched_state_map_next(csched_t *s); /* positions given so far */
/* The same of one run: `first`, `last` and `next` count its tasks, in the order of submission. Its oldest tasks are
 * forgotten early if it takes turns with others in more than 262,144 stretches. */
int csched_state_map_of_run(csched_t *s, uint32_t run, csched_state_map_t *wanted, uint8_t *cells, uint32_t most);
/* the position of a run's task by its number in that run, from 0; 2^64-1: unknown, or forgotten */
uint64_t csched_state_map_position(csched_t *s, uint32_t run, uint64_t place);
/* for tasks of a run (2^32-1: none) that are never submitted */
int csched_state_map_add(csched_t *s, uint32_t run, uint32_t count, uint32_t state);
/* Sets outcomes that the scheduler does not see: of elements within a chunk. */
int csched_state_map_set(csched_t *s, uint64_t position, uint32_t count, uint32_t state);
uint64_t csched_task_position(csched_t *s, uint32_t slot); /* position of its first element; 2^64-1: no such task */
/* Encodes cells by PackBits: n < 128 is followed by n + 1 cells, n > 128 by one cell repeated 257 - n times. Returns
 * the bytes written, at most count + count / 128 + 1. */
uint32_t csched_state_map_pack(const uint8_t *cells, uint32_t count, uint8_t *packed);

/* Queries for views. They read all records in steps that hold the lock for well below a millisecond, so different tasks
 * are seen at slightly different times. Called without the GIL. */
/* returns the number of rows, best first */
int csched_find(csched_t *s, const csched_query_t *query, uint32_t most, csched_row_t *rows);
int csched_why(csched_t *s, uint64_t ticket, csched_why_t *why);
/* For tasks that have not begun.  Returns 1, or the number of elements of a run; 0: too late. */
int csched_set_priority(csched_t *s, uint64_t ticket, int32_t priority);
int64_t csched_set_run_priority(csched_t *s, uint32_t run, int32_t priority);
int csched_ended(csched_t *s, uint32_t slot, csched_ended_t *ended);
/* Returns the payload size of an unfinished task, and copies the payload if `room` suffices. */
int64_t csched_payload(csched_t *s, uint64_t ticket, void *data, uint64_t room);
/* The same of a single task that may be over, if a copy of its payload is kept: of the first short calls of a piece of
 * work, and those that its first dependencies link. */
int64_t csched_kept_call(csched_t *s, uint64_t ticket, void *data, uint64_t room);
/* cffi: end */

#endif
