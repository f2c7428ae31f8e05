/* Waiting for results, and handing them over: peek (collect), resolve in Python, then commit. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "internal.h"
#include "segment.h"

enum { SLICE_MS = 50 }; /* no sleep is longer: signals are looked at in between */

/* Asks every worker to ring the bell after its next result. */
void bell_arm(csched_t *s, bool on)
{
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < s->worker_count; i++)
        if (s->workers[i]->segment)
            u32_store_relaxed(&s->workers[i]->segment->kernel_sleeping, on);
    pthread_mutex_unlock(&s->lock);
    fence_seq_cst(); /* flag before the last look at the rings; partner: ring_bell in worker.c */
}

void bell_ring(csched_t *s)
{
    uint64_t one = 1;
    if (u32_relaxed(&s->sleepers) && write(s->bell, &one, sizeof one) < 0 && errno != EAGAIN)
        return; /* a sleeper wakes at the end of its slice all the same */
}

bool bell_sleep(csched_t *s, uint32_t timeout_ms)
{
    struct pollfd bell = {.fd = s->bell, .events = POLLIN};
    uint64_t rung;
    int rc = poll(&bell, 1, (int)(timeout_ms < SLICE_MS ? timeout_ms : SLICE_MS));
    return rc > 0 && read(s->bell, &rung, sizeof rung) > 0;
}

static int locked_drain(csched_t *s)
{
    pthread_mutex_lock(&s->lock);
    drain(s);
    u64_store_relaxed(&s->last_poll, s->now);
    pthread_mutex_unlock(&s->lock);
    return (int)u32_relaxed(&s->available);
}

CSCHED_EXPORT int csched_poll(csched_t *s, uint32_t spin_us)
{
    int there = locked_drain(s);
    if (there || !spin_us)
        return there;
    uint64_t end = csched_now() + (uint64_t)spin_us * 1000;
    do {
        for (int i = 0; i < 8; i++)
            cpu_relax();
        there = locked_drain(s);
    } while (!there && csched_now() < end);
    return there;
}

CSCHED_EXPORT int csched_wait(csched_t *s, uint32_t timeout_ms)
{
    uint64_t end = csched_now() + (uint64_t)timeout_ms * 1000000;
    u32_add(&s->waiting, 1);
    int there = csched_poll(s, s->config.spin_us);
    for (uint64_t now; !there && !u32_relaxed(&s->stopped) && (now = csched_now()) < end;) {
        u32_add(&s->sleepers, 1);
        bell_arm(s, true);
        there = locked_drain(s);
        if (!there) {
            uint64_t left = (end - now) / 1000000 + 1;
            bell_sleep(s, left < SLICE_MS ? (uint32_t)left : SLICE_MS);
        }
        u32_add(&s->sleepers, (uint32_t)-1);
        if (there)
            break;
        there = csched_poll(s, 0);
        if (!there)
            break; /* one slice at a time: the caller looks at its signals */
    }
    u32_add(&s->waiting, (uint32_t)-1);
    if (there)
        bell_ring(s); /* one ring wakes one sleeper: it passes it on */
    return there;
}

CSCHED_EXPORT int csched_wait_background(csched_t *s, uint32_t timeout_ms)
{
    /* a wake that came before the sleep counts, and is used up by one return; partner: helper.c, csched_wake */
    if (!u32_exchange(&s->background_word, 0) && !u32_relaxed(&s->stopped))
        futex_wait(&s->background_word, 0, (uint64_t)timeout_ms * 1000000);
    return u32_relaxed(&s->waiting) ? 0 : (int)u32_relaxed(&s->available);
}

CSCHED_EXPORT int csched_wake(csched_t *s)
{
    uint64_t one = 1;
    u32_exchange(&s->background_word, 1);
    futex_wake(&s->background_word);
    return write(s->bell, &one, sizeof one) < 0 && errno != EAGAIN ? CSCHED_ESYSTEM : CSCHED_OK;
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
                                               .run_ns = task->status <= CSCHED_ERROR ? task->moment : 0,
                                               .function = task->function,
                                               .run = task->run};
        slot = task->next;
    }
    pthread_mutex_unlock(&s->lock);
    return (int)n;
}

/* The oldest `count` completions are over: their slots are free. */
void commit_first(csched_t *s, uint32_t count)
{
    uint64_t now = look_at_clock(s);
    u64_store_relaxed(&s->last_collect, now);
    for (uint32_t i = 0; i < count; i++) {
        task_t *task = task_at(s, s->completions.head);
        s->completions.head = task->next;
        if (task->row != NO_ROW)
            journey_resolved(&s->journey, task->row, task->status == CSCHED_DEPENDENCY ? 1 : task->count, now);
        blob_release(s, task->result);
        task->result = NULL;
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

CSCHED_EXPORT int csched_blob_retain(csched_t *s, uint64_t blob)
{
    pthread_mutex_lock(&s->lock);
    blob_retain((blob_t *)(uintptr_t)blob);
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_blob_release(csched_t *s, uint64_t blob)
{
    pthread_mutex_lock(&s->lock);
    blob_release(s, (blob_t *)(uintptr_t)blob);
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}
