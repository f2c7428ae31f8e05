#define _GNU_SOURCE
#include "csched_outside.h"
#include "internal.h"
#include "segment.h"
#include "world.h"

#include <string.h>
#include <unistd.h>

static csched_outside_t *look(world_t *w)
{
    int fd;
    csched_outside_t *seen;
    OK(csched_outside_open(w->s, &fd));
    OK(csched_outside_attach(fd, &seen));
    return seen;
}

static csched_overview_t *figures_of(csched_outside_t *seen)
{
    static csched_overview_t figures;
    OK(csched_outside_ask(seen));
    UNTIL(csched_outside_read(seen, &figures) == 1);
    return &figures;
}

static uint32_t command(csched_outside_t *seen, uint32_t what, uint32_t run, uint64_t opened)
{
    uint32_t count = 0;
    OK(csched_outside_command(seen, what, run, opened));
    UNTIL(csched_outside_answer(seen, &count) == 1);
    return count;
}

static uint64_t submit_in(world_t *w, uint32_t run, job_t job)
{
    if (w->next_slot % 4096 == 0)
        OK(csched_reserve(w->s, w->next_slot + 1));
    int64_t ticket = csched_submit(w->s, w->next_slot++, 0, run, &job, sizeof job, 0);
    CHECK(ticket > 0);
    return (uint64_t)ticket;
}

/* No thread polls here: what the other side sees and does needs the helper only. */
static void figures_and_journeys_are_written_when_asked_for(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    csched_outside_t *seen = look(w);
    uint32_t run;
    OK(csched_run_open(w->s, &run));
    submit_in(w, run, (job_t){JOB_NONE, 0, 0});
    submit_in(w, run, (job_t){JOB_GATE, 1, 1});
    submit_in(w, run, (job_t){JOB_NONE, 2, 0});
    UNTIL(u32_acquire(&board->at_gate[1]));
    csched_overview_t *f = figures_of(seen);
    EQUAL(f->stats.submitted, 3);
    EQUAL(f->run_count, 1);
    EQUAL(f->runs[0].run, run);
    EQUAL(f->runs[0].running, 1);
    EQUAL(f->runs[0].counts.submitted, 3);
    EQUAL(f->worker_count, 1);
    EQUAL(f->workers[0].run, run);
    EQUAL(f->paused, 0);
    open_gate(1);
    UNTIL(stats_of(w).completions == 3);
    f = figures_of(seen);
    EQUAL(f->runs[0].counts.succeeded, 3);
    EQUAL(f->journey_count, 3);
    EQUAL(f->journeys[2].status, CSCHED_NONE);
    finish(w, 3);
    OK(csched_run_close(w->s, run));
    EQUAL(figures_of(seen)->run_count, 0);
    OK(csched_outside_detach(seen));
    world_close(w);
}

static void pause_and_cancel_are_obeyed(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    csched_outside_t *seen = look(w);
    uint32_t first, second, ignored;
    OK(csched_run_open(w->s, &first));
    OK(csched_run_open(w->s, &second));
    command(seen, CSCHED_DO_PAUSE, 0, 0);
    EQUAL(csched_paused(w->s), 1);
    for (uint32_t i = 0; i < 10; i++)
        submit_in(w, i % 2 ? first : second, (job_t){JOB_NONE, i, 0});
    csched_overview_t *f = figures_of(seen);
    EQUAL(f->paused, 1);
    EQUAL(f->stats.succeeded, 0);
    uint64_t opened = f->runs[0].opened;
    OK(csched_outside_command(seen, CSCHED_DO_CANCEL_RUN, first, opened + 1)); /* another run of that number */
    UNTIL(csched_outside_answer(seen, &ignored) == CSCHED_ESTALE);
    EQUAL(csched_cancelled_by_command(w->s, first), 0);
    EQUAL(command(seen, CSCHED_DO_CANCEL_RUN, first, opened), 5);
    CHECK(csched_cancelled_by_command(w->s, first) > 0);
    EQUAL(csched_cancelled_by_command(w->s, second), 0);
    command(seen, CSCHED_DO_RESUME, 0, 0);
    finish(w, 10);
    EQUAL(w->by_status[CSCHED_CANCELLED], 5);
    command(seen, CSCHED_DO_PAUSE, 0, 0);
    submit(w, JOB_NONE, 11, 0);
    EQUAL(command(seen, CSCHED_DO_CANCEL_ALL, 0, 0), 1);
    finish(w, 11);
    OK(csched_outside_detach(seen));
    world_close(w);
}

static void the_text_and_the_end(void)
{
    world_t *w = world_open(1);
    csched_outside_t *seen = look(w);
    static char text[CSCHED_OUTSIDE_TEXT];
    static csched_overview_t figures;
    int fd;
    EQUAL(csched_outside_text(seen, text), 0);
    OK(csched_outside_tell(w->s, "names", 5));
    EQUAL(csched_outside_text(seen, text), 5);
    EQUAL(memcmp(text, "names", 5), 0);
    EQUAL(csched_outside_tell(w->s, text, CSCHED_OUTSIDE_TEXT + 1), CSCHED_EINVAL);
    EQUAL(csched_outside_open(w->s, &fd), CSCHED_EINVAL); /* there is one */
    UNTIL(u32_acquire(&w->s->helper_deep)); /* asleep, it looks at the board nevertheless */
    figures_of(seen);
    world_close(w);
    EQUAL(csched_outside_read(seen, &figures), CSCHED_ESTOPPED);
    OK(csched_outside_detach(seen));
}

static void memory_of_another_version_is_refused(void)
{
    csched_outside_t *seen;
    int fd;
    OK(memory_create("outside", 4096, &fd));
    EQUAL(csched_outside_attach(fd, &seen), CSCHED_ECORRUPT);
    OK(memory_create("outside", sizeof(csched_overview_t) + CSCHED_OUTSIDE_TEXT + 64, &fd));
    EQUAL(csched_outside_attach(fd, &seen), CSCHED_ECORRUPT);
}

MAIN(TEST(figures_and_journeys_are_written_when_asked_for), TEST(pause_and_cancel_are_obeyed),
     TEST(the_text_and_the_end), TEST(memory_of_another_version_is_refused))
