#define _GNU_SOURCE
#include "outside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csched_outside.h"
#include "segment.h"
#include "stop.h"

#define OUTSIDE_MAGIC UINT64_C(0x64726f626c6c6d63)

enum { TEXT_TRIES = 3 };

/* Figures belong to the kernel while `written` differs from `asked`, else to the other side; `what` to `answer` in the
 * same way by `done` and `command`. `text_turn` is odd while the text is being written. */
struct outside {
    uint64_t magic, bytes;
    shared_u32 asked, written; /* figures: number of the request, and of the latest one that was answered */
    shared_u32 text_turn;
    shared_u32 closed;
    shared_u32 command, done; /* number of the command, and of the latest one that was obeyed */
    uint32_t what, run;       /* the command */
    int32_t answer;
    uint64_t opened;
    uint64_t text_size;
    csched_overview_t figures;
    char text[CSCHED_OUTSIDE_TEXT];
};

struct csched_outside { /* the other side's */
    outside_t *shared;
    uint32_t asked, command;
};

_Static_assert(sizeof((csched_overview_t *)0)->runs / sizeof(csched_outside_run_t) == CSCHED_OUTSIDE_RUNS, "runs");
_Static_assert(sizeof((csched_overview_t *)0)->workers / sizeof(csched_worker_info_t) == CSCHED_OUTSIDE_WORKERS,
               "workers");
_Static_assert(sizeof((csched_overview_t *)0)->journeys / sizeof(csched_journey_t) == CSCHED_OUTSIDE_JOURNEYS,
               "journeys");

/* -- kernel side */

CSCHED_EXPORT int csched_outside_open(csched_t *s, int *fd)
{
    void *base;
    int made, rc = memory_create("cellmill-outside", sizeof(outside_t), &made);
    if (rc < 0)
        return rc;
    if ((rc = memory_map(made, sizeof(outside_t), MAP_WRITES, &base)) < 0) {
        close(made);
        return rc;
    }
    outside_t *outside = base;
    outside->magic = OUTSIDE_MAGIC;
    outside->bytes = sizeof *outside;
    pthread_mutex_lock(&s->lock);
    bool first = !s->outside;
    if (first)
        s->outside = outside;
    pthread_mutex_unlock(&s->lock);
    if (!first) {
        memory_unmap(base, sizeof(outside_t));
        close(made);
        return CSCHED_EINVAL;
    }
    u32_store_release(&s->has_outside, 1); /* partner: outside_tend */
    u32_exchange(&s->helper_word, 1);
    futex_wake(&s->helper_word); /* asleep, it would not look here for a while; partner: helper_main */
    *fd = made;
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_outside_tell(csched_t *s, const char *text, uint64_t size)
{
    if (!u32_acquire(&s->has_outside) || size > CSCHED_OUTSIDE_TEXT) /* partner: csched_outside_open */
        return CSCHED_EINVAL;
    u32_add(&s->outside->text_turn, 1);
    fence_seq_cst(); /* the turn before the text; partner: csched_outside_text */
    memcpy(s->outside->text, text, size);
    s->outside->text_size = size;
    u32_add(&s->outside->text_turn, 1);
    return CSCHED_OK;
}

CSCHED_EXPORT uint32_t csched_cancelled_by_command(csched_t *s, uint32_t run)
{
    pthread_mutex_lock(&s->lock);
    uint32_t serial = run < s->run_count ? s->run_lives[run].cancelled : s->all_cancelled;
    pthread_mutex_unlock(&s->lock);
    return serial;
}

/* The newest open runs, in the order of their numbers. Under the lock. */
static void write_runs(csched_t *s, csched_overview_t *f)
{
    uint32_t open = 0, left_out = 0;
    for (uint32_t run = 0; run < s->run_count; run++)
        open += s->run_lives[run].opened != 0;
    left_out = open > CSCHED_OUTSIDE_RUNS ? open - CSCHED_OUTSIDE_RUNS : 0;
    f->run_count = 0;
    f->runs_left_out = left_out;
    for (uint32_t run = 0; run < s->run_count && f->run_count < CSCHED_OUTSIDE_RUNS; run++) {
        if (!s->run_lives[run].opened)
            continue;
        if (left_out) {
            left_out--;
            continue;
        }
        csched_outside_run_t *row = &f->runs[f->run_count++];
        *row = (csched_outside_run_t){.run = run, .opened = s->run_lives[run].opened, .counts = s->runs[run]};
        row->counts.stopping = stopping_of(s, run, false);
    }
}

static void write_journeys(const journey_t *journey, csched_overview_t *f)
{
    uint64_t kept = journey->written < journey->capacity ? journey->written : journey->capacity;
    f->journey_count = (uint32_t)(kept < CSCHED_OUTSIDE_JOURNEYS ? kept : CSCHED_OUTSIDE_JOURNEYS);
    for (uint32_t i = 0; i < f->journey_count; i++)
        f->journeys[i] = *journey_row(journey, journey->written - f->journey_count + i);
}

static void write_workers(csched_t *s, csched_overview_t *f)
{
    uint32_t count = 0;
    csched_worker_info_t over;
    while (csched_worker_info(s, count, count < CSCHED_OUTSIDE_WORKERS ? &f->workers[count] : &over) == CSCHED_OK)
        count++;
    f->worker_count = count < CSCHED_OUTSIDE_WORKERS ? count : CSCHED_OUTSIDE_WORKERS;
    f->workers_left_out = count - f->worker_count;
    for (uint32_t i = 0; i < f->worker_count; i++)
        for (uint32_t r = 0; f->workers[i].ticket && r < f->run_count; r++)
            f->runs[r].running += f->runs[r].run == f->workers[i].run;
}

static void write_figures(csched_t *s, outside_t *outside)
{
    csched_overview_t *f = &outside->figures;
    csched_stats(s, &f->stats);
    pthread_mutex_lock(&s->lock);
    f->at = csched_now();
    f->spent = s->accounts.spent;
    f->paused = s->paused;
    f->closed = s->closed;
    write_runs(s, f);
    write_journeys(&s->journey, f);
    pthread_mutex_unlock(&s->lock);
    write_workers(s, f);
}

/* Whether this is still the run that is meant; notes that its tasks so far are cancelled from outside. */
static bool mark_cancelled(csched_t *s, uint32_t run, uint64_t opened)
{
    pthread_mutex_lock(&s->lock);
    bool found = run < s->run_count && opened && s->run_lives[run].opened == opened;
    if (found)
        s->run_lives[run].cancelled = s->graph.serial;
    pthread_mutex_unlock(&s->lock);
    return found;
}

static void mark_all_cancelled(csched_t *s)
{
    pthread_mutex_lock(&s->lock);
    s->all_cancelled = s->graph.serial;
    for (uint32_t run = 0; run < s->run_count; run++)
        if (s->run_lives[run].opened)
            s->run_lives[run].cancelled = s->graph.serial;
    pthread_mutex_unlock(&s->lock);
}

static int obey(csched_t *s, uint32_t what, uint32_t run, uint64_t opened)
{
    switch (what) {
    case CSCHED_DO_PAUSE:
    case CSCHED_DO_RESUME:
        return csched_pause(s, what == CSCHED_DO_PAUSE);
    case CSCHED_DO_CANCEL_RUN:
        return mark_cancelled(s, run, opened) ? csched_cancel_run(s, run) : CSCHED_ESTALE;
    case CSCHED_DO_CANCEL_ALL:
        mark_all_cancelled(s);
        return csched_cancel_all(s);
    default:
        return CSCHED_EINVAL;
    }
}

void outside_tend(csched_t *s)
{
    if (!u32_acquire(&s->has_outside)) /* partner: csched_outside_open */
        return;
    outside_t *outside = s->outside;
    uint32_t number = u32_acquire(&outside->command); /* partner: csched_outside_command */
    if (number != u32_relaxed(&outside->done)) {
        outside->answer = obey(s, outside->what, outside->run, outside->opened);
        u32_store_release(&outside->done, number); /* partner: csched_outside_answer */
    }
    uint32_t asked = u32_acquire(&outside->asked); /* partner: csched_outside_ask */
    if (asked != u32_relaxed(&outside->written)) {
        write_figures(s, outside);
        u32_store_release(&outside->written, asked); /* partner: csched_outside_read */
    }
}

void outside_end(csched_t *s)
{
    if (u32_acquire(&s->has_outside))
        u32_store_release(&s->outside->closed, 1); /* partner: csched_outside_read */
}

void outside_close(csched_t *s)
{
    u32_store_release(&s->has_outside, 0);
    if (s->outside)
        memory_unmap(s->outside, sizeof(outside_t));
    s->outside = NULL;
}

void outside_forked(csched_t *s)
{
    u32_store_relaxed(&s->has_outside, 0);
    if (s->outside)
        memory_unmap(s->outside, sizeof(outside_t));
    s->outside = NULL;
}

/* -- the other side */

CSCHED_EXPORT int csched_outside_attach(int fd, csched_outside_t **outside)
{
    struct stat file;
    void *base;
    if (fstat(fd, &file) < 0 || (uint64_t)file.st_size != sizeof(outside_t)) {
        close(fd);
        return CSCHED_ECORRUPT; /* of another version */
    }
    int rc = memory_map(fd, sizeof(outside_t), MAP_WRITES, &base);
    close(fd);
    if (rc < 0)
        return rc;
    csched_outside_t *made = calloc(1, sizeof *made);
    if (!made || ((outside_t *)base)->magic != OUTSIDE_MAGIC) {
        memory_unmap(base, sizeof(outside_t));
        free(made);
        return made ? CSCHED_ECORRUPT : CSCHED_ENOMEM;
    }
    made->shared = base;
    made->asked = u32_relaxed(&made->shared->asked);
    made->command = u32_relaxed(&made->shared->command);
    *outside = made;
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_outside_detach(csched_outside_t *outside)
{
    memory_unmap(outside->shared, sizeof(outside_t));
    free(outside);
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_outside_ask(csched_outside_t *outside)
{
    u32_store_release(&outside->shared->asked, ++outside->asked); /* partner: outside_tend */
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_outside_read(csched_outside_t *outside, csched_overview_t *figures)
{
    if (u32_acquire(&outside->shared->closed)) /* partner: outside_end */
        return CSCHED_ESTOPPED;
    if (u32_acquire(&outside->shared->written) != outside->asked) /* partner: outside_tend */
        return 0;
    memcpy(figures, &outside->shared->figures, sizeof *figures);
    return 1;
}

CSCHED_EXPORT int64_t csched_outside_text(csched_outside_t *outside, char *text)
{
    const outside_t *shared = outside->shared;
    for (int i = 0; i < TEXT_TRIES; i++) {
        uint32_t turn = u32_acquire(&shared->text_turn); /* partner: csched_outside_tell */
        uint64_t size = shared->text_size;
        if (turn % 2 || size > CSCHED_OUTSIDE_TEXT)
            continue;
        memcpy(text, shared->text, size);
        fence_seq_cst(); /* the text before the turn; partner: csched_outside_tell */
        if (u32_relaxed(&shared->text_turn) == turn)
            return (int64_t)size;
    }
    return CSCHED_EAGAIN;
}

CSCHED_EXPORT int csched_outside_command(csched_outside_t *outside, uint32_t command, uint32_t run, uint64_t opened)
{
    outside_t *shared = outside->shared;
    if (u32_acquire(&shared->done) != outside->command) /* partner: outside_tend */
        return CSCHED_EAGAIN; /* the one before is not obeyed yet */
    shared->what = command;
    shared->run = run;
    shared->opened = opened;
    u32_store_release(&shared->command, ++outside->command); /* partner: outside_tend */
    return CSCHED_OK;
}

CSCHED_EXPORT int csched_outside_answer(csched_outside_t *outside, uint32_t *count)
{
    const outside_t *shared = outside->shared;
    if (u32_acquire(&shared->done) != outside->command) /* partner: outside_tend */
        return 0;
    *count = shared->answer > 0 ? (uint32_t)shared->answer : 0;
    return shared->answer < 0 ? shared->answer : 1;
}
