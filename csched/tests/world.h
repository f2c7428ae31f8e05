/* A scheduler with workers for tests: worker threads in this process, or forked worker processes, that run the jobs of
 * job_t. Test and workers share one mapping, `board`. */
#ifndef CSCHED_TESTS_WORLD_H
#define CSCHED_TESTS_WORLD_H

#include <pthread.h>
#include <stdbool.h>

#include "atomic.h"
#include "csched.h"
#include "harness.h"

enum { BOARD_GATES = 64, BOARD_TASKS = 1 << 20, INLINE_LIMIT = 8192, ALL_OPEN = 63 };
#define IN_LINE UINT64_MAX

typedef struct {
    shared_u32 gates[BOARD_GATES]; /* 0: shut; a task that waits at it goes on when it is 1 */
    shared_u32 at_gate[BOARD_GATES]; /* tasks that reached it */
    shared_u32 order;              /* tasks begun so far */
    shared_u32 started_as[4096];   /* tag of the n-th task begun */
    shared_u32 ran[BOARD_TASKS];   /* how often the task with this tag was run */
    shared_u64 arena_used[64];     /* by worker, after its last task with a block */
} board_t;

typedef enum {
    JOB_NONE,     /* returns None */
    JOB_ECHO,     /* returns its payload */
    JOB_SUM,      /* returns value + the sum of its inputs */
    JOB_FAIL,     /* an error, until its attempt is `value` */
    JOB_GATE,     /* waits until gate `value` is 1 */
    JOB_BLOCK,    /* returns a block of `value` bytes, filled with its tag */
    JOB_MEASURE,  /* checks and adds up the bytes of its inputs */
    JOB_CHUNK,    /* marks its elements; publishes `value` failures */
    JOB_EMIT,     /* emits `value` messages */
    JOB_KILL,     /* dies by SIGKILL while it runs */
    JOB_PUBLISH_AND_DIE, /* dies between publish and the next claim */
    JOB_CORRUPT,  /* publishes a corrupt entry */
    JOB_TWICE,    /* publishes two results */
    JOB_PIN      /* pins its inputs until the next job of this kind */
} job_kind_t;

typedef struct {
    uint32_t kind, tag;
    uint64_t value;
} job_t;

typedef struct world world_t;

typedef struct {
    world_t *world;
    uint32_t index;
    int fds[4];
    pthread_t thread;
    pid_t process;
    bool running;
} hand_t;

struct world {
    csched_t *s;
    hand_t hands[1024];
    uint32_t hand_count;
    uint32_t next_slot;
    uint64_t done;          /* completions committed */
    uint64_t by_status[8];  /* of those */
    void (*on_completion)(world_t *w, const csched_completion_t *completion);
    void *context;
};

extern board_t *board;

world_t *world_open(uint32_t helper);
world_t *world_open_with(const csched_config_t *config);
void world_close(world_t *w); /* retires the workers, joins them, destroys the scheduler */

uint32_t world_add(world_t *w);               /* only the scheduler's side: fds in the hand; returns the hand */
uint32_t world_thread(world_t *w);            /* a worker thread */
uint32_t world_process(world_t *w);           /* a worker process */
void world_threads(world_t *w, uint32_t count);
void world_join(world_t *w, uint32_t hand);   /* its thread or process has ended, or will */
void world_kill(world_t *w, uint32_t hand);   /* SIGKILL, wait, csched_worker_lost */

/* Submits and returns the ticket; slots are 0, 1, 2, ... in this order. */
uint64_t submit(world_t *w, job_kind_t kind, uint32_t tag, uint64_t value);
uint64_t submit_with(world_t *w, job_t job, const csched_options_t *options);
csched_options_t plain(void);

/* Collects and commits until `count` tasks have ended in all. */
void finish(world_t *w, uint64_t count);
uint32_t collect_some(world_t *w); /* what is there now, and commits it */
void open_gate(uint32_t gate);

csched_stats_t stats_of(world_t *w);
csched_worker_info_t info_of(world_t *w, uint32_t index);
csched_message_t only_message(world_t *w, uint32_t kind); /* waits for it, and commits it */

/* A worker driven by hand, in the test's own thread; ready when this returns. */
csched_worker_t *by_hand(world_t *w);
csched_item_t next_item(csched_worker_t *worker, uint32_t kind);
void publish_none(csched_worker_t *worker);

/* A worker's loop, for threads and processes; returns when it is retired. */
void worker_loop(csched_worker_t *worker);
void run_job(csched_worker_t *worker, const csched_item_t *item);

#endif
