/* Which lane a task goes to: the one where its inputs have stayed, and another one before it waits too long. */
#include "lane_scene.h"
#include "window.h"

enum { REFERENCE = 5000 };

static uint64_t submit_at(world_t *w, uint32_t tag, uint64_t input, uint32_t warm, uint64_t stays)
{
    csched_options_t options = plain();
    options.inputs = &input;
    options.input_count = input != 0;
    options.warm = warm;
    options.stays = stays;
    return submit_with(w, (job_t){JOB_NONE, tag, 0}, &options);
}

/* The tag of the next task there, which is over then. */
static uint32_t next_tag(end_t *e)
{
    take_tasks(e, 1);
    uint32_t tag = first_tag(e);
    answer_all(e);
    csched_poll(e->lane->s, 0);
    return tag;
}

/* Two tasks that take long: each lane holds two, the one that runs and the next. */
static void fill(world_t *w, end_t *e, uint64_t *tickets)
{
    for (uint32_t i = 0; i < 2; i++) {
        window_learn(w->s, e[i].index, UINT64_C(1000000000));
        tickets[i] = submit(w, JOB_NONE, i, 0);
    }
    for (uint32_t i = 0; i < 2; i++)
        take_tasks(&e[i], 1);
    for (uint32_t i = 2; i < 4; i++)
        submit(w, JOB_NONE, i, 0);
}

enum { KNOWN = 1000 };

/* So long have tasks taken so far. */
static void suppose(world_t *w, uint64_t ns)
{
    backlog_t *past = &w->s->functions[0].backlog;
    *past =
        (backlog_t){.outstanding = past->outstanding, .ran = KNOWN, .spent = KNOWN * ns, .work = w->s->accounts.number};
}

static void suppose_there(world_t *w, uint64_t ns)
{
    for (uint32_t i = 0; i < w->s->worker_count; i++)
        w->s->loads[i].mean_ns = ns;
}

/* Both lanes run tasks until so many are over. */
static void serve(world_t *w, end_t *e, uint32_t count)
{
    for (; w->done < count; collect_some(w))
        for (uint32_t i = 0; i < 2; i++) {
            csched_poll(w->s, 0);
            if (info_of(w, e[i].index).held)
                take(&e[i], RECORDS), answer_all(&e[i]);
        }
}

static void tasks_go_where_their_inputs_have_stayed(void)
{
    static char reference[REFERENCE];
    world_t *w = world_open(0);
    end_t e[2] = {open_lane(w), open_lane(w)};
    uint64_t tickets[2];
    fill(w, e, tickets);
    submit_at(w, 10, tickets[1], 0, 0); /* its bytes are at the second lane */
    submit_at(w, 11, tickets[1], 0, 0);
    submit_at(w, 12, tickets[0], 0, 0);
    submit_at(w, 13, 0, e[0].index + 1, 0); /* of a task that was over long ago */
    answer(&e[1], CSCHED_VALUE, reference, sizeof reference, 0);
    answer(&e[0], CSCHED_VALUE, reference, sizeof reference, 0);
    csched_poll(w->s, 0);
    EQUAL(next_tag(&e[0]), 2);
    EQUAL(next_tag(&e[1]), 3);
    EQUAL(next_tag(&e[1]), 11); /* the last dependent of a task is ready first */
    EQUAL(next_tag(&e[0]), 13); /* before all */
    EQUAL(next_tag(&e[0]), 12);
    EQUAL(next_tag(&e[1]), 10);
    finish(w, 8);
    for (uint32_t i = 0; i < 2; i++)
        close_lane(w, &e[i]);
    world_close(w);
}

/* Others go before a task whose inputs are elsewhere, so often and no more. */
static void no_task_is_passed_for_ever(void)
{
    enum { MANY = 100, FIRST = 10 };
    world_t *w = world_open(0);
    end_t e[2] = {open_lane(w), open_lane(w)};
    uint64_t tickets[2];
    fill(w, e, tickets);
    submit_at(w, FIRST, 0, e[1].index + 1, 0);
    for (uint32_t i = 0; i < MANY; i++)
        submit_at(w, 100 + i, 0, e[0].index + 1, 0);
    answer_all(&e[0]);
    csched_poll(w->s, 0);
    uint32_t before = 0;
    while (before < MANY && next_tag(&e[0]) != FIRST)
        before++;
    CHECK(before > 32 && before < 80);
    answer_all(&e[1]);
    serve(w, e, 5 + MANY);
    for (uint32_t i = 0; i < 2; i++)
        close_lane(w, &e[i]);
    world_close(w);
}

/* A task with a large input waits for the lane that has it while others go before it, unless that lane has more to do
 * than it takes to bring the input. */
static void tasks_wait_where_large_inputs_have_stayed(void)
{
    enum { LARGE = 200 << 20, BUSY = 5, USER = 10, OTHER = 11 };
    static char reference[REFERENCE];
    static const struct {
        uint64_t tasks_ns, others_ns; /* of the function, and of all that ran there */
        bool goes, goes_later;
    } cases[] = {
        {20000000, 20000000, false, true}, {20000000, 1000000000, false, false}, {1000000000, 1000000000, true, false}};
    for (uint32_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        world_t *w = world_open(0);
        end_t e[2] = {open_lane(w), open_lane(w)};
        uint64_t maker = submit_at(w, 1, 0, e[1].index + 1, 0);
        take_tasks(&e[1], 1);
        for (uint32_t i = 0; i < 2; i++) {
            submit_at(w, BUSY + i, 0, e[1].index + 1, LARGE);
            submit_at(w, USER, maker, 0, 0);
        }
        answer_staying(&e[1], CSCHED_VALUE, reference, sizeof reference, 0, LARGE);
        suppose(w, cases[c].tasks_ns);
        suppose_there(w, cases[c].others_ns);
        csched_poll(w->s, 0);
        EQUAL(info_of(w, e[0].index).held, cases[c].goes ? 2 : 0);
        submit_at(w, OTHER, 0, 0, 0);
        if (cases[c].goes_later) {
            EQUAL(next_tag(&e[0]), OTHER);
            take_tasks(&e[1], 1);
            segment_t *segment = w->s->workers[e[1].index]->segment;
            u64_store_relaxed(&segment->claim_since, csched_now() - 1000000000); /* far longer than others */
            for (int tries = 0; !info_of(w, e[0].index).held && tries < 1000; tries++)
                csched_poll(w->s, 1000);
            EQUAL(next_tag(&e[0]), USER);
        }
        serve(w, e, 6);
        for (uint32_t i = 0; i < 2; i++)
            close_lane(w, &e[i]);
        world_close(w);
    }
}

/* Of many tasks with one large input only so many wait for it as are sooner run there: others have it brought. */
static void not_all_wait_for_the_lane_that_has_an_input(void)
{
    enum { LARGE = 100 << 20, MANY = 30, USER = 10 };
    static char reference[REFERENCE];
    world_t *w = world_open(0);
    end_t e[2] = {open_lane(w), open_lane(w)};
    uint64_t maker = submit_at(w, 1, 0, e[1].index + 1, 0);
    take_tasks(&e[1], 1);
    for (uint32_t i = 0; i < MANY; i++)
        submit_at(w, USER + i, maker, 0, 0);
    answer_staying(&e[1], CSCHED_VALUE, reference, sizeof reference, 0, LARGE);
    suppose(w, 20000000);
    suppose_there(w, 20000000);
    csched_poll(w->s, 0);
    CHECK(info_of(w, e[0].index).held > 0);
    serve(w, e, 1 + MANY);
    for (uint32_t i = 0; i < 2; i++)
        close_lane(w, &e[i]);
    world_close(w);
}

/* Where bringing inputs is slower than supposed, tasks wait longer for the lane that has them. */
static void what_bringing_inputs_takes_is_learned(void)
{
    enum { LARGE = 100 << 20, USER = 10 };
    static char reference[REFERENCE];
    static const struct {
        uint64_t took_ms, ns_each; /* KiB, afterwards */
    } cases[] = {{0, 2560}, {300, 2744}, {300, 2836}, {10000, 5514}, {1, 3269}};
    world_t *w = world_open(0);
    end_t e[2] = {open_lane(w), open_lane(w)};
    uint64_t maker = submit_at(w, 1, 0, e[1].index + 1, 0);
    take_tasks(&e[1], 1);
    answer_staying(&e[1], CSCHED_VALUE, reference, sizeof reference, 0, LARGE);
    csched_poll(w->s, 0);
    w->s->loads[e[1].index].window = 0; /* the lane is busy with other things */
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        submit_at(w, USER + i, maker, 0, 0);
        take_tasks(&e[0], 1);
        EQUAL(first_tag(&e[0]), USER + i);
        answer_after(&e[0], cases[i].took_ms * 1000000);
        csched_poll(w->s, 0);
        EQUAL(w->s->fetch_ns, cases[i].ns_each);
    }
    w->s->loads[e[1].index].window = 2;
    finish(w, 1 + sizeof cases / sizeof *cases);
    for (uint32_t i = 0; i < 2; i++)
        close_lane(w, &e[i]);
    world_close(w);
}

MAIN(TEST(what_bringing_inputs_takes_is_learned), TEST(tasks_wait_where_large_inputs_have_stayed),
     TEST(not_all_wait_for_the_lane_that_has_an_input), TEST(tasks_go_where_their_inputs_have_stayed),
     TEST(no_task_is_passed_for_ever))
