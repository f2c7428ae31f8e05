#include "internal.h"
#include "window.h"
#include "world.h"

enum { GPU = 1, LICENCE = 2 };

static const csched_need_t one_gpu = {.resource = GPU, .amount = 1};
static const char *const policies[] = {"least-loaded", "round-robin", "random", "work-stealing"};

static csched_options_t asking(const csched_need_t *needs, uint64_t count)
{
    csched_options_t options = plain();
    options.needs = needs;
    options.need_count = count;
    return options;
}

static uint64_t ask(world_t *w, job_kind_t kind, uint32_t tag, uint64_t value)
{
    csched_options_t options = asking(&one_gpu, 1);
    return submit_with(w, (job_t){kind, tag, value}, &options);
}

static csched_resource_t resource_of(world_t *w, uint32_t resource)
{
    csched_resource_t found;
    OK(csched_resource_info(w->s, resource, &found));
    return found;
}

static bool at_gate(uint32_t gate, uint32_t count)
{
    return u32_acquire(&board->at_gate[gate]) == count;
}

static world_t *open_with(uint32_t helper, uint64_t gpus)
{
    world_t *w = world_open(helper);
    OK(csched_resource_set(w->s, GPU, gpus));
    return w;
}

static void nothing_is_held(world_t *w)
{
    EQUAL(resource_of(w, GPU).used, 0);
    EQUAL(resource_of(w, GPU).holders, 0);
    EQUAL(w->s->graph.resources.allocations, 0);
    EQUAL(w->s->graph.ready.parked, 0);
    world_close(w);
}

/* The test's name is the policy's. */
static void as_many_at_once_as_there_are(void)
{
    world_t *w = open_with(1, 2);
    OK(csched_set_policy(w->s, running_test->name));
    world_threads(w, 4);
    uint64_t tickets[4];
    for (uint32_t t = 0; t < 4; t++)
        tickets[t] = ask(w, JOB_GATE, t, 1 + t / 2);
    UNTIL(at_gate(1, 2));
    OK(csched_set_policy(w->s, "least-loaded")); /* others leave tasks behind those that run */
    for (uint32_t n = 0; n < 100; n++)
        submit(w, JOB_NONE, 10 + n, 0);
    finish(w, 100); /* tasks without demands are not delayed */
    EQUAL(csched_task_state(w->s, tickets[2]), 1);
    EQUAL(stats_of(w).waiting, 2);
    EQUAL(stats_of(w).queued, 0);
    EQUAL(resource_of(w, GPU).used, 2);
    csched_why_t why;
    OK(csched_why(w->s, tickets[3], &why));
    EQUAL(why.reason, CSCHED_WHY_RESOURCE);
    EQUAL(why.resource, GPU);
    EQUAL(why.wanted, 1);
    EQUAL(why.used, 2);
    EQUAL(why.total, 2);
    EQUAL(why.same, 1);
    EQUAL(why.holder_count, 2);
    EQUAL(why.holders[0] + why.holders[1], tickets[0] + tickets[1]);
    open_gate(1);
    UNTIL(at_gate(2, 2));
    open_gate(2);
    finish(w, 104);
    nothing_is_held(w);
}

static void why_it_waits_for_another_one(void)
{
    world_t *w = open_with(1, 2);
    world_threads(w, 2);
    csched_need_t two = {.resource = GPU, .amount = 2};
    csched_options_t big = asking(&two, 1);
    big.priority = 1;
    ask(w, JOB_GATE, 0, 1);
    UNTIL(at_gate(1, 1));
    uint64_t first = submit_with(w, (job_t){JOB_NONE, 1, 0}, &big), second = ask(w, JOB_NONE, 2, 0);
    csched_why_t why;
    OK(csched_why(w->s, second, &why));
    EQUAL(why.reason, CSCHED_WHY_RESOURCE);
    EQUAL(why.used, 1);
    EQUAL(why.first, first);
    EQUAL(why.first_wanted, 2);
    EQUAL(csched_cancel(w->s, first), 1);
    finish(w, 2); /* the second one has it now */
    open_gate(1);
    finish(w, 3);
    nothing_is_held(w);
}

static void requests_that_make_no_sense(void)
{
    static const csched_need_t cases[] = {{GPU, 0, 3}, {GPU, 0, 0}, {LICENCE, 0, 1}, {64, 0, 1}};
    world_t *w = open_with(0, 2);
    OK(csched_reserve(w->s, 8));
    for (uint32_t i = 0; i < 4; i++) {
        csched_options_t options = asking(&cases[i], 1);
        EQUAL(csched_submit_with(w->s, 0, 0, 0, NULL, 0, 0, &options), CSCHED_EINVAL);
    }
    csched_options_t many = asking(cases, 9);
    EQUAL(csched_submit_with(w->s, 0, 0, 0, NULL, 0, 0, &many), CSCHED_EINVAL);
    EQUAL(csched_resource_set(w->s, 64, 1), CSCHED_EINVAL);
    EQUAL(csched_resource_set(w->s, GPU, UINT64_MAX), CSCHED_EINVAL);
    csched_resource_t info;
    EQUAL(csched_resource_info(w->s, 64, &info), CSCHED_EINVAL);
    EQUAL(stats_of(w).submitted, 0);
    nothing_is_held(w);
}

static void totals_change(void)
{
    world_t *w = open_with(1, 2);
    world_threads(w, 4);
    csched_need_t two = {.resource = GPU, .amount = 2};
    csched_options_t options = asking(&two, 1);
    submit_with(w, (job_t){JOB_GATE, 0, 1}, &options);
    UNTIL(at_gate(1, 1));
    ask(w, JOB_GATE, 1, 2);
    EQUAL(csched_resource_set(w->s, GPU, 1), CSCHED_EINVAL); /* it would never run */
    EQUAL(csched_task_state(w->s, 2), 0);
    OK(csched_resource_set(w->s, GPU, 3));
    UNTIL(at_gate(2, 1));
    open_gate(1);
    finish(w, 1);
    OK(csched_resource_set(w->s, GPU, 1)); /* below the used amount: the next task waits */
    ask(w, JOB_NONE, 2, 0);
    EQUAL(stats_of(w).waiting, 1);
    open_gate(2);
    finish(w, 3);
    nothing_is_held(w);
}

/* A task gives its allocation back however it ends. */
static void every_end_gives_back(void)
{
    world_t *w = open_with(1, 1);
    csched_worker_t *dying = by_hand(w);
    csched_options_t options = asking(&one_gpu, 1);
    ask(w, JOB_NONE, 0, 0);
    next_item(dying, CSCHED_TASK);
    OK(csched_worker_lost(w->s, w->hands[0].index));
    finish(w, 1);
    EQUAL(w->by_status[CSCHED_LOST], 1);
    OK(csched_worker_detach(dying));
    world_thread(w);
    ask(w, JOB_SUM, 1, 5);
    ask(w, JOB_FAIL, 2, 9);
    finish(w, 3);
    options.retries = 2;
    submit_with(w, (job_t){JOB_FAIL, 3, 1}, &options);
    finish(w, 4);
    uint64_t failed = submit(w, JOB_FAIL, 4, 9);
    options = asking(&one_gpu, 1);
    options.inputs = &failed;
    options.input_count = 1;
    submit_with(w, (job_t){JOB_NONE, 5, 0}, &options);
    finish(w, 6);
    EQUAL(w->by_status[CSCHED_DEPENDENCY], 1);
    ask(w, JOB_GATE, 6, 1);
    UNTIL(at_gate(1, 1));
    uint64_t parked = ask(w, JOB_NONE, 7, 0);
    ask(w, JOB_NONE, 8, 0);
    EQUAL(csched_cancel(w->s, parked), 1);
    EQUAL(csched_cancel_all(w->s), 1);
    open_gate(1);
    finish(w, 9);
    EQUAL(w->by_status[CSCHED_CANCELLED], 2);
    nothing_is_held(w);
}

/* Between two attempts other tasks may have it. */
static void a_retry_that_waits_holds_nothing(void)
{
    world_t *w = open_with(1, 1);
    world_thread(w);
    csched_options_t options = asking(&one_gpu, 1);
    options.retries = 3;
    options.ask = 1;
    uint64_t ticket = submit_with(w, (job_t){JOB_FAIL, 0, 1}, &options);
    only_message(w, CSCHED_ATTEMPT);
    EQUAL(resource_of(w, GPU).used, 0);
    ask(w, JOB_NONE, 1, 0);
    finish(w, 1);
    OK(csched_retry(w->s, ticket, 0));
    finish(w, 2);
    options.retries = 1;
    ticket = submit_with(w, (job_t){JOB_FAIL, 2, 9}, &options);
    only_message(w, CSCHED_ATTEMPT);
    OK(csched_give_up(w->s, ticket, CSCHED_TIMEOUT));
    finish(w, 3);
    nothing_is_held(w);
}

static void what_is_stopped_gives_back(void)
{
    world_t *w = open_with(1, 1);
    world_thread(w);
    uint64_t running = ask(w, JOB_GATE, 0, 1);
    UNTIL(at_gate(1, 1));
    ask(w, JOB_NONE, 1, 0);
    csched_target_t target;
    EQUAL(csched_stop_task(w->s, running, &target), 2);
    EQUAL(resource_of(w, GPU).used, 1); /* it runs still */
    open_gate(1);
    finish(w, 2);
    nothing_is_held(w);
}

static void pause_and_cancel(void)
{
    world_t *w = open_with(1, 1);
    world_threads(w, 2);
    ask(w, JOB_GATE, 0, 1);
    UNTIL(at_gate(1, 1));
    uint64_t first = ask(w, JOB_NONE, 1, 0), second = ask(w, JOB_NONE, 2, 0);
    OK(csched_pause(w->s, 1));
    open_gate(1);
    finish(w, 1);
    csched_why_t why;
    OK(csched_why(w->s, second, &why));
    EQUAL(why.reason, CSCHED_WHY_PAUSED);
    EQUAL(csched_cancel(w->s, first), 1); /* its queue had been woken */
    EQUAL(csched_set_priority(w->s, second, 5), 1);
    OK(csched_pause(w->s, 0));
    finish(w, 3);
    nothing_is_held(w);
}

/* An idle worker comes first; a task with an allocation does not stay behind a long task. */
static void not_behind_others(void)
{
    for (uint32_t i = 0; i < 4; i++) {
        world_t *w = open_with(0, 2);
        OK(csched_set_policy(w->s, policies[i]));
        csched_worker_t *one = by_hand(w), *other = by_hand(w);
        submit(w, JOB_NONE, 0, 0);
        uint32_t busy = info_of(w, 0).held ? 0 : 1;
        uint32_t slots[3];
        slots[0] = next_item(busy ? other : one, CSCHED_TASK).slot;
        ask(w, JOB_NONE, 1, 0);
        EQUAL(info_of(w, 1 - busy).held, 1);
        slots[1] = next_item(busy ? one : other, CSCHED_TASK).slot;
        ask(w, JOB_NONE, 2, 0); /* no worker is idle: behind one of them */
        EQUAL(resource_of(w, GPU).used, 2);
        uint32_t behind = info_of(w, 0).held == 2 ? 0 : 1;
        EQUAL(info_of(w, behind).held, 2);
        window_learn(w->s, behind, 1000000); /* tasks are long there */
        publish_none(behind ? one : other);
        csched_poll(w->s, 0); /* that worker is idle now */
        EQUAL(info_of(w, 1 - behind).held, 1);
        EQUAL(next_item(behind ? one : other, CSCHED_TASK).slot, 2);
        publish_none(one);
        publish_none(other);
        finish(w, 3);
        OK(csched_worker_detach(one));
        OK(csched_worker_detach(other));
        EQUAL(slots[0] + slots[1], 1);
        nothing_is_held(w);
    }
}

/* A task taken back for a higher priority returns the resource that a still higher priority waits for. */
static void a_wait_queue_moves_while_room_is_made(void)
{
    world_t *w = open_with(0, 1);
    csched_worker_t *worker = by_hand(w);
    csched_options_t high = asking(&one_gpu, 1), middle = plain();
    high.priority = 9;
    middle.priority = 5;
    submit(w, JOB_NONE, 0, 0);
    EQUAL(next_item(worker, CSCHED_TASK).slot, 0);
    ask(w, JOB_NONE, 1, 0); /* in the window, with the gpu */
    EQUAL(resource_of(w, GPU).used, 1);
    submit_with(w, (job_t){JOB_NONE, 2, 0}, &high); /* waits for it */
    EQUAL(csched_task_state(w->s, 0), 0);
    submit_with(w, (job_t){JOB_NONE, 3, 0}, &middle); /* takes the first one's place */
    uint32_t order[3];
    for (uint32_t i = 0; i < 3; i++) {
        publish_none(worker);
        csched_poll(w->s, 0);
        order[i] = next_item(worker, CSCHED_TASK).slot;
    }
    publish_none(worker);
    finish(w, 4);
    EQUAL(order[0], 2);
    EQUAL(order[1], 3);
    EQUAL(order[2], 1);
    OK(csched_worker_detach(worker));
    nothing_is_held(w);
}

/* Many tasks with different demands, on threads and under every policy: never too much at once, and all run. */
static void all_of_many_run(void)
{
    uint32_t count = SCALED(4000);
    uint64_t state = 77;
    world_t *w = open_with(1, 5);
    OK(csched_resource_set(w->s, LICENCE, 3));
    world_threads(w, 3);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t dice = next_random(&state) >> 8;
        csched_need_t needs[2] = {{GPU, 0, 1 + dice % 5}, {LICENCE, 0, 1 + dice / 8 % 3}};
        uint64_t needed = dice / 64 % 4;
        csched_options_t options = asking(needed == 3 ? &needs[1] : needs, needed == 3 ? 1 : needed);
        options.priority = (int32_t)(dice / 512 % 3) - 1;
        options.retries = 1;
        uint64_t ticket = submit_with(w, (job_t){dice / 4096 % 2 ? JOB_NONE : JOB_FAIL, i, dice / 16384 % 3}, &options);
        if (dice / 65536 % 16 == 0)
            csched_cancel(w->s, ticket);
        if (i % 1000 == 999)
            OK(csched_set_policy(w->s, policies[i / 1000 % 4]));
        CHECK(resource_of(w, GPU).used <= 5);
        CHECK(resource_of(w, LICENCE).used <= 3);
        collect_some(w);
    }
    finish(w, count);
    EQUAL(resource_of(w, LICENCE).used, 0);
    nothing_is_held(w);
}

MAIN({"least-loaded", as_many_at_once_as_there_are}, {"round-robin", as_many_at_once_as_there_are},
     {"random", as_many_at_once_as_there_are}, {"work-stealing", as_many_at_once_as_there_are},
     TEST(why_it_waits_for_another_one), TEST(requests_that_make_no_sense), TEST(totals_change),
     TEST(every_end_gives_back), TEST(a_retry_that_waits_holds_nothing), TEST(what_is_stopped_gives_back),
     TEST(pause_and_cancel), TEST(not_behind_others), TEST(a_wait_queue_moves_while_room_is_made),
     TEST(all_of_many_run))
