/* A worker process that dies or is stopped at each point of a task's path (fault.h): each task ends exactly once, in
 * success or as lost; no wait is endless; all blocks of the dead worker are free again. */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>

#include "fault.h"
#include "doorbell.h"
#include "internal.h"
#include "world.h"

enum { MEMORY = 1 << 20, RING = 1 << 16, LARGE = 3 << 20, MOST = 64 };

typedef struct { /* one walk along the whole path */
    world_t *w;
    uint32_t hand;    /* of the worker process that serves now */
    uint32_t deaths;
    uint32_t retries; /* of every task */
    uint32_t ended[MOST];
} walk_t;

static uint32_t open_files(void)
{
    uint32_t count = 0;
    DIR *files = opendir("/proc/self/fd");
    CHECK(files);
    while (readdir(files))
        count++;
    closedir(files);
    return count;
}

static void count_ended(world_t *w, const csched_completion_t *completion)
{
    walk_t *walk = w->context;
    walk->ended[completion->slot]++;
}

/* -- the worker, and who takes its place */

static void serve_with(walk_t *walk, const char *fault)
{
    if (fault)
        setenv("CSCHED_FAULT", fault, 1);
    walk->hand = world_process(walk->w);
    unsetenv("CSCHED_FAULT");
}

/* Whether it has ended; a stopped one is killed, after the kernel has gone on without it for a while. */
static bool has_died(walk_t *walk)
{
    world_t *w = walk->w;
    hand_t *hand = &w->hands[walk->hand];
    int status;
    if (!hand->running || waitpid(hand->process, &status, WNOHANG | WUNTRACED) != hand->process)
        return false;
    if (WIFSTOPPED(status)) {
        for (int i = 0; i < 3; i++)
            csched_wait(w->s, 6); /* longer than a tick */
        kill(hand->process, SIGKILL);
        CHECK(waitpid(hand->process, &status, 0) == hand->process);
    }
    hand->running = false;
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    walk->deaths++;
    return true;
}

static void replace_if_dead(walk_t *walk)
{
    if (!has_died(walk))
        return;
    OK(csched_worker_lost(walk->w->s, walk->w->hands[walk->hand].index));
    serve_with(walk, NULL);
}

static void discard_messages(world_t *w)
{
    csched_message_t messages[64];
    int count = csched_messages(w->s, 64, messages);
    for (int i = 0; i < count; i++)
        CHECK(messages[i].kind == CSCHED_OUTPUT);
    OK(csched_messages_commit(w->s, (uint32_t)count));
}

/* All that were submitted have ended. */
static bool all_over(walk_t *walk)
{
    world_t *w = walk->w;
    replace_if_dead(walk); /* before the look at its results: they are taken when its loss is declared */
    csched_wait(w->s, 20);
    discard_messages(w);
    while (collect_some(w))
        continue;
    return w->done == w->next_slot;
}

static const segment_t *segment_of(walk_t *walk)
{
    return walk->w->s->workers[walk->w->hands[walk->hand].index]->segment;
}

/* -- the path, step by step */

static uint64_t walk_submit(walk_t *walk, job_kind_t kind, uint64_t value, csched_options_t options)
{
    options.retries = walk->retries;
    return submit_with(walk->w, (job_t){kind, walk->w->next_slot, value}, &options);
}

static void with_a_function(walk_t *walk)
{
    world_t *w = walk->w;
    csched_options_t options = plain();
    job_t job = {JOB_NONE, w->next_slot, 0};
    uint32_t function;
    options.retries = walk->retries;
    OK(csched_function_add(w->s, "function", 8, IN_LINE, &function));
    OK(csched_reserve(w->s, w->next_slot + 1));
    CHECK(csched_submit_with(w->s, w->next_slot++, function, 0, &job, sizeof job, 0, &options) > 0);
    UNTIL(all_over(walk));
    OK(csched_function_drop(w->s, function));
}

static void with_elements(walk_t *walk)
{
    csched_options_t options = plain();
    options.count = 4;
    walk_submit(walk, JOB_CHUNK, 0, options);
    UNTIL(all_over(walk));
}

/* Results in memory and in a file, read by another task; the second block finds the first one's place free. */
static void with_blocks(walk_t *walk)
{
    walk_submit(walk, JOB_BLOCK, 100000, plain());
    UNTIL(all_over(walk));
    uint64_t inputs[] = {walk_submit(walk, JOB_BLOCK, 100000, plain()), walk_submit(walk, JOB_BLOCK, LARGE, plain())};
    csched_options_t options = plain();
    options.inputs = inputs;
    options.input_count = 2;
    walk_submit(walk, JOB_MEASURE, 0, options);
    UNTIL(all_over(walk));
}

static void with_pinned_inputs(walk_t *walk)
{
    for (uint32_t i = 0; i < 3; i++) {
        csched_options_t options = plain();
        job_t job = {JOB_PIN, walk->w->next_slot, 0};
        uint64_t address;
        OK(csched_block_alloc(walk->w->s, 100000, &options.block, &address));
        memcpy((void *)(uintptr_t)address, &job, sizeof job);
        options.retries = walk->retries;
        CHECK(csched_submit_with(walk->w->s, walk->w->next_slot++, 0, 0, NULL, 100000, 0, &options) > 0);
        UNTIL(all_over(walk));
    }
}

/* One task is taken back while the worker runs another, whose result then wakes the kernel. */
static void with_one_taken_back(walk_t *walk)
{
    uint32_t at_gate = walk->w->next_slot;
    walk_submit(walk, JOB_GATE, 1, plain());
    uint64_t second = walk_submit(walk, JOB_NONE, 0, plain());
    UNTIL((all_over(walk), u32_acquire(&board->at_gate[1]) || walk->ended[at_gate]));
    csched_cancel(walk->w->s, second);
    doorbell_arm(walk->w->s, WANT_ANY);
    open_gate(1);
    UNTIL(all_over(walk));
}

/* The kernel does not look at the results until the worker waits for room. */
static void with_a_full_ring(walk_t *walk)
{
    UNTIL((all_over(walk), info_of(walk->w, walk->w->hands[walk->hand].index).state == WORKER_READY));
    uint32_t deaths = walk->deaths;
    walk_submit(walk, JOB_EMIT, 2 * RING / 64, plain());
    UNTIL((replace_if_dead(walk), walk->deaths > deaths || u32_acquire(&segment_of(walk)->results.producer_waits)));
    UNTIL(all_over(walk));
}

static void after_a_sleep(walk_t *walk)
{
    UNTIL((all_over(walk), u32_acquire(&segment_of(walk)->tasks.sleeping)));
    walk_submit(walk, JOB_NONE, 0, plain());
    UNTIL(all_over(walk));
}

static void to_the_end(walk_t *walk)
{
    hand_t *hand = &walk->w->hands[walk->hand];
    int status;
    OK(csched_worker_retire(walk->w->s, hand->index));
    CHECK(waitpid(hand->process, &status, WUNTRACED) == hand->process);
    if (WIFSTOPPED(status)) {
        kill(hand->process, SIGKILL);
        CHECK(waitpid(hand->process, &status, 0) == hand->process);
    }
    walk->deaths += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    hand->running = false;
    OK(csched_worker_lost(walk->w->s, hand->index));
}

/* -- what must hold afterwards */

static void nothing_is_left(world_t *w)
{
    const csched_t *s = w->s;
    csched_stats_t stats = stats_of(w);
    EQUAL(stats.waiting + stats.queued + stats.running + stats.completions, 0);
    EQUAL(stats.workers + stats.ready_workers, 0);
    EQUAL(stats.arena_used + stats.file_used, 0);
    EQUAL(u64_relaxed(&s->outstanding), 0);
    for (uint32_t i = 1; i < s->region_count; i++)
        CHECK(!s->regions[i].base && s->regions[i].readonly < 0 && s->regions[i].file < 0);
    for (uint32_t i = 0; i < s->worker_count; i++)
        CHECK(s->workers[i]->state == WORKER_FREE && !s->workers[i]->segment && s->workers[i]->control < 0);
}

static void each_ended_once(const walk_t *walk)
{
    const uint64_t *by = walk->w->by_status;
    uint64_t lost = by[CSCHED_LOST], begun = 0;
    uint32_t tasks = walk->w->next_slot;
    for (uint32_t i = 0; i < tasks; i++) {
        uint32_t ran = u32_relaxed(&board->ran[i]);
        EQUAL(walk->ended[i], 1);
        CHECK(ran <= 1 + walk->retries);
        begun += ran;
    }
    uint64_t good = by[CSCHED_VALUE] + by[CSCHED_NONE];
    EQUAL(good + by[CSCHED_CANCELLED] + lost + by[CSCHED_DEPENDENCY], tasks);
    CHECK(begun >= good);
    CHECK(lost <= walk->deaths && (!walk->retries || !lost));
    CHECK(by[CSCHED_CANCELLED] <= 1);    /* with_one_taken_back */
    CHECK(by[CSCHED_DEPENDENCY] <= lost); /* what was to read the lost one's result */
}

/* How many tasks were lost; `deaths` becomes how often the worker died.  `fault` NULL: armed by the kernel. */
static uint64_t walk_the_path(const char *fault, uint32_t retries, uint32_t *deaths)
{
    csched_config_t config = {.ring_bytes = RING, .arena_bytes = MEMORY, .journey_rows = 1024};
    uint32_t files = open_files();
    walk_t walk = {.w = world_open_with(&config), .retries = retries};
    memset(board, 0, offsetof(board_t, ran) + MOST * sizeof board->ran[0]);
    walk.w->on_completion = count_ended;
    walk.w->context = &walk;
    OK(csched_reserve(walk.w->s, MOST));
    serve_with(&walk, fault);
    with_a_function(&walk);
    if (!fault)
        OK(csched_fault_arm(walk.w->s, walk.w->hands[walk.hand].index, "element_begun", 3, SIGKILL));
    with_elements(&walk);
    with_blocks(&walk);
    with_pinned_inputs(&walk);
    with_one_taken_back(&walk);
    with_a_full_ring(&walk);
    after_a_sleep(&walk);
    to_the_end(&walk);
    nothing_is_left(walk.w);
    each_ended_once(&walk);
    uint64_t lost = walk.w->by_status[CSCHED_LOST];
    *deaths = walk.deaths;
    world_close(walk.w);
    EQUAL(open_files(), files);
    return lost;
}

/* -- the tests */

static int loses(const char *fault)
{
    for (uint32_t point = 0;; point++) {
        const char *name = csched_fault_point(point);
        CHECK(name);
        if (!strncmp(fault, name, strlen(name)) && fault[strlen(name)] == ':')
            return csched_fault_loses(point);
    }
}

/* The test's name is the fault: at the point's first visit. */
static void ends_there(void)
{
    const char *fault = running_test->name;
    for (uint32_t retries = 0; retries < 2; retries++) {
        uint32_t deaths;
        uint64_t lost = walk_the_path(fault, retries, &deaths);
        EQUAL(deaths, 1); /* 0: the path does not reach the point */
        if (!retries && loses(fault) != MAY_LOSE_TASK)
            EQUAL(lost, loses(fault));
    }
}

static void at_later_visits(void)
{
    const char *wanted = getenv("CSCHED_ROUNDS");
    uint64_t seed = 11, rounds = wanted ? strtoull(wanted, NULL, 10) : 20;
    for (uint64_t round = 0; round < rounds; round++) {
        char fault[64];
        uint32_t deaths, retries = (uint32_t)(next_random(&seed) % 2);
        const char *name = csched_fault_point((uint32_t)(next_random(&seed) % FAULT_COUNT));
        unsigned visit = (unsigned)(2 + next_random(&seed) % 30);
        snprintf(fault, sizeof fault, "%s:%u:%s", name, visit, next_random(&seed) % 2 ? "kill" : "stop");
        uint64_t lost = walk_the_path(fault, retries, &deaths);
        if (loses(fault) == LOSES_NOTHING)
            EQUAL(lost, 0);
        if (!retries && loses(fault) == LOSES_TASK)
            EQUAL(lost, deaths);
    }
}

static void armed_by_the_kernel(void)
{
    uint32_t deaths;
    EQUAL(walk_the_path(NULL, 0, &deaths), 1);
    EQUAL(deaths, 1);
}

static void what_makes_no_sense_is_refused(void)
{
    world_t *w = world_open(0);
    EQUAL(csched_fault_arm(w->s, 0, "claimed", 1, SIGKILL), CSCHED_EINVAL); /* there is no worker */
    world_thread(w);
    EQUAL(csched_fault_arm(w->s, 0, "nowhere", 1, SIGKILL), CSCHED_EINVAL);
    EQUAL(csched_fault_arm(w->s, 0, "claimed", 0, SIGKILL), CSCHED_EINVAL);
    EQUAL(csched_fault_arm(w->s, 0, "claimed", 1, 0), CSCHED_EINVAL);
    OK(csched_fault_arm(w->s, 0, "claimed", UINT32_MAX, SIGKILL));
    submit(w, JOB_NONE, 0, 0);
    finish(w, 1);
    world_close(w);
}

static world_t *worn;

static void send_the_last(int signal)
{
    (void)signal;
    submit(worn, JOB_NONE, 1, 0);
}

/* A worker has found its ring empty; then it is sent its last task and the order to retire, which it reads. */
static void a_worn_out_worker_takes_what_came_late(void)
{
    csched_config_t config = {.ring_bytes = RING, .arena_bytes = MEMORY, .worker_tasks = 1};
    csched_item_t item;
    worn = world_open_with(&config);
    csched_worker_t *worker = by_hand(worn);
    EQUAL(csched_worker_next(worker, 0, 0, &item), CSCHED_EAGAIN);
    csched_poll(worn->s, 0);
    OK(csched_fault_arm(worn->s, 0, "found_empty", 1, SIGUSR1));
    void (*before)(int) = signal(SIGUSR1, send_the_last);
    next_item(worker, CSCHED_TASK);
    signal(SIGUSR1, before);
    publish_none(worker);
    EQUAL(csched_worker_next(worker, 0, 0, &item), CSCHED_ESTOPPED);
    finish(worn, 1);
    OK(csched_worker_lost(worn->s, 0));
    OK(csched_worker_detach(worker));
    world_close(worn);
}

#define BOTH_WAYS(point, loses) {#point ":1:kill", ends_there}, {#point ":1:stop", ends_there},

MAIN(FAULT_POINTS(BOTH_WAYS) TEST(at_later_visits), TEST(armed_by_the_kernel),
     TEST(a_worn_out_worker_takes_what_came_late), TEST(what_makes_no_sense_is_refused))
