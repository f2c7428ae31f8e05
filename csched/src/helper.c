/* The helper thread: drains and dispatches when no Python thread does, and never touches the GIL.
 *
 *   deep  nothing outstanding for a while: asleep until a submit kicks it
 *   tick  a thread polls often enough: looks again every millisecond
 *   act   work outstanding and no thread polled for a millisecond, or results are to be told of promptly: drains, and sleeps
 *         on the doorbell in between
 */
#define _GNU_SOURCE
#include <signal.h>

#include "doorbell.h"
#include "drain.h"
#include "helper.h"
#include "internal.h"
#include "outside.h"
#include "trim.h"
#include "segment.h"

enum {
    TICK_NS = 1000000,
    DEEP_NS = 20000000,
    OUTSIDE_NS = 50000000 /* between two looks at requests from outside, when idle */
};

/* Wakes the resolver thread if results have not been collected for a while. */
static void wake_resolver(csched_t *s, uint64_t patience_ns)
{
    if (!u32_relaxed(&s->available) || u32_relaxed(&s->waiting) ||
        csched_now() - u64_relaxed(&s->last_collect) < patience_ns)
        return;
    u32_exchange(&s->background_word, 1);
    futex_wake(&s->background_word); /* partner: csched_wait_background */
}

static void act(csched_t *s)
{
    bool prompt = u32_relaxed(&s->prompt);
    u32_add(&s->sleepers, 1);
    doorbell_arm(s, prompt ? WANT_ANY : WANT_NONE);
    pthread_mutex_lock(&s->lock);
    uint32_t taken = drain(s);
    pthread_mutex_unlock(&s->lock);
    if (taken && u32_relaxed(&s->waiting))
        doorbell_ring(s); /* a waiter fell asleep before these came */
    wake_resolver(s, prompt ? 0 : TICK_NS);
    /* results that came right after others were collected are told of a tick later, so they count as work */
    bool work = u64_relaxed(&s->outstanding) || u32_relaxed(&s->available);
    if (!taken && doorbell_sleep(s, work ? 1 : 20) > 0 && u32_relaxed(&s->waiting))
        doorbell_ring(s); /* a thread began to wait meanwhile: it shall see the ring, too */
    u32_add(&s->sleepers, (uint32_t)-1);
}

static void *helper_main(void *argument)
{
    csched_t *s = argument;
    uint64_t busy = csched_now();
    while (!u32_acquire(&s->helper_stop)) {
        uint64_t now = csched_now();
        trim(s, now);
        outside_tend(s);
        if (u64_relaxed(&s->outstanding) || u32_relaxed(&s->available))
            busy = now;
        if (now - busy > DEEP_NS) {
            u32_exchange(&s->helper_word, 0);
            u32_exchange(&s->helper_deep, 1); /* before the last look; partner: helper_kick */
            fence_seq_cst();
            if (!u64_relaxed(&s->outstanding) && !u32_acquire(&s->helper_stop))
                futex_wait(&s->helper_word, 0, u32_relaxed(&s->has_outside) ? OUTSIDE_NS : UINT64_C(500000000));
            u32_exchange(&s->helper_deep, 0);
            if (u64_relaxed(&s->outstanding))
                busy = csched_now();
        } else if (u32_relaxed(&s->waiting) ||
                   (!u32_relaxed(&s->prompt) && now - u64_relaxed(&s->last_poll) < TICK_NS)) {
            wake_resolver(s, 5 * TICK_NS);
            u32_exchange(&s->helper_word, 0);
            futex_wait(&s->helper_word, 0, TICK_NS);
        } else {
            act(s);
        }
    }
    return NULL;
}

void helper_kick(csched_t *s)
{
    fence_seq_cst(); /* outstanding before helper_deep */
    if (u32_relaxed(&s->helper_deep) && u32_exchange(&s->helper_deep, 0)) {
        u32_exchange(&s->helper_word, 1);
        futex_wake(&s->helper_word);
    }
}

int helper_start(csched_t *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals belong to Python's main thread */
    int rc = pthread_create(&s->helper, NULL, helper_main, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    s->helper_runs = rc == 0;
    return rc ? CSCHED_ESYSTEM : CSCHED_OK;
}

void helper_stop(csched_t *s)
{
    if (!s->helper_runs)
        return;
    u32_store_release(&s->helper_stop, 1); /* partner: helper_main */
    u32_exchange(&s->helper_word, 1);
    futex_wake(&s->helper_word);
    csched_wake(s);
    pthread_join(s->helper, NULL);
    s->helper_runs = false;
}
