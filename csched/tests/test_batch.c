/* Batches: what csched_submit_many makes of its arrays, where it stops, and what csched_discard gives back. */
#include "csched_lab.h"
#include "world.h"

enum { TASKS = 2000 };

static uint64_t tickets[TASKS], ends[TASKS], inputs[3 * TASKS];
static uint32_t slots[TASKS];

static csched_batch_t batch_of(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        slots[i] = i;
    return (csched_batch_t){.count = count, .slots = slots, .tickets = tickets};
}

static void discard_all(world_t *w, uint32_t count)
{
    uint32_t freed[64], seen[TASKS] = {0};
    for (uint32_t done = 0; done < count;) {
        csched_wait(w->s, 50);
        int n = csched_discard(w->s, 64, freed);
        CHECK(n >= 0 && n <= 64);
        for (int i = 0; i < n; i++)
            EQUAL(seen[freed[i]]++, 0);
        done += (uint32_t)n;
    }
    uint32_t none;
    EQUAL(csched_discard(w->s, 1, &none), 0);
}

static void every_task_with_its_payload(void)
{
    world_t *w = world_open(0);
    job_t jobs[300];
    uint64_t bytes[300];
    csched_batch_t batch = batch_of(300);
    for (uint32_t i = 0; i < 300; i++) {
        jobs[i] = (job_t){JOB_NONE, i, 0};
        bytes[i] = (i + 1) * sizeof(job_t);
    }
    batch.data = jobs;
    batch.data_ends = bytes;
    OK(csched_reserve(w->s, 300));
    world_threads(w, 2);
    EQUAL(csched_submit_many(w->s, &batch), 300);
    finish(w, 300);
    for (uint32_t i = 0; i < 300; i++)
        EQUAL(board->ran[i], 1);
    EQUAL(stats_of(w).submitted, 300);
    EQUAL(stats_of(w).succeeded, 300);
    world_close(w);
}

/* Inputs within the batch and from before it: no task runs before its inputs. */
static void inputs_by_position_and_by_ticket(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    OK(csched_reserve(w->s, TASKS));
    int64_t before = csched_submit(w->s, TASKS - 1, 0, 0, NULL, 0, 0);
    CHECK(before > 0);
    csched_batch_t batch = batch_of(3);
    const uint64_t from[] = {(uint64_t)before, 0, 0, 1}, until[] = {1, 2, 4}; /* a chain, and a way round */
    batch.inputs = from;
    batch.input_ends = until;
    EQUAL(csched_submit_many(w->s, &batch), 3);
    const uint32_t order[] = {TASKS - 1, 0, 1, 2}, counts[] = {0, 1, 1, 2};
    for (int i = 0; i < 4; i++) {
        csched_item_t item = next_item(worker, CSCHED_TASK);
        EQUAL(item.slot, order[i]);
        EQUAL(item.inputs, counts[i]);
        for (uint32_t k = 0; k < item.inputs; k++) {
            uint32_t status;
            uint64_t address, size;
            OK(csched_worker_input(worker, k, &status, &address, &size));
            EQUAL(status, CSCHED_NONE);
            EQUAL(size, 0);
        }
        publish_none(worker);
        csched_poll(w->s, 0);
    }
    discard_all(w, 4);
    world_close(w);
    OK(csched_worker_detach(worker));
}

static uint32_t sums;

static void count_sums(world_t *w, const csched_completion_t *completion)
{
    uint64_t value = 0;
    (void)w;
    if (completion->size == sizeof value)
        memcpy(&value, (const void *)(uintptr_t)completion->address, sizeof value);
    sums += value == 17;
}

/* None, a value, None: the value gets its position, in any order of the inputs. */
static void inputs_of_which_some_are_none(void)
{
    world_t *w = world_open(0);
    csched_options_t options = plain();
    uint64_t from[3];
    options.inputs = from;
    options.input_count = 3;
    uint64_t gate = submit(w, JOB_GATE, 0, 1);
    for (uint32_t i = 0; i < 60; i++) {
        for (uint32_t k = 0; k < 3; k++) /* some wait, some are there */
            from[k] = k == i % 3                  ? submit(w, JOB_SUM, 0, 7)
                      : k == (i + 1) % 3 && i % 2 ? gate
                                                  : submit(w, JOB_NONE, 0, 0);
        submit_with(w, (job_t){JOB_SUM, i, 10}, &options);
    }
    w->on_completion = count_sums;
    world_threads(w, 2);
    open_gate(1);
    finish(w, w->next_slot);
    EQUAL(w->by_status[CSCHED_VALUE], 120);
    EQUAL(sums, 60);
    EQUAL(w->by_status[CSCHED_DEPENDENCY], 0);
    world_close(w);
}

static void a_batch_ends_where_it_cannot_go_on(void)
{
    world_t *w = world_open(0);
    OK(csched_reserve(w->s, 4096));
    csched_batch_t batch = batch_of(700);
    batch.priority = 5;
    slots[650] = 5000; /* no such slot */
    EQUAL(csched_submit_many(w->s, &batch), 650);
    EQUAL(stats_of(w).submitted, 650);
    EQUAL(stats_of(w).queued, 650);
    batch.count = 1;
    EQUAL(csched_submit_many(w->s, &batch), CSCHED_EINVAL); /* its slot is in use */
    const uint64_t forward[] = {0}, stale[] = {tickets[3] + (UINT64_C(1) << 40)}, one[] = {1};
    slots[0] = 700;
    batch.input_ends = one;
    batch.inputs = forward; /* of itself */
    EQUAL(csched_submit_many(w->s, &batch), CSCHED_EINVAL);
    batch.inputs = stale;
    EQUAL(csched_submit_many(w->s, &batch), CSCHED_ESTALE);
    batch.count = 0;
    EQUAL(csched_submit_many(w->s, &batch), 0);
    batch.count = UINT32_MAX;
    EQUAL(csched_submit_many(w->s, &batch), CSCHED_EINVAL);
    EQUAL(stats_of(w).submitted, 650);
    OK(csched_stop(w->s));
    batch.count = 1;
    EQUAL(csched_submit_many(w->s, &batch), CSCHED_ESTOPPED);
    world_close(w);
}

static void a_wide_graph_against_many_workers(void)
{
    world_t *w = world_open(1);
    csched_batch_t batch = batch_of(SCALED(TASKS));
    uint64_t random = 88172645463325252u, edges = 0;
    int fds[12];
    csched_zero_t *zero;
    for (uint32_t i = 0; i < batch.count; i++) {
        for (uint64_t k = i ? next_random(&random) % 4 : 0; k > 0 && k < 4; k--)
            inputs[edges++] = next_random(&random) % i;
        ends[i] = edges;
    }
    batch.inputs = inputs;
    batch.input_ends = ends;
    for (int i = 0; i < 3; i++)
        memcpy(fds + 4 * i, w->hands[world_add(w)].fds, sizeof w->hands[0].fds);
    OK(csched_zero_start(fds, 3, &zero));
    OK(csched_reserve(w->s, batch.count));
    for (int round = 0; round < 3; round++) { /* the slots are free again */
        EQUAL(csched_submit_many(w->s, &batch), batch.count);
        discard_all(w, batch.count);
    }
    EQUAL(stats_of(w).succeeded, 3 * batch.count);
    EQUAL(stats_of(w).waiting, 0);
    world_close(w);
    OK(csched_zero_stop(zero));
}

MAIN(TEST(every_task_with_its_payload), TEST(inputs_by_position_and_by_ticket), TEST(inputs_of_which_some_are_none),
     TEST(a_batch_ends_where_it_cannot_go_on), TEST(a_wide_graph_against_many_workers))
