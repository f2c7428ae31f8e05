#include "internal.h"
#include "window.h"
#include "world.h"

#include <fcntl.h>
#include <sys/resource.h>

enum { SIXTY_FOUR = 64, MANY = SCALED(64000) };

static uint32_t open_descriptors(void)
{
    uint32_t count = 0;
    for (int fd = 0; fd < 4096; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void descriptors_are_close_on_exec_and_given_back(void)
{
    uint32_t before = open_descriptors();
    world_t *w = world_open(0);
    for (int round = 0; round < 3; round++) {
        uint32_t index;
        int fds[4];
        OK(csched_worker_add(w->s, &index, fds));
        EQUAL(index, 0); /* used again */
        EQUAL(info_of(w, 0).state, 1);
        for (int i = 0; i < 4; i++) {
            CHECK(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
            close(fds[i]);
        }
        OK(csched_worker_lost(w->s, index)); /* it never started */
        EQUAL(info_of(w, 0).state, 0);
        EQUAL(csched_worker_lost(w->s, index), CSCHED_EINVAL);
    }
    world_close(w);
    EQUAL(open_descriptors(), before);
}

static void sixty_four_workers(void)
{
    world_t *w = world_open(1);
    world_threads(w, SIXTY_FOUR);
    for (uint32_t i = 0; i < SIXTY_FOUR; i++)
        submit(w, JOB_GATE, i, 1);
    UNTIL((csched_poll(w->s, 0), u32_acquire(&board->at_gate[1])) == SIXTY_FOUR); /* each has one */
    EQUAL(stats_of(w).ready_workers, SIXTY_FOUR);
    EQUAL(stats_of(w).running, SIXTY_FOUR);
    open_gate(1);
    for (uint32_t i = 0; i < MANY; i++)
        submit(w, JOB_NONE, i, 0);
    finish(w, MANY + SIXTY_FOUR);
    uint64_t finished = 0;
    for (uint32_t i = 0; i < SIXTY_FOUR; i++)
        finished += info_of(w, i).finished;
    EQUAL(finished, MANY + SIXTY_FOUR);
    world_close(w);
}

/* Tasks that it has not begun go to others; it stops although there are more. */
static void a_retired_worker_stops(void)
{
    world_t *w = world_open(1);
    uint32_t first = world_thread(w);
    submit(w, JOB_GATE, 0, 1);
    UNTIL(u32_acquire(&board->at_gate[1]));
    for (uint32_t i = 1; i <= MANY; i++)
        submit(w, JOB_NONE, i, 0);
    OK(csched_worker_retire(w->s, w->hands[first].index));
    EQUAL(info_of(w, 0).held, 1);
    open_gate(1);
    world_join(w, first); /* it leaves with all the rest still queued */
    EQUAL(u32_relaxed(&board->order), 1);
    OK(csched_worker_lost(w->s, w->hands[first].index));
    world_thread(w);
    finish(w, MANY + 1);
    for (uint32_t i = 0; i <= MANY; i++)
        EQUAL(u32_relaxed(&board->ran[i]), 1);
    EQUAL(csched_worker_retire(w->s, 77), CSCHED_EINVAL);
    world_close(w);
}

/* One worker stays while others start and end: every region is announced to all and dropped in time. */
static void hundreds_come_and_go(void)
{
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = 4 << 20, .helper = 1};
    world_t *w = world_open_with(&config);
    enum { COME = 400, WITH_BLOCKS = 40 };
    uint32_t steady = world_thread(w);
    UNTIL((csched_poll(w->s, 0), info_of(w, 0).state == 2));
    uint64_t tasks = 0;
    for (uint32_t i = 0; i < COME; i++) {
        uint32_t hand = world_thread(w);
        submit(w, JOB_BLOCK, i, i % (COME / WITH_BLOCKS) ? 100 : 200000);
        finish(w, ++tasks);
        OK(csched_worker_retire(w->s, w->hands[hand].index));
        world_join(w, hand);
        OK(csched_worker_lost(w->s, w->hands[hand].index));
    }
    uint32_t mapped = 0;
    for (uint32_t r = 0; r < w->s->region_count; r++)
        mapped += w->s->regions[r].base != NULL;
    EQUAL(w->s->region_count, COME + 2);
    EQUAL(mapped, 2); /* the kernel's and the steady one's */
    UNTIL((csched_poll(w->s, 0), w->s->workers[w->hands[steady].index]->announcement_count == 0));
    world_close(w);
}

/* More regions than a socket takes at once: the rest follows when the worker has read. */
static void more_regions_than_a_socket_holds(void)
{
    csched_config_t config = {.ring_bytes = 65536, .arena_bytes = 1 << 20};
    world_t *w = world_open_with(&config);
    enum { SILENT = 400 };
    struct rlimit limit;
    OK(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max; /* three descriptors for each */
    OK(setrlimit(RLIMIT_NOFILE, &limit));
    for (uint32_t i = 0; i < SILENT; i++) {
        uint32_t at = world_add(w); /* none of these ever reads its socket */
        for (int k = 0; k < 4; k++)
            if (k != 2)
                close(w->hands[at].fds[k]);
    }
    world_thread(w);
    UNTIL((csched_poll(w->s, 0), w->s->workers[SILENT]->announced == w->s->region_count));
    CHECK(w->s->workers[0]->announced < w->s->region_count);
    uint64_t source = submit(w, JOB_BLOCK, 0, 100000); /* region 401 is readable by itself */
    csched_options_t options = plain();
    options.inputs = &source;
    options.input_count = 1;
    submit_with(w, (job_t){JOB_MEASURE, 1, 0}, &options);
    finish(w, 2);
    EQUAL(w->by_status[CSCHED_VALUE], 2);
    for (uint32_t i = 0; i < SILENT; i++)
        close(w->hands[i].fds[2]);
    world_close(w);
}

/* A dead worker's results in one go: more than a drain takes at once, and others wait for them. */
static void dependents_of_all_that_a_lost_worker_published(void)
{
    world_t *w = world_open(0);
    csched_worker_t *worker = by_hand(w);
    enum { HELD = 1000 };
    window_learn(w->s, 0, 1);
    OK(csched_pause(w->s, 1));
    csched_options_t options = plain();
    for (uint32_t i = 0; i < HELD; i++) {
        uint64_t ticket = submit(w, JOB_NONE, 0, 0);
        options.inputs = &ticket;
        options.input_count = 1;
        submit_with(w, (job_t){JOB_NONE, 1, 0}, &options);
    }
    OK(csched_pause(w->s, 0));
    EQUAL(info_of(w, 0).held, HELD);
    for (uint32_t i = 0; i < HELD; i++) {
        next_item(worker, CSCHED_TASK);
        publish_none(worker);
    }
    OK(csched_worker_lost(w->s, 0));
    OK(csched_worker_detach(worker));
    EQUAL(stats_of(w).waiting, 0);
    EQUAL(stats_of(w).completions, HELD);
    world_thread(w);
    finish(w, 2 * HELD);
    EQUAL(w->by_status[CSCHED_NONE], 2 * HELD);
    world_close(w);
}

MAIN(TEST(descriptors_are_close_on_exec_and_given_back), TEST(sixty_four_workers), TEST(a_retired_worker_stops),
     TEST(hundreds_come_and_go), TEST(more_regions_than_a_socket_holds),
     TEST(dependents_of_all_that_a_lost_worker_published))
