#include "blob.h"
#include "internal.h"

#include "world.h"

/* Tasks that no worker runs are told to the accounts with made-up times, as submission and drain would. */
#define SECOND UINT64_C(1000000000)

static csched_t *scheduler(uint32_t workers)
{
    csched_t *s;
    OK(csched_create(&(csched_config_t){.arena_bytes = 1 << 20, .journey_rows = 1024}, &s));
    for (uint32_t i = 0; i < workers; i++)
        account_worker(&s->accounts, 1, SECOND);
    return s;
}

static task_t submitted(csched_t *s, uint32_t serial, uint32_t run, uint64_t when)
{
    task_t task = {.ticket = (uint64_t)serial << 32 | serial % 50000,
                   .submitted = when,
                   .run = run,
                   .function = serial,
                   .count = 1};
    account_submitted(&s->accounts, &task);
    return task;
}

static void ended(csched_t *s, const task_t *task, worker_time_t *worker, uint64_t start, uint64_t end)
{
    const result_entry_t entry = {.received = start - 10, .started = start, .finished = end, .returned = end + 5};
    account_ended(&s->accounts, task, &entry, worker);
}

static csched_account_t account(csched_t *s, int64_t run)
{
    csched_account_t found;
    OK(csched_account(s, run, &found));
    return found;
}

static void sums_are_those_of_the_stamps(void)
{
    csched_t *s = scheduler(2);
    uint32_t run;
    OK(csched_run_open(s, &run));
    worker_time_t workers[2] = {0};
    uint64_t busy = 0, longest = 0, random = 7, last[2] = {2 * SECOND, 2 * SECOND};
    for (uint32_t i = 1; i <= 5000; i++) {
        task_t task = submitted(s, i, run, 2 * SECOND);
        uint64_t ran = next_random(&random) % 1000, *at = &last[i % 2];
        ended(s, &task, &workers[i % 2], *at + 20, *at + 20 + ran);
        *at += 20 + ran + 5;
        busy += ran;
        longest = ran > longest ? ran : longest;
    }
    uint64_t end = last[0] > last[1] ? last[0] : last[1];
    for (int64_t of = CSCHED_EVERY_RUN; of <= (int64_t)run; of++) {
        csched_account_t found = account(s, of);
        EQUAL(found.began, 2 * SECOND);
        EQUAL(found.ended, end);
        EQUAL(found.capacity, 2 * (end - 2 * SECOND));
        EQUAL(found.busy, busy);
        EQUAL(found.handling, 5000 * 15);
        EQUAL(found.longest, longest);
        EQUAL(found.span, longest);
        EQUAL(found.span_tasks, 1);
        EQUAL(found.others, 0);
        EQUAL(found.tasks, 5000);
        EQUAL(found.wasted, 0);
    }
    csched_destroy(s);
}

static void capacity_follows_the_number_of_workers(void)
{
    csched_t *s = scheduler(1);
    worker_time_t worker = {0};
    task_t task = submitted(s, 1, UINT32_MAX, 10 * SECOND);
    account_worker(&s->accounts, 1, 11 * SECOND);
    account_worker(&s->accounts, 1, 12 * SECOND);
    account_worker(&s->accounts, -1, 14 * SECOND);
    ended(s, &task, &worker, 11 * SECOND, 15 * SECOND - 5);
    EQUAL(account(s, CSCHED_EVERY_RUN).capacity, (1 + 2 + 3 + 3 + 2) * SECOND);
    csched_destroy(s);
}

static void other_runs_are_told_apart(void)
{
    csched_t *s = scheduler(2);
    uint32_t one, other;
    OK(csched_run_open(s, &one));
    OK(csched_run_open(s, &other));
    worker_time_t workers[2] = {0};
    task_t a = submitted(s, 1, one, SECOND), b = submitted(s, 2, other, SECOND);
    ended(s, &b, &workers[0], SECOND + 100, SECOND + 400);
    ended(s, &a, &workers[1], SECOND + 100, SECOND + 800);
    EQUAL(account(s, one).busy, 700);
    EQUAL(account(s, one).others, 300 + 15);
    EQUAL(account(s, other).busy, 300);
    EQUAL(account(s, other).others, 0); /* at its end the other one had not ended */
    EQUAL(account(s, CSCHED_EVERY_RUN).busy, 1000);
    csched_destroy(s);
}

static void attempts_without_an_outcome_are_wasted(void)
{
    csched_t *s = scheduler(1);
    worker_time_t worker = {0};
    task_t task = submitted(s, 1, UINT32_MAX, SECOND);
    account_wasted(&s->accounts, &task, SECOND + 10, SECOND + 60, &worker);
    ended(s, &task, &worker, SECOND + 100, SECOND + 130);
    csched_account_t found = account(s, CSCHED_EVERY_RUN);
    EQUAL(found.busy, 80);
    EQUAL(found.wasted, 50);
    EQUAL(found.span, 30);
    csched_destroy(s);
}

enum { NODES = 20000, INPUTS = 3 };

/* Each task of a random graph takes the results of up to three earlier ones; all of one run, or of two in turn. */
static void the_longest_chain_is_that_of_the_graph(void)
{
    static uint64_t longest[NODES + 1], in_run[NODES + 1], ran[NODES + 1];
    csched_t *s = scheduler(1);
    uint32_t runs[2];
    OK(csched_run_open(s, &runs[0]));
    OK(csched_run_open(s, &runs[1]));
    worker_time_t worker = {0};
    uint64_t random = 5, most = 0, most_in[2] = {0}, now = SECOND;
    for (uint32_t i = 1; i <= NODES; i++) {
        task_t task = submitted(s, i, runs[i % 2], SECOND);
        longest[i] = in_run[i] = 0;
        task.input_count = i > 1 ? (uint32_t)(next_random(&random) % (INPUTS + 1)) : 0;
        for (uint32_t k = 0; k < task.input_count; k++) {
            uint32_t from = 1 + (uint32_t)(next_random(&random) % (i - 1));
            account_input(&s->accounts, &task, (uint64_t)from << 32 | from % 50000);
            longest[i] = longest[from] > longest[i] ? longest[from] : longest[i];
            if (from % 2 == i % 2)
                in_run[i] = in_run[from] > in_run[i] ? in_run[from] : in_run[i];
        }
        ran[i] = 1 + next_random(&random) % 1000;
        longest[i] += ran[i];
        in_run[i] += ran[i];
        most = longest[i] > most ? longest[i] : most;
        most_in[i % 2] = in_run[i] > most_in[i % 2] ? in_run[i] : most_in[i % 2];
        ended(s, &task, &worker, now + 20, now + 20 + ran[i]);
        now += 2000;
    }
    csched_account_t found = account(s, CSCHED_EVERY_RUN);
    static uint64_t tickets[NODES];
    static uint32_t functions[NODES];
    EQUAL(found.span, most);
    EQUAL(account(s, runs[0]).span, most_in[0]);
    EQUAL(account(s, runs[1]).span, most_in[1]);
    EQUAL(found.partial, 0);
    EQUAL(csched_account_chain(s, found.span_ticket, NODES, tickets, functions), (int)found.span_tasks);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < found.span_tasks; i++)
        sum += ran[functions[i]];
    EQUAL(sum, most);
    csched_destroy(s);
}

static void an_input_may_be_told_after_the_end(void)
{
    csched_t *s = scheduler(1);
    worker_time_t worker = {0};
    task_t first = submitted(s, 1, UINT32_MAX, SECOND), second = submitted(s, 2, UINT32_MAX, SECOND);
    ended(s, &first, &worker, SECOND + 20, SECOND + 120);
    ended(s, &second, &worker, SECOND + 220, SECOND + 250);
    EQUAL(account(s, CSCHED_EVERY_RUN).span, 100);
    account_late_input(&s->accounts, NULL, second.ticket, first.ticket);
    EQUAL(account(s, CSCHED_EVERY_RUN).span, 130);
    EQUAL(account(s, CSCHED_EVERY_RUN).span_tasks, 2);
    EQUAL(account(s, CSCHED_EVERY_RUN).partial, 0);
    csched_destroy(s);
}

static void chains_that_are_not_known_any_more_are_said(void)
{
    csched_t *s = scheduler(1);
    worker_time_t worker = {0};
    task_t first = submitted(s, 1, UINT32_MAX, SECOND);
    ended(s, &first, &worker, SECOND + 20, SECOND + 50);
    for (uint32_t i = 2; i <= CHAINS_ENDED + 1; i++) {
        task_t task = submitted(s, i, UINT32_MAX, SECOND);
        ended(s, &task, &worker, SECOND + 60, SECOND + 61);
    }
    EQUAL(account(s, CSCHED_EVERY_RUN).partial, 0);
    task_t last = submitted(s, CHAINS_ENDED + 2, UINT32_MAX, SECOND);
    last.input_count = 1;
    account_input(&s->accounts, &last, first.ticket);
    EQUAL(account(s, CSCHED_EVERY_RUN).partial, 1);
    csched_destroy(s);
}

static void earlier_work_is_no_part_of_a_chain(void)
{
    csched_t *s = scheduler(1);
    worker_time_t worker = {0};
    task_t first = submitted(s, 1, UINT32_MAX, SECOND);
    ended(s, &first, &worker, SECOND + 20, SECOND + 520);
    OK(csched_account_begin(s));
    task_t second = submitted(s, 2, UINT32_MAX, 2 * SECOND);
    second.input_count = 1;
    account_input(&s->accounts, &second, first.ticket);
    ended(s, &second, &worker, 2 * SECOND + 20, 2 * SECOND + 120);
    csched_account_t found = account(s, CSCHED_EVERY_RUN);
    EQUAL(found.began, 2 * SECOND);
    EQUAL(found.busy, 100);
    EQUAL(found.span, 100);
    EQUAL(found.partial, 0);
    csched_destroy(s);
}

static void elements_of_chunks_are_told_from_lone_tasks(void)
{
    csched_t *s = scheduler(1);
    worker_time_t worker = {0};
    task_t lone = submitted(s, 1, UINT32_MAX, SECOND), chunk = submitted(s, 2, UINT32_MAX, SECOND);
    chunk.count = 7;
    ended(s, &lone, &worker, SECOND + 20, SECOND + 30);
    ended(s, &chunk, &worker, SECOND + 50, SECOND + 90);
    csched_account_t found = account(s, CSCHED_EVERY_RUN);
    EQUAL(found.tasks, 8);
    EQUAL(found.chunks, 7);
    csched_destroy(s);
}

static void work_begins_only_when_all_is_over(void)
{
    csched_t *s = scheduler(1);
    OK(csched_reserve(s, 16));
    CHECK(csched_submit(s, 1, 0, UINT32_MAX, "", 0, 0) > 0);
    uint64_t began = account(s, CSCHED_EVERY_RUN).began;
    OK(csched_account_begin(s));
    CHECK(csched_submit(s, 2, 0, UINT32_MAX, "", 0, 0) > 0);
    EQUAL(account(s, CSCHED_EVERY_RUN).began, began);
    csched_account_t none;
    EQUAL(csched_account(s, 77, &none), CSCHED_EINVAL);
    csched_destroy(s);
}

static void workers_wait_before_their_first_and_after_their_last_task(void)
{
    world_t *w = world_open(0);
    world_threads(w, 2);
    for (uint32_t i = 0; i < 40; i++)
        submit(w, JOB_ECHO, i, 0);
    finish(w, 40);
    csched_account_t found = account(w->s, CSCHED_EVERY_RUN);
    EQUAL(found.tasks, 40);
    CHECK(found.began && found.ended > found.began && found.capacity <= 2 * (found.ended - found.began));
    CHECK(found.busy + found.handling + found.head + found.tail + found.unused <= found.capacity + 40);
    world_close(w);
}

static void bytes_are_those_of_arguments_and_results(void)
{
    csched_t *s = scheduler(1);
    uint32_t run;
    OK(csched_run_open(s, &run));
    worker_time_t worker = {0};
    char arguments[100] = {0};
    uint64_t sent, received;
    for (uint32_t i = 1; i <= 3; i++) {
        task_t task = submitted(s, i, i == 3 ? UINT32_MAX : run, 2 * SECOND);
        task.function = 7;
        OK(blob_from_bytes(arguments, sizeof arguments, &task.payload));
        result_entry_t entry = {.payload = {.region = i == 2 ? REGION_NONE : REGION_INLINE, .size = 5000}};
        account_ended(&s->accounts, &task, &entry, &worker);
        blob_release(s, task.payload);
    }
    OK(csched_account_add(s, run, 8, 1000000, 2));
    csched_account_t of_run = account(s, run), of_work = account(s, CSCHED_EVERY_RUN);
    EQUAL(of_run.sent, 1000200);
    EQUAL(of_run.received, 5002);
    EQUAL(of_work.sent, 1000300);
    EQUAL(of_work.received, 10002);
    OK(csched_account_moved(s, 7, &sent, &received));
    EQUAL(sent, 300);
    EQUAL(received, 10000);
    OK(csched_account_moved(s, 8, &sent, &received));
    EQUAL(sent, 1000000);
    OK(csched_account_moved(s, 4000, &sent, &received));
    EQUAL(sent + received, 0);
    OK(csched_account_begin(s));
    submitted(s, 4, run, 9 * SECOND);
    OK(csched_account_moved(s, 7, &sent, &received));
    EQUAL(sent + received, 0); /* of an earlier piece of work */
    EQUAL(account(s, run).sent, 1000200);
    csched_destroy(s);
}

static void what_is_still_to_be_done_is_known_by_function(void)
{
    world_t *w = world_open(0);
    csched_backlog_t found[4];
    EQUAL(csched_backlogs(w->s, 4, found), 0);
    for (uint32_t i = 0; i < 40; i++)
        submit(w, JOB_ECHO, i, 0);
    EQUAL(csched_backlogs(w->s, 4, found), 1);
    EQUAL(found[0].tasks, 40);
    EQUAL(found[0].outstanding, 40);
    EQUAL(found[0].ran, 0);
    world_threads(w, 2);
    finish(w, 40);
    EQUAL(csched_backlogs(w->s, 4, found), 0);
    submit(w, JOB_GATE, 0, 0);
    EQUAL(csched_backlogs(w->s, 4, found), 1);
    EQUAL(found[0].outstanding, 1);
    EQUAL(found[0].ran, 40);
    CHECK(found[0].spent > 0);
    open_gate(0);
    finish(w, 41);
    EQUAL(csched_backlogs(w->s, 4, found), 0);
    world_close(w);
}

static void a_chunk_counts_by_its_elements(void)
{
    csched_t *s = scheduler(0);
    csched_backlog_t found;
    OK(csched_reserve(s, 4));
    uint32_t run;
    OK(csched_run_open(s, &run));
    const csched_options_t many = {.count = 7};
    int64_t ticket = csched_submit_with(s, 1, 0, run, "", 0, 0, &many);
    CHECK(ticket > 0);
    EQUAL(csched_backlogs(s, 1, &found), 1);
    EQUAL(found.tasks, 1);
    EQUAL(found.outstanding, 7);
    EQUAL(account(s, run).outstanding, 7);
    EQUAL(csched_cancel(s, (uint64_t)ticket), 1);
    EQUAL(csched_backlogs(s, 1, &found), 0);
    EQUAL(account(s, run).outstanding, 0);
    csched_destroy(s);
}

MAIN(TEST(sums_are_those_of_the_stamps), TEST(capacity_follows_the_number_of_workers), TEST(other_runs_are_told_apart),
     TEST(attempts_without_an_outcome_are_wasted), TEST(the_longest_chain_is_that_of_the_graph),
     TEST(an_input_may_be_told_after_the_end), TEST(chains_that_are_not_known_any_more_are_said),
     TEST(bytes_are_those_of_arguments_and_results), TEST(earlier_work_is_no_part_of_a_chain),
     TEST(work_begins_only_when_all_is_over), TEST(elements_of_chunks_are_told_from_lone_tasks),
     TEST(workers_wait_before_their_first_and_after_their_last_task),
     TEST(what_is_still_to_be_done_is_known_by_function), TEST(a_chunk_counts_by_its_elements))
