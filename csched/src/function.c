/* Functions: added once, sent once to each worker that needs them, dropped when they will not be called again.
 *
 * A shared object is a function that is never called: tasks, and functions that refer to it, need it. */
#include <stdlib.h>
#include <string.h>

#include "blob.h"
#include "doorbell.h"
#include "function.h"
#include "internal.h"

CSCHED_EXPORT int csched_function_add(csched_t *s, const void *data, uint64_t size, uint64_t block, uint32_t *function)
{
    pthread_mutex_lock(&s->lock);
    blob_t *blob = NULL;
    int rc = block != NO_BLOCK    ? blob_from_block(s, REGION_KERNEL, block, size, &blob)
             : size <= INLINE_MAX ? blob_from_bytes(data, size, &blob)
                                  : CSCHED_ETOOBIG;
    function_t *grown = rc < 0 ? NULL : realloc(s->functions, (s->function_count + 1) * sizeof *grown);
    if (!rc && !grown) {
        rc = CSCHED_ENOMEM;
        if (block == NO_BLOCK)
            blob_release(s, blob);
    }
    if (!rc) {
        s->functions = grown;
        grown[s->function_count] = (function_t){.blob = blob};
        *function = s->function_count++;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* Sends entries that make a worker forget functions; what its ring does not take follows with the next tick. */
void forgets_flush(worker_t *worker)
{
    bool sent = false;
    entry_t *entry;
    while (worker->forget_count && ring_reserve(&worker->tasks, sizeof(task_entry_t), &entry) == CSCHED_OK) {
        task_entry_t *head = (task_entry_t *)entry;
        entry->kind = ENTRY_FUNCTION;
        head->function = worker->forgets[--worker->forget_count];
        head->payload = (ref_t){.region = REGION_NONE};
        ring_commit(&worker->tasks);
        sent = true;
    }
    if (sent)
        worker_wake(worker);
}

static void forget(worker_t *worker, uint32_t function)
{
    if (worker->forget_count == worker->forget_capacity) {
        uint32_t capacity = worker->forget_capacity ? 2 * worker->forget_capacity : 16;
        uint32_t *grown = realloc(worker->forgets, capacity * sizeof *grown);
        if (!grown)
            return; /* the worker keeps the function, and the kernel its block, until the worker ends */
        worker->forgets = grown;
        worker->forget_capacity = capacity;
    }
    worker->forgets[worker->forget_count++] = function;
    forgets_flush(worker);
}

/* Its block stays until every worker that reads it in place has unpinned it. */
static void release(csched_t *s, uint32_t function)
{
    function_t *gone = &s->functions[function];
    bool sent = gone->blob->size > 0;
    blob_release(s, gone->blob);
    gone->blob = NULL;
    for (uint32_t i = 0; i < gone->need_count; i++)
        function_over(s, gone->needs[i]);
    free(gone->needs);
    gone->needs = NULL;
    gone->need_count = 0;
    for (uint32_t i = 0; sent && i < s->worker_count; i++) {
        worker_t *worker = s->workers[i];
        if (worker->segment && function / 64 < worker->sent_function_words &&
            worker->sent_functions[function / 64] >> function % 64 & 1)
            forget(worker, function);
    }
}

void function_over(csched_t *s, uint32_t function)
{
    if (--s->functions[function].tasks == 0 && s->functions[function].dropped)
        release(s, function);
}

static bool refers_to(const function_t *function, uint32_t other)
{
    for (uint32_t i = 0; i < function->need_count; i++)
        if (function->needs[i] == other)
            return true;
    return false;
}

/* Drops functions that refer to it, too: they could not be loaded any more, and they keep it alive in workers. */
static void drop(csched_t *s, uint32_t function)
{
    s->functions[function].dropped = true;
    s->functions[function].tasks++; /* until all functions that need it are dropped */
    for (uint32_t i = function + 1; s->functions[function].needed && i < s->function_count; i++)
        if (!s->functions[i].dropped && refers_to(&s->functions[i], function))
            drop(s, i);
    function_over(s, function);
}

CSCHED_EXPORT int csched_function_drop(csched_t *s, uint32_t function)
{
    pthread_mutex_lock(&s->lock);
    bool known = function && function < s->function_count && !s->functions[function].dropped;
    if (known)
        drop(s, function);
    pthread_mutex_unlock(&s->lock);
    return known ? CSCHED_OK : CSCHED_EINVAL;
}

CSCHED_EXPORT int csched_function_needs(csched_t *s, uint32_t function, const uint32_t *needs, uint32_t count)
{
    pthread_mutex_lock(&s->lock);
    function_t *of = function && function < s->function_count ? &s->functions[function] : NULL;
    int rc = !of || of->need_count || of->tasks || !count ? CSCHED_EINVAL : CSCHED_OK;
    for (uint32_t i = 0; !rc && i < count; i++)
        rc = !needs[i] || needs[i] >= function ? CSCHED_EINVAL : s->functions[needs[i]].dropped ? CSCHED_ESTALE : rc;
    if (!rc && !(of->needs = malloc(count * sizeof *needs)))
        rc = CSCHED_ENOMEM;
    for (uint32_t i = 0; !rc && i < count; i++) {
        of->needs[of->need_count++] = needs[i];
        s->functions[needs[i]].tasks++;
        s->functions[needs[i]].needed = true;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

CSCHED_EXPORT int64_t csched_function_users(csched_t *s, uint32_t function)
{
    pthread_mutex_lock(&s->lock);
    bool there = function && function < s->function_count && s->functions[function].blob;
    int64_t users = there ? (int64_t)s->functions[function].tasks : CSCHED_ESTALE;
    pthread_mutex_unlock(&s->lock);
    return users;
}

void functions_close(csched_t *s)
{
    for (uint32_t i = 1; i < s->function_count; i++) {
        blob_release(s, s->functions[i].blob);
        free(s->functions[i].needs);
    }
}
