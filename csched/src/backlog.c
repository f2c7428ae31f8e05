#include "backlog.h"

#include "internal.h"

void backlog_submitted(csched_t *s, const task_t *task)
{
    s->functions[task->function].backlog.outstanding += task->count;
    if (task->run < s->accounts.run_count)
        s->accounts.runs[task->run].sums.outstanding += task->count;
}

void backlog_over(csched_t *s, const task_t *task)
{
    s->functions[task->function].backlog.outstanding -= task->count;
    if (task->run < s->accounts.run_count)
        s->accounts.runs[task->run].sums.outstanding -= task->count;
}

void backlog_ran(csched_t *s, const task_t *task, const result_entry_t *entry)
{
    backlog_t *backlog = &s->functions[task->function].backlog;
    uint32_t serial = (uint32_t)(task->ticket >> 32);
    bool newer = (int32_t)(serial - backlog->serial) > 0;
    if (backlog->work != s->accounts.number || (backlog->run != task->run && newer)) {
        backlog->work = s->accounts.number; /* until then, what it took before is the best guess */
        backlog->run = task->run;
        backlog->ran = backlog->spent = 0;
        backlog->loading = UINT64_MAX;
    } else if (backlog->run != task->run) {
        return; /* other arguments, maybe other times */
    }
    backlog->serial = newer ? serial : backlog->serial;
    uint64_t loading = ns_between(entry->received, entry->started) / task->count;
    backlog->loading = loading < backlog->loading ? loading : backlog->loading;
    backlog->ran += task->count;
    backlog->spent += ns_between(entry->started, entry->returned);
}

/* -- for views */

CSCHED_EXPORT int csched_backlogs(csched_t *s, uint32_t most, csched_backlog_t *backlogs)
{
    uint32_t found = 0;
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < s->function_count && found < most; i++) {
        const backlog_t *backlog = &s->functions[i].backlog;
        if (backlog->outstanding)
            backlogs[found++] = (csched_backlog_t){.function = i,
                                                   .tasks = s->functions[i].tasks,
                                                   .outstanding = backlog->outstanding,
                                                   .ran = backlog->ran,
                                                   .spent = backlog->spent + backlog->ran * backlog->loading};
    }
    pthread_mutex_unlock(&s->lock);
    return (int)found;
}
