/* csched: the Cellmill task scheduler.
 *
 * One process, the kernel, owns a csched_t; every worker process owns a csched_worker_t.  They share memory
 * through unnamed memfds (layout.h).  The region between the cffi marks, here and in csched_views.h, is all that Python
 * sees.
 *
 * Conventions: functions return 0 (or a count) or a negative CSCHED_E code; values come back through the last
 * pointers.  Times are CLOCK_MONOTONIC nanoseconds.  All csched_* functions on one csched_t may be called from
 * any thread at once; the csched_worker_* functions belong to the worker's main thread, unless they say otherwise.
 */
#ifndef CSCHED_H
#define CSCHED_H

#include <stddef.h>
#include <stdint.h>

#define CSCHED_EXPORT __attribute__((visibility("default")))

/* cffi: begin */
enum {
    CSCHED_OK = 0,
    CSCHED_EINVAL = -1,    /* an invalid argument */
    CSCHED_ENOMEM = -2,    /* no memory for the scheduler's own structures */
    CSCHED_EFULL = -3,     /* the memory for payloads is full: wait for tasks to end, or spill to a file */
    CSCHED_ESTALE = -4,    /* an input has been collected meanwhile: send its value along instead */
    CSCHED_ESYSTEM = -5,   /* a system call failed: errno tells which */
    CSCHED_ECORRUPT = -6,  /* shared memory does not hold what it must */
    CSCHED_EAGAIN = -7,    /* interrupted by a signal, or nothing available yet */
    CSCHED_ESTOPPED = -8,  /* the scheduler or the worker is shutting down */
    CSCHED_ETOOBIG = -9,   /* larger than its destination can ever hold */
    CSCHED_EDISK = -10,    /* memory is full, and the disk too */
    CSCHED_EOUTPUT = -11    /* native code has written to the worker's pipes: read it, then publish again */
};

/* how a task ended */
enum {
    CSCHED_VALUE = 0,      /* a pickled value */
    CSCHED_NONE = 1,       /* the value None: no payload */
    CSCHED_ERROR = 2,      /* a pickled exception */
    CSCHED_LOST = 3,       /* its worker died while running it */
    CSCHED_CANCELLED = 4,  /* cancelled before it ran, or stopped */
    CSCHED_DEPENDENCY = 5, /* an input failed or was cancelled: detail is its position */
    CSCHED_TIMEOUT = 6,    /* stopped at its time limit */
    CSCHED_NOROOM = 7,     /* no room for its inputs in memory or on disk */
    CSCHED_RETRIED = 8,    /* in journeys: an attempt that failed, and another one followed */
    CSCHED_PINS = 256     /* or-ed to the status that a worker publishes: it still reads the task's inputs in place */
};

/* kinds of csched_item_t */
enum { CSCHED_TASK = 1, CSCHED_FUNCTION = 2, CSCHED_CONTROL = 3 }; /* a function of 0 bytes: forget it */

/* kinds of csched_message_t */
enum {
    CSCHED_OUTPUT = 1,  /* all that a task printed is in its worker's pipe */
    CSCHED_PARTIAL = 2, /* results of the first elements of a chunk that still runs */
    CSCHED_REPLY = 3,   /* the worker's answer to a control entry */
    CSCHED_UNPIN = 5,   /* the worker no longer reads the inputs of task `ticket` in place; not passed to Python */
    CSCHED_OVERDUE =
        4, /* a task exceeded its time limit on worker `worker`; ticket 0: that worker's memory is corrupt */
    CSCHED_ATTEMPT = 6  /* an attempt failed with status `detail`: answer by csched_retry or csched_give_up */
};

enum { CSCHED_STAGES = 8 };

typedef struct csched csched_t;
typedef struct csched_worker csched_worker_t;
typedef struct csched_lane csched_lane_t;
typedef struct {
    uint64_t ring_bytes;    /* of each ring, a power of two; 0: 262,144 */
    uint64_t arena_bytes;   /* the most that one process may hold in payload blocks; 0: the machine's memory */
    uint64_t journey_rows;  /* finished tasks whose stamps are kept, a power of two; 0: 262,144 */
    uint32_t spin_us;       /* how long a waiting kernel thread polls before it sleeps */
    uint32_t helper;        /* 1: start the helper thread */
    uint64_t file_bytes;    /* the most that one process may hold in its file; 0: 128 GiB */
    uint64_t worker_tasks;  /* a worker retires after so many tasks; 0: no limit */
    uint64_t window_ns;     /* work to send ahead to each worker; 0: 2 ms */
    uint32_t window_most;   /* and at most so many tasks; 0: 1,024 */
} csched_config_t;

typedef struct { /* an amount of a resource (memory, a gpu, a licence), in units of the caller's choice */
    uint32_t resource; /* below 64 */
    uint32_t reserved;
    uint64_t amount;
} csched_need_t;

typedef struct {
    uint64_t total, used;
    uint64_t holders; /* tasks that have some now */
} csched_resource_t;

typedef struct { /* further arguments of csched_submit_with */
    const uint64_t *inputs; /* tickets of the tasks whose results this one takes, in order */
    uint32_t input_count;
    uint32_t failed;   /* 1 + the place of an input that failed and is not known here any more; 0: none */
    uint32_t count;    /* elements of a chunk, else 1 */
    int32_t priority;  /* -100 .. 100, larger runs first */
    uint32_t retries;  /* how often a task that failed or was lost starts again, at most 255 */
    uint64_t timeout_ns; /* 0: none; counted from when the worker takes it */
    uint64_t block;    /* payload in a kernel block at this offset; UINT64_MAX: inline */
    uint64_t not_before; /* earliest start; 0: at once */
    uint32_t attempt;  /* number of earlier attempts, for its journey */
    uint32_t ask;      /* 1: after each failed attempt that is not the last, CSCHED_ATTEMPT asks what to do; 2: the
                        * submitter, who may send it again, counts what was submitted, before this call, and what
                        * failed or was lost (csched_run_adjust) */
    uint64_t position; /* 1 + its position in the state map if it was submitted before; 0: a new position */
    uint32_t beside; /* a second function that its worker must have (csched_function_needs); 0: none */
    uint32_t warm;   /* 1 + the worker that has what its arguments refer to, which is preferred; 0: none known */
    uint32_t need_count;
    uint64_t stays;  /* bytes of it that other workers have to fetch from that one */
    const csched_need_t *needs; /* held from its dispatch until each attempt ends; at most 8, of different resources */
} csched_options_t;

typedef struct { /* tasks for csched_submit_many; `..._ends`: where the part of each task ends in the shared array */
    uint32_t count;
    uint32_t run;
    int32_t priority;
    uint32_t reserved;
    const uint32_t *slots;
    const uint32_t *functions; /* NULL: the function is in the payload */
    const uint64_t *input_ends; /* NULL: no inputs */
    const uint64_t *inputs; /* tickets, or positions of earlier tasks in this batch */
    const uint64_t *data_ends; /* NULL: no payloads */
    const void *data; /* payloads, inline */
    uint64_t *tickets; /* out: one for each task */
} csched_batch_t;

typedef struct { /* a finished task, 56 bytes, read by struct.unpack in Python: keep in step with FORMAT there */
    uint32_t slot;
    uint16_t status;
    uint16_t worker;
    uint32_t detail; /* CSCHED_DEPENDENCY: position of the input; CSCHED_LOST: the element that ran; else failures */
    uint32_t count;
    uint64_t blob; /* CSCHED_LOST, CSCHED_TIMEOUT: the arguments; to be retained if views outlive the commit */
    uint64_t address; /* of the payload in this process */
    uint64_t size;
    uint64_t run_ns; /* from start to finish of user code; CSCHED_TIMEOUT: the limit */
    uint32_t function;
    uint32_t run;
} csched_completion_t;

typedef struct {
    uint32_t kind;
    uint32_t worker;
    uint32_t slot;
    uint32_t detail; /* CSCHED_OUTPUT: unused; PARTIAL: elements; REPLY: the request's number */
    uint32_t run; /* of the task */
    uint32_t function; /* CSCHED_ATTEMPT: of the task */
    uint64_t ticket;
    uint64_t blob;
    uint64_t address;
    uint64_t size;
    uint64_t limit_ns; /* CSCHED_ATTEMPT, CSCHED_OVERDUE: the time limit of the task */
} csched_message_t;

typedef struct { /* 96 bytes: one row of the journey ring */
    uint64_t ticket;
    uint32_t run;
    uint32_t function;
    uint32_t element; /* position within its chunk */
    uint16_t worker;
    uint8_t status;
    uint8_t attempt;
    uint64_t stamps[8]; /* submitted ready dispatched received started finished returned resolved; 0: unknown */
    float pack_ns; /* time spent pickling in the kernel */
    uint32_t position; /* in the map, its lower half: in the order of submission */
} csched_journey_t;

typedef struct {
    uint64_t submitted, waiting, queued, running, succeeded, failed, cancelled;
    uint64_t arena_used, arena_size; /* of the kernel's memory for payloads */
    uint64_t file_used, file_size; /* of its file */
    uint64_t journeys, completions;
    uint32_t workers, ready_workers;
    uint64_t stopping; /* running tasks that were cancelled and are not over yet */
    uint64_t lost; /* of the failed ones, those whose worker ended */
    uint64_t parked; /* of the waiting ones, those that are ready and wait for resources */
} csched_stats_t;

typedef struct {
    uint64_t submitted, succeeded, failed, cancelled;
    uint64_t stopping; /* cancelled, still running, and not counted as cancelled yet */
    uint64_t lost; /* of the failed ones, those whose worker ended */
} csched_run_t;

typedef struct { /* a running task that shall end */
    uint64_t ticket;
    uint64_t since; /* when its worker took it */
    uint32_t worker;
    uint32_t element; /* the one element of a chunk that shall end; 2^32-1: the whole task */
    uint32_t attempt; /* of the task; a later one is not meant */
} csched_target_t;

typedef struct {
    uint32_t state; /* 0 free, 1 starting, 2 ready, 3 lost */
    uint32_t held; /* tasks in its ring, the running one included */
    uint64_t ticket; /* of the running task, 0: none */
    uint64_t since; /* start of that task */
    uint32_t run, function, element; /* of it */
    uint32_t stopping; /* 1: that task is to end */
    uint64_t finished; /* tasks so far */
    uint64_t asked; /* of resource 0, memory, by the running task */
    uint32_t count; /* its elements */
    uint32_t attempt; /* of it */
} csched_worker_info_t;

typedef struct { /* result of csched_worker_next; valid until its next call */
    uint32_t kind, slot, function, count;
    uint64_t ticket;
    uint64_t address, size; /* of the payload */
    uint32_t inputs; /* results of other tasks that it takes */
    uint32_t flags;
} csched_item_t;

/* A task, function or request in a pack, 48 bytes: keep in step with PACKED in Python. Its payload is in the pack's
 * data at `at`. The inputs of a task follow at the next multiple of 8, each as: status (4 bytes), 4 bytes of 0, size
 * (8), payload, padding to a multiple of 8. */
typedef struct {
    uint32_t kind; /* CSCHED_TASK, CSCHED_FUNCTION, CSCHED_CONTROL */
    uint32_t function; /* of a request: its number */
    uint64_t ticket;
    uint32_t count, inputs;
    uint32_t alone; /* 1: the only task of its pack */
    uint32_t reserved;
    uint64_t at, size;
} csched_packed_t;

typedef struct { /* an outcome from a lane's worker, 64 bytes: keep in step with OUTCOME in Python */
    uint32_t kind; /* CSCHED_TASK: for the oldest open task; CSCHED_CONTROL: reply to request `failures` */
    uint32_t status;
    uint32_t failures;
    uint32_t marks; /* number of element start times, 8 bytes each, that precede the result */
    uint64_t ticket;
    uint64_t size; /* of the result */
    uint64_t received, started, finished; /* by the remote clock */
    uint64_t stays; /* bytes of its value that other places have to fetch from this one, the result being a reference */
} csched_outcome_t;

typedef struct { /* a part of what belongs to outcomes; one result may be in several */
    const void *data;
    uint64_t size;
} csched_part_t;

/* errors */
const char *csched_error_name(int code);

/* kernel side: life cycle */
int csched_create(const csched_config_t *config, csched_t **scheduler);
int csched_close(csched_t *s); /* takes no more tasks; submitted ones go on */
int csched_close_idle(csched_t *s); /* the same if all that was submitted is over; CSCHED_EAGAIN: it is not */
int csched_stop(csched_t *s); /* takes no more tasks and retires its workers; payloads stay readable */
int csched_destroy(csched_t *s); /* stops and unmaps everything: no view of a payload may exist any more */
int csched_forked(csched_t *s); /* in a forked child: releases everything except payloads with views */
int csched_set_policy(csched_t *s, const char *name);
int csched_stats(csched_t *s, csched_stats_t *stats);
uint64_t csched_now(void);
uint64_t csched_context_digest(void); /* changes with this process's directory or environment */

/* workers: fds = segment, doorbell, control socket, arena (all close-on-exec, to be passed on and closed) */
int csched_worker_add(csched_t *s, uint32_t *index, int fds[4]);
int csched_passed_close(int fds[4]); /* those of them that are open; -1 after */
int csched_worker_lost(csched_t *s, uint32_t index); /* its process is dead: its tasks go to others */
int csched_worker_retire(csched_t *s, uint32_t index); /* no new work; it ends when its ring is empty */
int csched_worker_info(csched_t *s, uint32_t index, csched_worker_info_t *info);
/* see stop.c; 1: kill it */
int csched_worker_condemn(csched_t *s, uint32_t index, uint64_t ticket, uint32_t attempt, uint32_t element);
/* the kernel reads its native output: the worker reports the task's end */
int csched_worker_output_read(csched_t *s, uint32_t index, uint64_t ticket);
/* Takes (1) or gives up (0) the right to read this worker's native output; returns 1 if the caller has it. The worker
 * writes frames only while it has the turn, so that frames and native output keep their order. */
int csched_output_turn(csched_t *s, uint32_t index, int take);
int csched_control(csched_t *s, uint32_t index, uint32_t number, const void *data, uint64_t size);
/* The same of request 0, for what replaces an earlier one of its topic: where the ring is full it is kept, and precedes
 * the worker's next task. */
int csched_control_latest(csched_t *s, uint32_t index, uint32_t topic, const void *data, uint64_t size);
/* Tells all workers, those that come later too, what samples of their stacks are wanted, in a word that this code does
 * not interpret; 0: none. They see it at once, also in the middle of a task. */
int csched_profile(csched_t *s, uint32_t wanted);

/* functions and payload blocks */
int csched_function_add(csched_t *s, const void *data, uint64_t size, uint64_t block, uint32_t *function);
int csched_function_drop(csched_t *s, uint32_t function); /* takes no new tasks; freed with its last task */
/* Declares that a function just added refers to earlier ones, which are sent to workers first. It is dropped with any
 * of them. A function of 0 bytes only groups its needs. */
int csched_function_needs(csched_t *s, uint32_t function, const uint32_t *needs, uint32_t count);
/* number of tasks and functions that use it; CSCHED_ESTALE: it was freed */
int64_t csched_function_users(csched_t *s, uint32_t function);
int csched_block_alloc(csched_t *s, uint64_t size, uint64_t *offset, uint64_t *address);
int csched_block_spill(csched_t *s, uint64_t size, uint64_t *offset, uint64_t *address); /* in the file: may block */
int csched_block_fill(csched_t *s, uint64_t at, const void *data, uint64_t size); /* `at` may be inside a block */
int csched_block_free(csched_t *s, uint64_t offset);

/* tasks: the caller manages slots; a slot may be used again after its commit */
int csched_reserve(csched_t *s, uint32_t slots); /* makes slots 0 .. slots-1 usable */
int64_t csched_submit(csched_t *s, uint32_t slot, uint32_t function, uint32_t run, const void *data, uint64_t size,
                      uint64_t pack_ns); /* the task's ticket, or an error */
int64_t csched_submit_block(csched_t *s, uint32_t slot, uint32_t function, uint32_t run, uint64_t block, uint64_t size,
                            uint64_t pack_ns); /* its payload is in a kernel block */
int64_t csched_submit_with(csched_t *s, uint32_t slot, uint32_t function, uint32_t run, const void *data, uint64_t size,
                           uint64_t pack_ns, const csched_options_t *options);
/* Number of tasks submitted, in order; an error code if the first one failed. Call it without the GIL. */
int csched_submit_many(csched_t *s, const csched_batch_t *batch);
int csched_cancel(csched_t *s, uint64_t ticket); /* 1: it will not run; 0: too late */
int csched_cancel_run(csched_t *s, uint32_t run); /* number of cancelled tasks */
int csched_cancel_all(csched_t *s);
int csched_task_state(csched_t *s, uint64_t ticket); /* 0 unknown or over, 1 waiting, 2 queued, 3 running, 4 stopping */
uint32_t csched_task_run(csched_t *s, uint64_t ticket); /* UINT32_MAX: it has no run, or is over */
uint32_t csched_serial(csched_t *s); /* of the latest ticket: its upper half */

/* stopping: cancels tasks that have not begun and marks running ones, which the caller then signals (stop.c) */
int csched_stop_task(csched_t *s, uint64_t ticket, csched_target_t *target); /* 1: cancelled; 2: it runs; 0: over */
/* Returns the number of targets. `after`: only tasks with later serial numbers, 0: all; `cancelled`: number of tasks
 * that had not begun */
int csched_stop_run(csched_t *s, uint32_t run, uint32_t after, csched_target_t *targets, uint32_t most,
                    uint32_t *cancelled);
/* After CSCHED_OVERDUE. 1: it runs and is marked; `element` of a chunk, 2^32-1: the whole task, if this attempt of it is
 * past its limit */
int csched_interrupt(csched_t *s, uint64_t ticket, uint32_t element, csched_target_t *target);
/* 1: signal again; 0: the worker raised; CSCHED_EAGAIN: the attempt, or this element, is over */
int csched_unheard(csched_t *s, uint64_t ticket, uint32_t attempt, uint32_t element);

/* answers to CSCHED_ATTEMPT */
int csched_retry(csched_t *s, uint64_t ticket, uint64_t delay_ns);
int csched_give_up(csched_t *s, uint64_t ticket, uint32_t status); /* it ends with this status, without a payload */
int csched_task_worker(csched_t *s, uint64_t ticket); /* the worker that runs it, or -1 */
int csched_pause(csched_t *s, int on);

/* Sets the total of a resource, initially 0. CSCHED_EINVAL: an unfinished task asks for more. */
int csched_resource_set(csched_t *s, uint32_t resource, uint64_t total);
int csched_resource_info(csched_t *s, uint32_t resource, csched_resource_t *info);

/* results: peek by collect, settle, then commit the same number. One collector at a time. */
int csched_poll(csched_t *s, uint32_t spin_us); /* drains; returns the number of available completions and messages */
int csched_wait(csched_t *s, uint32_t timeout_ms); /* the same, sleeping; call it without the GIL */
/* the same for one task: other results wake it only if tasks depend on them, or after some milliseconds */
int csched_wait_for(csched_t *s, uint64_t ticket, uint32_t timeout_ms);
/* sleeps until results have been uncollected for a while, or with `prompt` until there are some; a thread that polls or waits
 * ends the latter */
int csched_wait_background(csched_t *s, uint32_t timeout_ms, uint32_t prompt);
int csched_collect(csched_t *s, uint32_t most, csched_completion_t *completions);
int csched_commit(csched_t *s, uint32_t count);
/* collect and commit in one, without results: fills in the freed slots */
int csched_discard(csched_t *s, uint32_t most, uint32_t *slots);
int csched_messages(csched_t *s, uint32_t most, csched_message_t *messages);
int csched_messages_commit(csched_t *s, uint32_t count);
int csched_blob_retain(csched_t *s, uint64_t blob);
int csched_blob_release(csched_t *s, uint64_t blob);

/* Makes a part of a payload, in whole pages, writable for one holder: at `mapped`, until csched_disown, which drops the
 * written pages. On an error the caller copies instead. `payload` is unused: a finalizer that passes it keeps the
 * payload alive until then. */
int csched_own(csched_t *s, uint64_t address, uint64_t size, uint64_t *mapped);
int csched_disown(csched_t *s, const char *payload, uint64_t address, uint64_t size, char *mapped);
int csched_wake(csched_t *s); /* wakes every waiting thread */

/* runs and journeys */
int csched_run_open(csched_t *s, uint32_t *run);
int csched_run_counts(csched_t *s, uint32_t run, csched_run_t *counts);
int csched_run_adjust(csched_t *s, uint32_t run, int64_t submitted, int64_t succeeded, int64_t failed,
                      int64_t cancelled, int64_t lost);
int csched_run_close(csched_t *s, uint32_t run);
int csched_journeys(csched_t *s, uint64_t *cursor, uint32_t most, csched_journey_t *rows, uint64_t *dropped);
/* The newest rows, oldest first; the last stamp is 0 where the result is not taken yet, which the other one leaves out. */
int csched_journeys_newest(csched_t *s, uint32_t most, csched_journey_t *rows);

/* Sets the status of elements of a finished, uncommitted chunk in its journeys; only their results tell it. One without
 * a value has one row, which CSCHED_RETRIED marks as an attempt that others follow, and CSCHED_CANCELLED as cancelled. */
int csched_mark_elements(csched_t *s, uint32_t slot, uint32_t status, const uint32_t *elements, uint32_t count);
/* Of a finished, uncommitted chunk without a value, with one row: that row is of so many elements from this one on, and
 * the first ones, which had ended before, get rows of their own with their statuses and without times. */
int csched_elements_ended(csched_t *s, uint32_t slot, uint32_t element, uint32_t count, const uint32_t *statuses,
                          uint32_t ended);

/* worker side */
int csched_worker_attach(const int fds[4], csched_worker_t **worker);
int csched_worker_detach(csched_worker_t *w);
/* starts the thread that ends this process with the kernel */
int csched_worker_watch(csched_worker_t *w, int kernel_pidfd);
/* The same for a process that is no worker, and all below it: so long after the end of the process that the descriptor
 * means, for what it does about that itself. A folder ("": none) is removed then. It keeps the descriptor. */
int csched_end_with(int pidfd, uint64_t grace_ns, const char *folder);
int csched_worker_forks(csched_worker_t *w, int begins); /* 1 before a task forks a child, 0 after it in the worker */
int csched_worker_forked(csched_worker_t *w); /* in a child forked by a task: what it publishes is discarded */
int csched_worker_ready(csched_worker_t *w);
int csched_worker_next(csched_worker_t *w, uint32_t spin_us, uint32_t timeout_ms, csched_item_t *item);
int csched_worker_await(csched_worker_t *w, uint32_t timeout_ms); /* CSCHED_OK: csched_worker_next may find an item */
int csched_worker_input(csched_worker_t *w, uint32_t position, uint32_t *status, uint64_t *address, uint64_t *size);
int csched_worker_started(csched_worker_t *w); /* stamp: user code begins, all inputs are unpickled */
int csched_worker_finished(csched_worker_t *w); /* stamp: user code is over */
int csched_worker_element(csched_worker_t *w, uint32_t element); /* the element that begins now; 2^32-1: none */
uint64_t csched_worker_since_flush(csched_worker_t *w); /* ns since this task's last result or start */
int csched_worker_alloc(csched_worker_t *w, uint64_t size, uint64_t *offset, uint64_t *address);
int csched_worker_spill(csched_worker_t *w, uint64_t size, uint64_t *offset, uint64_t *address); /* in the file */
int csched_worker_fill(csched_worker_t *w, uint64_t at, const void *data, uint64_t size);
int csched_worker_free(csched_worker_t *w, uint64_t offset);
/* See csched_own; on errors `mapped` is where the caller copies from: in the payload's place another may have written. */
int csched_worker_own(csched_worker_t *w, uint64_t address, uint64_t size, uint64_t *mapped);
int csched_worker_disown(csched_worker_t *w, uint64_t address, uint64_t size, char *mapped);
/* ends what CSCHED_PINS began, for a task or a function */
int csched_worker_unpin(csched_worker_t *w, uint64_t ticket);
/* Publishes the result of the current task. 1: it has a result already; a block stays the caller's. A task with neither
 * payload nor inputs starts when it is received; without csched_worker_finished it finishes here. */
int csched_worker_publish(csched_worker_t *w, uint32_t status, uint32_t failures, const void *data, uint64_t size,
                          uint64_t block);
/* publish, then next, with one clock reading for both; CSCHED_EFULL: no room for the result, call it again */
int csched_worker_turn(csched_worker_t *w, uint32_t status, uint32_t failures, const void *data, uint64_t size,
                       uint64_t block, uint32_t spin_us, uint32_t timeout_ms, csched_item_t *item);
int csched_worker_emit(csched_worker_t *w, uint32_t kind, uint32_t detail, const void *data, uint64_t size,
                       uint64_t block);
/* Emits CSCHED_PARTIAL: outcomes of elements of the current chunk before `end`; `failures` of all these have failed. */
int csched_worker_partial(csched_worker_t *w, uint32_t end, uint32_t failures, const void *data, uint64_t size,
                          uint64_t block);
/* 1: the kernel wants the current task ended; callable in signal handlers */
int csched_worker_interrupted(csched_worker_t *w);
int csched_worker_overdue(csched_worker_t *w); /* 1: only the current element, which exceeded its limit */
/* KeyboardInterrupt is being raised in the current task; callable in signal handlers */
int csched_worker_heard(csched_worker_t *w);
uint64_t csched_worker_current(csched_worker_t *w); /* ticket of the current task; any thread or signal handler */
uint64_t csched_worker_index(csched_worker_t *w);
uint32_t csched_worker_current_element(csched_worker_t *w); /* the current element of a chunk */
/* `native`: read ends of the pipes that are this process's descriptors 1 and 2. They are polled before a result if the
 * last poll was 50 us ago or more. Makes the C library's stdout line-buffered. */
int csched_worker_listen(csched_worker_t *w, const int native[2]);
int csched_worker_output_turn(csched_worker_t *w, int take); /* see csched_output_turn */
uint32_t csched_worker_profile_wanted(csched_worker_t *w); /* see csched_profile; any thread */
/* 1: a task is in user code, and of which function; any thread: only the main thread, under the GIL, has it exactly */
int csched_worker_in_user_code(csched_worker_t *w, uint32_t *function);

/* A lane: a worker elsewhere, on a cluster. The worker's end of its rings belongs to one thread of this process, the
 * relay, which puts tasks into packs and publishes their outcomes (lane.c). Called without the GIL. */
int csched_lane_open(csched_t *s, uint32_t *index, csched_lane_t **lane);
int csched_lane_close(csched_lane_t *l); /* tasks taken and not published: csched_worker_lost */
int csched_lane_ready(csched_lane_t *l); /* tasks may come */
/* Fills the next pack with at most `most` tasks and returns its number of records; 0: none available, or woken. `idle`:
 * no taken task is outstanding. CSCHED_ETOOBIG: the first record needs `used` bytes; CSCHED_EAGAIN: the first record
 * must wait until no task is outstanding. */
int csched_lane_take(csched_lane_t *l, uint32_t timeout_ms, uint32_t most, void *data, uint64_t room,
                     csched_packed_t *records, uint32_t record_most, uint64_t *used);
/* Publishes outcomes for the oldest tasks, in the order in which they were taken. `data`: what belongs to them, one
 * after another. `ahead_ns`: the remote clock's offset. Returns how many were published; fewer than `count`: no room in
 * memory or on disk for the next one. CSCHED_ECORRUPT: less data than the outcomes have. */
int csched_lane_publish(csched_lane_t *l, uint32_t count, const csched_outcome_t *outcomes, const csched_part_t *data,
                        uint32_t parts, int64_t ahead_ns);
/* The oldest `count` tasks have not run: they go back to the queue. `alone` 1: one of them may have killed the place,
 * so each will be the only task of a pack. */
int csched_lane_give_back(csched_lane_t *l, uint32_t count, uint32_t alone);
int csched_lane_take_back(csched_lane_t *l, uint32_t count); /* the same for the newest tasks */
uint32_t csched_lane_outstanding(const csched_lane_t *l); /* tasks taken and without an outcome */
uint32_t csched_lane_oldest(const csched_lane_t *l, uint32_t most, uint64_t *tickets); /* of them */
/* The place ended while it ran the oldest task, in this element of a chunk (2^32-1: unknown). csched_worker_lost
 * follows. */
int csched_lane_blame(csched_lane_t *l, uint32_t element);
int csched_lane_wait(csched_lane_t *l, uint32_t timeout_ms); /* sleeps until csched_lane_wake */
int csched_lane_wake(csched_lane_t *l); /* any thread */
/* cffi: end */

#include "csched_rows.h"
#include "csched_views.h"

#ifdef CSCHED_FAULTS
/* cffi: faults begin */
/* In a build for tests alone: points of a worker's path at which it ends by a signal (src/fault.h). */
const char *csched_fault_point(uint32_t number); /* its name; NULL: there are no more */
int csched_fault_loses(uint32_t number); /* who dies there loses the task in hand: 0 no, 1 yes, 2 that depends */
int csched_fault_arm(csched_t *s, uint32_t worker, const char *point, uint32_t visit, int signal);
/* cffi: faults end */
#endif

#endif
