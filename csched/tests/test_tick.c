#include "internal.h"
#include "world.h"

static void limits_are_reported_once_per_attempt(void)
{
    world_t *w = world_open(1);
    world_thread(w);
    csched_options_t options = plain();
    options.timeout_ns = 1000000;
    uint64_t ticket = submit_with(w, (job_t){JOB_GATE, 0, 1}, &options);
    submit(w, JOB_NONE, 1, 0); /* behind it: its own time has not begun */
    csched_message_t message = only_message(w, CSCHED_OVERDUE);
    EQUAL(message.ticket, ticket);
    EQUAL(message.worker, 0);
    uint64_t later = csched_now() + 30000000;
    csched_message_t none;
    UNTIL((csched_poll(w->s, 0), csched_now() > later));
    EQUAL(csched_messages(w->s, 1, &none), 0);
    open_gate(1);
    finish(w, 2);
    world_close(w);
}

static void a_retry_has_its_limit_anew(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    csched_options_t options = plain();
    options.timeout_ns = 1000000;
    options.retries = 1;
    submit_with(w, (job_t){JOB_NONE, 0, 0}, &options);
    for (int attempt = 0; attempt < 2; attempt++) {
        UNTIL((csched_poll(w->s, 0), info_of(w, 0).held == 1));
        EQUAL(next_item(worker, CSCHED_TASK).flags, attempt);
        only_message(w, CSCHED_OVERDUE);
        OK(csched_worker_publish(worker, CSCHED_ERROR, 1, "late", 4, IN_LINE));
    }
    finish(w, 1);
    OK(csched_worker_detach(worker));
    world_close(w);
}

MAIN(TEST(limits_are_reported_once_per_attempt), TEST(a_retry_has_its_limit_anew))
