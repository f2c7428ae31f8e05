/* Waiting for results, and handing them over: peek (collect), resolve in Python, then commit. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "blob.h"
#include "collect.h"
#include "doorbell.h"
#include "drain.h"
#include "internal.h"
#include "task.h"
#include "segment.h"

enum {
    TICK_MS = 1,     /* between two drains while one result is waited for: windows hold twice as much work */
    PATIENCE_MS = 5, /* the longest time that other results may wait meanwhile */
    IDLE_NS =
        50000000, /* idle for so long the workers sleep, and a worker wakes sooner if no thread spins on its core */
};

/* True if some worker's mean task is shorter than a spin, or unknown. */
static bool brisk(const csched_t *s, uint64_t spin_ns)
{
    if (s->now - u64_relaxed(&s->last_collect) > IDLE_NS)
        return false;
    for (uint32_t i = 0; i < s->worker_count; i++)
        if (s->loads[i].held && s->loads[i].mean_ns < 2 * spin_ns)
            return true;
    return false;
}

/* Drains and returns what is available; sets `spin_us` to 0 if spinning is of no use. */
static int locked_drain(csched_t *s, uint32_t *spin_us)
{
    pthread_mutex_lock(&s->lock);
    drain(s);
    u64_store_relaxed(&s->last_poll, s->now);
    if (spin_us && *spin_us && !brisk(s, (uint64_t)*spin_us * 1000))
        *spin_us = 0;
    pthread_mutex_unlock(&s->lock);
    return (int)u32_relaxed(&s->available);
}

CSCHED_EXPORT int csched_poll(csched_t *s, uint32_t spin_us)
{
    u32_store_relaxed(&s->prompt, 0);
    int there = locked_drain(s, &spin_us);
    if (there || !spin_us)
        return there;
    uint64_t end = csched_now() + (uint64_t)spin_us * 1000;
    do {
        for (int i = 0; i < 8; i++)
            cpu_relax();
        there = locked_drain(s, NULL);
    } while (!there && csched_now() < end);
    return there;
}

/* Drains; returns what is available if the wanted result is, else 0. */
static int drain_for(csched_t *s, uint64_t wanted)
{
    int there = locked_drain(s, NULL);
    if (wanted == WANT_ANY || !there)
        return there;
    pthread_mutex_lock(&s->lock);
    const task_t *task = graph_find(&s->graph, wanted);
    bool over = !task || task->state == TASK_DONE;
    pthread_mutex_unlock(&s->lock);
    return over ? there : 0;
}

/* Arms the doorbell, sleeps on it once, and returns what is available then, or -1: interrupted. */
static int sleep_for(csched_t *s, uint64_t wanted, uint32_t timeout_ms)
{
    int rung = 0;
    u32_add(&s->sleepers, 1);
    doorbell_arm(s, u32_relaxed(&s->waiting) > 1 ? WANT_ANY : wanted);
    int there = drain_for(s, wanted);
    if (!there)
        rung = doorbell_sleep(s, timeout_ms);
    u32_add(&s->sleepers, (uint32_t)-1);
    if (!there)
        there = drain_for(s, wanted);
    return there ? there : rung < 0 ? -1 : 0;
}

CSCHED_EXPORT int csched_wait_for(csched_t *s, uint64_t wanted, uint32_t timeout_ms)
{
    uint64_t start = csched_now();
    uint32_t limit = timeout_ms < SLICE_MS ? timeout_ms : SLICE_MS;
    u32_add(&s->waiting, 1);
    int there = csched_poll(s, s->config.spin_us) ? drain_for(s, wanted) : 0;
    while (!there && !u32_relaxed(&s->stopped)) {
        uint64_t passed = (csched_now() - start) / 1000000;
        if (passed >= limit)
            break;
        there = sleep_for(s, wanted, wanted == WANT_ANY ? limit - (uint32_t)passed : TICK_MS);
        if (there < 0 || wanted == WANT_ANY)
            break; /* one slice at a time: the caller handles its signals */
        if (!there && passed >= PATIENCE_MS)
            there = (int)u32_relaxed(&s->available); /* other results that came meanwhile may be waited for */
    }
    u32_add(&s->waiting, (uint32_t)-1);
    if (there > 0)
        doorbell_ring(s); /* one ring wakes one sleeper, which rings for the next */
    return there > 0 ? there : (int)u32_relaxed(&s->available);
}

CSCHED_EXPORT int csched_wait(csched_t *s, uint32_t timeout_ms)
{
    return csched_wait_for(s, WANT_ANY, timeout_ms);
}

CSCHED_EXPORT int csched_wait_background(csched_t *s, uint32_t timeout_ms, uint32_t prompt)
{
    u32_store_relaxed(&s->prompt, prompt != 0);
    /* a wake that came before the sleep counts, and is used up by one return; partner: helper.c, csched_wake */
    if (!u32_exchange(&s->background_word, 0) && !u32_relaxed(&s->stopped))
        futex_wait(&s->background_word, 0, (uint64_t)timeout_ms * 1000000);
    return u32_relaxed(&s->waiting) ? 0 : (int)u32_relaxed(&s->available);
}

CSCHED_EXPORT int csched_collect(csched_t *s, uint32_t most, csched_completion_t *completions)
{
    pthread_mutex_lock(&s->lock);
    u64_store_relaxed(&s->last_collect, csched_now());
    uint32_t n = 0;
    for (uint32_t slot = s->completions.head; slot != NO_TASK && n < most; n++) {
        task_t *task = task_at(s, slot);
        const blob_t *blob = task->result;
        completions[n] = (csched_completion_t){.slot = slot,
                                               .status = task->status,
                                               .worker = task->worker,
                                               .detail = task->detail,
                                               .count = task->count,
                                               .blob = (uint64_t)(uintptr_t)blob,
                                               .address = blob ? (uint64_t)(uintptr_t)blob_data(s, blob) : 0,
                                               .size = blob ? blob->size : 0,
                                               .run_ns = task->status <= CSCHED_ERROR     ? task->ran_ns
                                                         : task->status == CSCHED_TIMEOUT ? task->timeout_ns
                                                                                          : 0,
                                               .function = task->function,
                                               .run = task->run};
        slot = task->next;
    }
    pthread_mutex_unlock(&s->lock);
    return (int)n;
}

/* Commits the oldest `count` completions: frees their slots. */
void commit_first(csched_t *s, uint32_t count)
{
    uint64_t now = clock_refresh(s);
    u64_store_relaxed(&s->last_collect, now);
    for (uint32_t i = 0; i < count; i++) {
        task_t *task = task_at(s, s->completions.head);
        s->completions.head = task->next;
        if (task->row != NO_ROW)
            journey_resolved(&s->journey, task->row, task->status > CSCHED_ERROR ? 1 : task->count, now);
        blob_release(s, task->result);
        task->result = NULL;
        if (keeps_payload(task->status)) {
            blob_release(s, task->payload);
            task->payload = NULL;
        }
        task->state = TASK_FREE;
        task->ticket = 0;
    }
    if (s->completions.head == NO_TASK)
        s->completions.tail = NO_TASK;
    s->completion_count -= count;
    available_add(s, -count);
}

CSCHED_EXPORT int csched_commit(csched_t *s, uint32_t count)
{
    pthread_mutex_lock(&s->lock);
    int rc = count <= s->completion_count ? CSCHED_OK : CSCHED_EINVAL;
    if (!rc)
        commit_first(s, count);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int csched_messages(csched_t *s, uint32_t most, csched_message_t *messages)
{
    pthread_mutex_lock(&s->lock);
    uint32_t n = s->messages.count < most ? s->messages.count : most;
    for (uint32_t i = 0; i < n; i++) {
        messages[i] = s->messages.of[(s->messages.head + i) % s->messages.capacity];
        const blob_t *blob = (const blob_t *)(uintptr_t)messages[i].blob;
        messages[i].address = blob ? (uint64_t)(uintptr_t)blob_data(s, blob) : 0;
    }
    pthread_mutex_unlock(&s->lock);
    return (int)n;
}

CSCHED_EXPORT int csched_messages_commit(csched_t *s, uint32_t count)
{
    pthread_mutex_lock(&s->lock);
    messages_t *q = &s->messages;
    int rc = count <= q->count ? CSCHED_OK : CSCHED_EINVAL;
    for (uint32_t i = 0; !rc && i < count; i++) {
        blob_release(s, (blob_t *)(uintptr_t)q->of[q->head].blob);
        q->head = (q->head + 1) % q->capacity;
        q->count--;
    }
    if (!rc)
        available_add(s, -count);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static void view_count(csched_t *s, const blob_t *blob, int more)
{
    if (blob && blob->region != REGION_INLINE)
        s->regions[blob->region].viewed += (uint64_t)more;
}

CSCHED_EXPORT int csched_blob_retain(csched_t *s, uint64_t blob)
{
    pthread_mutex_lock(&s->lock);
    view_count(s, (blob_t *)(uintptr_t)blob, 1);
    blob_retain((blob_t *)(uintptr_t)blob);
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_blob_release(csched_t *s, uint64_t blob)
{
    pthread_mutex_lock(&s->lock);
    view_count(s, (blob_t *)(uintptr_t)blob, -1);
    blob_release(s, (blob_t *)(uintptr_t)blob);
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}
