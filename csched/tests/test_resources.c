#include "resources.h"

#include "graph.h"
#include "harness.h"

enum { GPU, LICENCE, MEMORY, SLOTS = 4096 };

typedef struct {
    graph_t graph;
    uint32_t running[SLOTS]; /* slots, the oldest first */
    uint32_t running_count;
    uint32_t served[16]; /* tasks that have run, by run */
} scene_t;

static void open_scene(scene_t *scene, uint64_t gpus, uint64_t licences)
{
    memset(scene, 0, sizeof *scene);
    OK(graph_open(&scene->graph));
    OK(graph_reserve(&scene->graph, SLOTS));
    scene->graph.resources.of[GPU].total = gpus;
    scene->graph.resources.of[LICENCE].total = licences;
}

static void push(scene_t *scene, uint32_t slot, uint32_t run, int32_t priority, uint64_t gpus, uint64_t licences)
{
    csched_need_t needs[2];
    uint32_t count = 0, demand = 0;
    if (gpus)
        needs[count++] = (csched_need_t){.resource = GPU, .amount = gpus};
    if (licences)
        needs[count++] = (csched_need_t){.resource = LICENCE, .amount = licences};
    if (count)
        OK(demand_take(&scene->graph.resources, needs, count, &demand));
    *graph_task(&scene->graph, slot) = (task_t){.ticket = graph_ticket(&scene->graph, slot),
                                                .dependents = NO_EDGE,
                                                .run = run,
                                                .priority = (uint8_t)(priority - PRIORITY_MIN),
                                                .demand = demand};
    ready_push(&scene->graph, slot);
}

/* Sends admitted tasks, at most `most`. */
static void pass(scene_t *scene, uint32_t most)
{
    graph_t *graph = &scene->graph;
    for (uint32_t slot; most && (slot = ready_first(graph)) != NO_TASK;) {
        task_t *task = graph_task(graph, slot);
        if (task->demand && !resources_admit(graph))
            continue;
        uint32_t queue = task->queue;
        ready_take(graph, slot);
        if (task->demand)
            resources_take(graph, queue, task->demand);
        task->state = TASK_SENT;
        scene->running[scene->running_count++] = slot;
        most--;
    }
}

static void end(scene_t *scene, uint32_t which)
{
    task_t *task = graph_task(&scene->graph, scene->running[which]);
    memmove(&scene->running[which], &scene->running[which + 1],
            (--scene->running_count - which) * sizeof *scene->running);
    scene->served[task->run]++;
    task->state = TASK_FREE;
    if (!task->demand)
        return;
    resources_return(&scene->graph, task->demand);
    demand_drop(&scene->graph.resources, task->demand);
}

static void close_scene(scene_t *scene)
{
    const resources_t *resources = &scene->graph.resources;
    EQUAL(resources->allocations, 0);
    EQUAL(scene->graph.ready.parked, 0);
    EQUAL(resources->reserved_for, NO_QUEUE);
    for (uint32_t i = 0; i < RESOURCES_MOST; i++) {
        EQUAL(resources->of[i].used, 0);
        EQUAL(resources->of[i].holders, 0);
        EQUAL(resources->of[i].first, NO_QUEUE);
        EQUAL(resources->of[i].last, NO_QUEUE);
    }
    for (uint32_t i = 1; i < resources->demand_count; i++)
        EQUAL(resources->demands[i].tasks, 0);
    graph_close(&scene->graph);
}

static void demands_that_make_no_sense(void)
{
    static const struct {
        csched_need_t needs[2];
        uint32_t count;
    } cases[] = {
        {{{GPU, 0, 3}}, 1},               /* more than there is */
        {{{GPU, 0, 0}}, 1},               /* nothing */
        {{{MEMORY, 0, 1}}, 1},            /* of what there is none */
        {{{RESOURCES_MOST, 0, 1}}, 1},    /* no such resource */
        {{{GPU, 0, 1}, {GPU, 0, 1}}, 2},  /* twice */
        {{{GPU, 0, UINT64_MAX}}, 1},      /* far too much */
        {{{GPU, 0, 1}}, 0},               /* none */
        {{{GPU, 0, 1}}, NEEDS_MOST + 1}, /* too many */
    };
    scene_t scene;
    uint32_t demand;
    open_scene(&scene, 2, 1);
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EQUAL(demand_take(&scene.graph.resources, cases[i].needs, cases[i].count, &demand), CSCHED_EINVAL);
    close_scene(&scene);
}

static void demands_are_kept_once(void)
{
    scene_t scene;
    open_scene(&scene, 1000, 0);
    resources_t *resources = &scene.graph.resources;
    uint32_t demands[500], again;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < 500; i++)
            OK(demand_take(resources, &(csched_need_t){.resource = GPU, .amount = i + 1}, 1, &demands[i]));
        EQUAL(resources->demand_count, 501);
        OK(demand_take(resources, &(csched_need_t){.resource = GPU, .amount = 77}, 1, &again));
        EQUAL(again, demands[76]);
        demand_drop(resources, again);
        EQUAL(demand_of(resources, demands[76], GPU), 77);
        EQUAL(demand_of(resources, demands[76], LICENCE), 0);
        EQUAL(demand_of(resources, 0, GPU), 0);
        for (uint64_t i = 0; i < 500; i++)
            demand_drop(resources, demands[i]);
    }
    close_scene(&scene);
}

static void others_go_past(void)
{
    scene_t scene;
    open_scene(&scene, 2, 1);
    for (uint32_t i = 0; i < 4; i++)
        push(&scene, i, 0, 0, 1, 0);
    push(&scene, 4, 0, 0, 0, 0);
    push(&scene, 5, 0, 0, 0, 1);
    pass(&scene, UINT32_MAX);
    EQUAL(scene.running_count, 4);
    EQUAL(wait_queue_tasks(&scene.graph), 2);
    CHECK(graph_parked(&scene.graph, graph_task(&scene.graph, 2)));
    CHECK(graph_parked(&scene.graph, graph_task(&scene.graph, 3)));
    EQUAL(scene.graph.resources.of[GPU].used, 2);
    end(&scene, 0); /* slot 0 */
    pass(&scene, UINT32_MAX);
    EQUAL(scene.running[scene.running_count - 1], 2); /* in order */
    EQUAL(wait_queue_tasks(&scene.graph), 1);
    while (scene.running_count) {
        end(&scene, 0);
        pass(&scene, UINT32_MAX);
    }
    EQUAL(scene.served[0], 6);
    close_scene(&scene);
}

/* A higher priority comes first in a wait queue too, although it came later and before one that asks for more. */
static void priorities_in_a_wait_queue(void)
{
    scene_t scene;
    open_scene(&scene, 2, 0);
    push(&scene, 0, 0, 0, 1, 0);
    push(&scene, 1, 0, 0, 1, 0);
    pass(&scene, UINT32_MAX);
    push(&scene, 2, 1, 0, 2, 0);
    push(&scene, 3, 2, -5, 1, 0);
    push(&scene, 4, 3, 7, 1, 0);
    pass(&scene, UINT32_MAX);
    EQUAL(scene.running_count, 2);
    end(&scene, 0);
    pass(&scene, UINT32_MAX);
    EQUAL(scene.running[1], 4);
    end(&scene, 0);
    pass(&scene, UINT32_MAX);
    EQUAL(scene.running_count, 1); /* the one that is free is for 2, which comes before 3 */
    end(&scene, 0);
    pass(&scene, UINT32_MAX);
    EQUAL(scene.running[0], 2);
    end(&scene, 0);
    pass(&scene, UINT32_MAX);
    EQUAL(scene.running[0], 3);
    end(&scene, 0);
    close_scene(&scene);
}

/* Runs that ask for 1 keep both busy, in turn; the one that asks for 2 gets them too. */
static void small_ones_do_not_keep_out_a_big_one(void)
{
    scene_t scene;
    uint32_t slot = 0;
    open_scene(&scene, 2, 0);
    for (uint32_t i = 0; i < 300; i++)
        push(&scene, slot++, i % 3, 0, 1, 0);
    pass(&scene, UINT32_MAX);
    for (uint32_t i = 0; i < 50; i++)
        push(&scene, slot++, 3, 0, 2, 0);
    pass(&scene, UINT32_MAX);
    for (uint32_t ended = 0; scene.served[3] < 50; ended++) {
        CHECK(ended < 260);
        end(&scene, 0);
        pass(&scene, UINT32_MAX);
    }
    CHECK(scene.served[0] + scene.served[1] + scene.served[2] >= 100); /* nor does it keep them out */
    while (scene.running_count) {
        end(&scene, 0);
        pass(&scene, UINT32_MAX);
    }
    EQUAL(scene.served[0] + scene.served[1] + scene.served[2], 300);
    close_scene(&scene);
}

/* Whenever one resource is free, the other one is taken: both are reserved after some tries. */
static void a_demand_for_two_resources_is_met(void)
{
    scene_t scene;
    uint32_t slot = 0;
    open_scene(&scene, 1, 1);
    for (uint32_t i = 0; i < 400; i++)
        push(&scene, slot++, i % 2, 0, i % 2, !(i % 2));
    pass(&scene, UINT32_MAX);
    push(&scene, slot, 2, 0, 1, 1);
    pass(&scene, UINT32_MAX);
    EQUAL(scene.running_count, 2);
    uint32_t ended;
    for (ended = 0; !scene.served[2]; ended++) {
        CHECK(ended < 20);
        end(&scene, 0); /* one at a time: the other is always taken */
        pass(&scene, UINT32_MAX);
    }
    CHECK(ended > RESERVE_AFTER); /* not reserved at once */
    while (scene.running_count) {
        end(&scene, 0);
        pass(&scene, UINT32_MAX);
    }
    EQUAL(scene.served[0] + scene.served[1], 400);
    close_scene(&scene);
}

/* Cancelling the first queue, or a woken one, lets those behind it go on. */
static void queues_in_front_are_cancelled(void)
{
    scene_t scene;
    open_scene(&scene, 2, 1);
    push(&scene, 0, 0, 0, 1, 0);
    pass(&scene, UINT32_MAX);
    push(&scene, 1, 1, 0, 2, 0);
    pass(&scene, UINT32_MAX);
    push(&scene, 2, 2, 0, 1, 0);
    pass(&scene, UINT32_MAX);
    EQUAL(scene.running_count, 1);
    ready_remove(&scene.graph, 1); /* first in its wait queue */
    demand_drop(&scene.graph.resources, graph_task(&scene.graph, 1)->demand);
    pass(&scene, UINT32_MAX);
    EQUAL(scene.running_count, 2);
    push(&scene, 3, 3, 0, 2, 0);
    push(&scene, 4, 4, 0, 1, 0);
    pass(&scene, UINT32_MAX);
    end(&scene, 0);
    end(&scene, 0); /* 3 has been woken and not been served */
    ready_remove(&scene.graph, 3);
    demand_drop(&scene.graph.resources, graph_task(&scene.graph, 3)->demand);
    pass(&scene, UINT32_MAX);
    EQUAL(scene.running[0], 4);
    end(&scene, 0);
    close_scene(&scene);
}

/* After a pass no task waits that could run. */
static void check_wait_queues(scene_t *scene)
{
    const graph_t *graph = &scene->graph;
    EQUAL(graph->ready.active, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const resource_t *of = &graph->resources.of[i];
        CHECK(of->used <= of->total);
        if (of->first != NO_QUEUE && graph->resources.reserved_for == NO_QUEUE) {
            const queue_t *first = &graph->ready.queues[of->first];
            CHECK(demand_of(&graph->resources, first->demand, i) > of->total - of->used);
        }
        for (uint32_t at = of->first; at != NO_QUEUE; at = graph->ready.queues[at].after) {
            uint32_t after = graph->ready.queues[at].after;
            CHECK(graph->ready.queues[at].count > 0);
            CHECK(after == NO_QUEUE || at == graph->resources.reserved_for || !ready_before(&graph->ready, after, at));
        }
    }
    CHECK(scene->running_count || !graph->ready.count);
}

static void come_back(scene_t *scene, uint32_t which)
{
    uint32_t slot = scene->running[which];
    memmove(&scene->running[which], &scene->running[which + 1],
            (--scene->running_count - which) * sizeof *scene->running);
    if (graph_task(&scene->graph, slot)->demand)
        resources_return(&scene->graph, graph_task(&scene->graph, slot)->demand);
    ready_return(&scene->graph, slot);
}

static void cancel(scene_t *scene, uint32_t slot)
{
    task_t *task = graph_task(&scene->graph, slot);
    if (task->state != TASK_QUEUED)
        return;
    ready_remove(&scene->graph, slot);
    if (task->demand)
        demand_drop(&scene->graph.resources, task->demand);
    task->state = TASK_FREE;
}

static void anything_at_random(void)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        scene_t scene;
        uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15);
        open_scene(&scene, 4, 3);
        for (uint32_t slot = 0; slot < SLOTS;) {
            uint64_t dice = next_random(&state);
            for (uint32_t n = dice % 6; n && slot < SLOTS; n--) {
                uint64_t each = next_random(&state) >> 8;
                push(&scene, slot++, each % 12, (int32_t)(each / 16 % 3) - 1, each / 64 % 5, each / 512 % 4);
            }
            if (dice / 8 % 4 == 0 && slot)
                cancel(&scene, (uint32_t)(next_random(&state) >> 8) % slot);
            if (scene.running_count && dice / 32 % 4 == 0)
                come_back(&scene, (uint32_t)(next_random(&state) >> 8) % scene.running_count);
            for (uint64_t n = dice / 128 % 5; n && scene.running_count; n--)
                end(&scene, (uint32_t)(next_random(&state) >> 8) % scene.running_count);
            if (dice / 1024 % 3) {
                pass(&scene, UINT32_MAX);
                check_wait_queues(&scene);
            } else {
                pass(&scene, (uint32_t)(dice / 4096 % 3)); /* workers have no more room */
            }
        }
        pass(&scene, UINT32_MAX);
        while (scene.running_count) {
            end(&scene, 0);
            pass(&scene, UINT32_MAX);
            check_wait_queues(&scene);
        }
        EQUAL(scene.graph.ready.count, 0);
        close_scene(&scene);
    }
}

/* A task of every size waits: an end looks at the first queue, not at all of them. */
static void many_queues_wait_for_one_resource(void)
{
    scene_t scene;
    open_scene(&scene, SLOTS, 0);
    push(&scene, 0, 0, 0, SLOTS, 0);
    pass(&scene, UINT32_MAX);
    for (uint32_t slot = 1; slot < SLOTS; slot++) {
        push(&scene, slot, 0, 0, slot, 0);
        pass(&scene, UINT32_MAX);
    }
    EQUAL(scene.graph.ready.parked, SLOTS - 1);
    EQUAL(wait_queue_tasks(&scene.graph), SLOTS - 1);
    while (scene.running_count) {
        end(&scene, 0);
        pass(&scene, UINT32_MAX);
        EQUAL(scene.graph.ready.active, 0);
    }
    EQUAL(scene.served[0], SLOTS);
    close_scene(&scene);
}

MAIN(TEST(demands_that_make_no_sense), TEST(demands_are_kept_once), TEST(others_go_past),
     TEST(priorities_in_a_wait_queue), TEST(small_ones_do_not_keep_out_a_big_one),
     TEST(a_demand_for_two_resources_is_met), TEST(queues_in_front_are_cancelled), TEST(anything_at_random),
     TEST(many_queues_wait_for_one_resource))
