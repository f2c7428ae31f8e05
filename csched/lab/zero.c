/* Zero workers, for measuring the scheduler alone: one thread of this process is all of them.  Each task is taken from
 * its ring and answered at once with None, by the calls that real workers make, so that the whole path is exercised:
 * claims, records, dependencies, placement, results, journeys.  (The zero worker of the RSDS paper, section VI-D.) */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "csched_lab.h"
#include "segment.h"
#include "worker.h"

enum { IN_A_ROW = 256 };       /* tasks of one worker before the next one has its turn */
enum { SPIN_NS = 1000000 };    /* idle that long, it lets others have the processor */

struct csched_zero {
    csched_worker_t **workers;
    uint32_t count;
    pthread_t thread;
    shared_u32 stop;
};

/* Answers the task in hand and takes the next one, if any. */
static int turn(csched_zero_t *zero, csched_worker_t *w, bool last, csched_item_t *item)
{
    int rc;
    do
        rc = last ? csched_worker_publish(w, CSCHED_NONE, 0, NULL, 0, NO_BLOCK)
                  : csched_worker_turn(w, CSCHED_NONE, 0, NULL, 0, NO_BLOCK, 0, 0, item);
    while ((rc == CSCHED_EFULL || (last && rc == CSCHED_EAGAIN)) && !u32_acquire(&zero->stop)); /* csched_zero_stop */
    return rc;
}

/* How many tasks were answered. */
static uint32_t serve(csched_zero_t *zero, csched_worker_t *w)
{
    csched_item_t item;
    uint32_t answered = 0;
    int rc = csched_worker_next(w, 0, 0, &item);
    while (rc == CSCHED_OK && answered < IN_A_ROW)
        rc = item.kind == CSCHED_TASK ? turn(zero, w, ++answered == IN_A_ROW, &item)
                                      : csched_worker_next(w, 0, 0, &item);
    return answered;
}

static void *zero_main(void *argument)
{
    csched_zero_t *zero = argument;
    uint64_t idle = 0;
    while (!u32_acquire(&zero->stop)) { /* partner: csched_zero_stop */
        uint32_t answered = 0;
        for (uint32_t i = 0; i < zero->count; i++)
            answered += serve(zero, zero->workers[i]);
        if (answered) {
            idle = 0;
        } else if (!idle) {
            idle = now_ns();
        } else if (now_ns() - idle > SPIN_NS) {
            sched_yield();
        } else {
            cpu_relax();
        }
    }
    return NULL;
}

static void zero_free(csched_zero_t *zero)
{
    for (uint32_t i = 0; i < zero->count; i++)
        csched_worker_detach(zero->workers[i]);
    free(zero->workers);
    free(zero);
}

CSCHED_EXPORT int csched_zero_start(const int *fds, uint32_t workers, csched_zero_t **zero)
{
    csched_zero_t *made = calloc(1, sizeof *made);
    if (!made)
        return CSCHED_ENOMEM;
    made->workers = calloc(workers, sizeof(csched_worker_t *));
    int rc = made->workers ? CSCHED_OK : CSCHED_ENOMEM;
    while (!rc && made->count < workers) {
        const int *own = fds + 4 * (size_t)made->count;
        rc = csched_worker_attach(own, &made->workers[made->count]);
        if (!rc) {
            shutdown(own[2], SHUT_RD); /* no thread listens for regions: results without payloads need none */
            rc = csched_worker_ready(made->workers[made->count++]);
        }
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals belong to the caller */
    if (!rc && pthread_create(&made->thread, NULL, zero_main, made))
        rc = CSCHED_ESYSTEM;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc < 0) {
        zero_free(made);
        return rc;
    }
    *zero = made;
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_zero_stop(csched_zero_t *zero)
{
    u32_store_release(&zero->stop, 1); /* partner: zero_main */
    pthread_join(zero->thread, NULL);
    zero_free(zero);
    return CSCHED_OK;
}
