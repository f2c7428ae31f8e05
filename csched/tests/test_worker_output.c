#include "internal.h"
#include "world.h"

enum { LOOK_US = 60 };

static void pass_time(void)
{
    double end = seconds_now() + LOOK_US / 1e6;
    while (seconds_now() < end)
        ;
}

static csched_worker_t *listening(world_t *w, int out[2], int err[2])
{
    csched_worker_t *worker = by_hand(w);
    CHECK(pipe(out) == 0 && pipe(err) == 0);
    OK(csched_worker_listen(worker, (int[]){out[0], err[0]}));
    return worker;
}

static void closing(world_t *w, csched_worker_t *worker, const int out[2], const int err[2])
{
    for (int i = 0; i < 2; i++) {
        close(out[i]);
        close(err[i]);
    }
    OK(csched_worker_detach(worker));
    world_close(w);
}

static void output_is_heard_before_the_result(void)
{
    int out[2], err[2];
    world_t *w = world_open(0);
    csched_worker_t *worker = listening(w, out, err);
    const int *pipes[] = {out, err};
    for (uint64_t i = 0; i < 2; i++) {
        submit(w, JOB_NONE, 0, 0);
        next_item(worker, CSCHED_TASK);
        pass_time();
        CHECK(write(pipes[i][1], "x", 1) == 1);
        EQUAL(csched_worker_publish(worker, CSCHED_NONE, 0, NULL, 0, IN_LINE), CSCHED_EOUTPUT);
        CHECK(csched_worker_current(worker) != 0);
        pass_time();
        publish_none(worker); /* once a task, whatever is still there */
        finish(w, i + 1);
        char c;
        CHECK(read(pipes[i][0], &c, 1) == 1);
    }
    submit(w, JOB_NONE, 0, 0);
    next_item(worker, CSCHED_TASK);
    pass_time();
    publish_none(worker); /* nothing there */
    finish(w, 3);
    closing(w, worker, out, err);
}

static void the_end_of_what_the_kernel_reads_is_told(void)
{
    int out[2], err[2];
    world_t *w = world_open(0);
    csched_worker_t *worker = listening(w, out, err);
    uint64_t ticket = submit(w, JOB_NONE, 0, 0);
    next_item(worker, CSCHED_TASK);
    OK(csched_worker_output_read(w->s, 0, ticket));
    EQUAL(csched_worker_output_read(w->s, 9, ticket), CSCHED_EINVAL);
    EQUAL(csched_task_run(w->s, ticket), 0);
    EQUAL(csched_task_run(w->s, ticket + 1), UINT32_MAX);
    EQUAL(csched_serial(w->s), ticket >> 32);
    pass_time();
    EQUAL(csched_worker_publish(worker, CSCHED_NONE, 0, NULL, 0, IN_LINE), CSCHED_EOUTPUT);
    publish_none(worker);
    finish(w, 1);
    closing(w, worker, out, err);
}

static void one_reads_native_output_at_a_time(void)
{
    int out[2], err[2];
    world_t *w = world_open(0);
    csched_worker_t *worker = listening(w, out, err);
    EQUAL(csched_worker_output_turn(worker, 1), 1);
    EQUAL(csched_worker_output_turn(worker, 1), 1); /* still: it was interrupted before it gave it up */
    EQUAL(csched_output_turn(w->s, 0, 1), 0);
    EQUAL(csched_output_turn(w->s, 0, 0), 0); /* not the kernel's to give */
    EQUAL(csched_output_turn(w->s, 0, 1), 0);
    EQUAL(csched_worker_output_turn(worker, 0), 0);
    EQUAL(csched_output_turn(w->s, 0, 1), 1);
    EQUAL(csched_worker_output_turn(worker, 1), 0);
    EQUAL(csched_worker_output_turn(worker, 0), 0);
    EQUAL(csched_worker_output_turn(worker, 1), 0);
    EQUAL(csched_output_turn(w->s, 0, 0), 0);
    EQUAL(csched_worker_output_turn(worker, 1), 1);
    EQUAL(csched_output_turn(w->s, 9, 1), CSCHED_EINVAL);
    EQUAL(csched_worker_output_turn(worker, 0), 0);
    closing(w, worker, out, err);
}

static void the_place_within_a_chunk(void)
{
    int out[2], err[2];
    world_t *w = world_open(0);
    csched_worker_t *worker = listening(w, out, err);
    submit(w, JOB_NONE, 0, 0);
    next_item(worker, CSCHED_TASK);
    OK(csched_worker_element(worker, 7));
    EQUAL(csched_worker_current_element(worker), 7);
    EQUAL(info_of(w, 0).element, 7);
    publish_none(worker);
    finish(w, 1);
    closing(w, worker, out, err);
}

MAIN(TEST(output_is_heard_before_the_result), TEST(the_end_of_what_the_kernel_reads_is_told),
     TEST(one_reads_native_output_at_a_time), TEST(the_place_within_a_chunk))
