#include "run_times.h"

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "growth.h"

_Static_assert((int)TIMES_STEPS == (int)CSCHED_RUN_STEPS, "a view makes room for all steps");

uint32_t times_step(uint64_t value)
{
    if (value < 1u << TIMES_BITS)
        return (uint32_t)value;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(value);
    if (octave >= TIMES_LONGEST)
        return TIMES_STEPS - 1;
    uint32_t part = (uint32_t)(value >> (octave - TIMES_BITS)) & ((1u << TIMES_BITS) - 1);
    return ((octave - TIMES_BITS + 1) << TIMES_BITS) + part;
}

uint64_t times_start(uint32_t step)
{
    if (step < 1u << TIMES_BITS)
        return step;
    uint32_t octave = (step >> TIMES_BITS) + TIMES_BITS - 1;
    uint64_t part = step & ((1u << TIMES_BITS) - 1);
    return (UINT64_C(1) << octave) + (part << (octave - TIMES_BITS));
}

void run_times_forget(run_times_t *times, uint32_t run)
{
    if (run >= times->count)
        return;
    free(times->of[run]);
    times->of[run] = NULL;
}

int run_times_open(run_times_t *times, uint32_t run)
{
    if (run >= times->count) {
        times_t **grown = rows_grow(times->of, times->count, run + 1, sizeof *grown);
        if (!grown)
            return CSCHED_ENOMEM;
        memset(grown + times->count, 0, (run + 1 - times->count) * sizeof *grown);
        times->of = grown;
        times->count = run + 1;
    }
    run_times_forget(times, run);
    return CSCHED_OK;
}

void run_times_close(run_times_t *times)
{
    for (uint32_t run = 0; run < times->count; run++)
        free(times->of[run]);
    free(times->of);
    *times = (run_times_t){0};
}

static void add(times_t *times, uint64_t ran)
{
    times->sums.ran += ran;
    times->steps[times_step(ran)]++;
}

void run_times_ended(run_times_t *times, const task_t *task, const result_entry_t *entry, const uint64_t *marks)
{
    if (task->run >= times->count)
        return;
    times_t *of = times->of[task->run];
    if (!of && !(of = times->of[task->run] = calloc(1, sizeof *of)))
        return; /* without memory nothing is told of this run */
    csched_run_times_t *sums = &of->sums;
    sums->tasks += task->count;
    sums->waited += task->count * ns_between(task->submitted, task->ready);
    sums->queued += task->count * ns_between(task->ready, task->dispatched);
    sums->delivered += task->count * ns_between(task->dispatched, entry->received);
    sums->unpacked += ns_between(entry->received, entry->started);
    sums->packed += ns_between(entry->finished, entry->returned);
    sums->pickled += task->pack_ns;
    uint64_t share = ns_between(entry->started, entry->finished) / task->count; /* of a batch: it has no marks */
    for (uint32_t i = 0; i < task->count; i++)
        add(of, i + 1 < entry->stamps ? ns_between(marks[i], marks[i + 1]) : share);
}

void run_times_wasted(run_times_t *times, const task_t *task, uint64_t ran)
{
    times_t *of = task->run < times->count ? times->of[task->run] : NULL;
    if (!of || !of->steps[times_step(ran)])
        return;
    of->sums.tasks--;
    of->sums.ran -= ran;
    of->steps[times_step(ran)]--;
}

/* -- for views */

CSCHED_EXPORT int csched_run_times(csched_t *s, uint32_t run, csched_run_times_t *sums, csched_run_step_t *steps)
{
    uint32_t n = 0;
    *sums = (csched_run_times_t){0};
    pthread_mutex_lock(&s->lock);
    const times_t *of = run < s->run_times.count ? s->run_times.of[run] : NULL;
    if (of)
        *sums = of->sums;
    for (uint32_t step = 0; of && step < TIMES_STEPS; step++)
        if (of->steps[step])
            steps[n++] =
                (csched_run_step_t){.start = times_start(step), .end = times_start(step + 1), .count = of->steps[step]};
    pthread_mutex_unlock(&s->lock);
    return (int)n;
}
