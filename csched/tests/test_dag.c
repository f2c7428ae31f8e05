#include "lineage.h"
#include "world.h"

enum { TASKS = SCALED(3000), RACED = SCALED(20000) };

typedef struct {
    csched_dag_info_t info;
    uint64_t *tickets;
    uint32_t *functions, *depths, *pairs;
    uint8_t *states;
    float *seconds;
} picture_t;

static csched_options_t after(const uint64_t *inputs, uint32_t count)
{
    csched_options_t options = plain();
    options.inputs = inputs;
    options.input_count = count;
    return options;
}

static picture_t look(csched_dag_t *dag, uint32_t since)
{
    picture_t p;
    OK(csched_dag_look(dag, since, &p.info));
    uint32_t n = p.info.nodes + 1;
    p.tickets = calloc(n, sizeof *p.tickets);
    p.functions = calloc(n, sizeof *p.functions);
    p.depths = calloc(n, sizeof *p.depths);
    p.states = calloc(n, 1);
    p.seconds = calloc(n, sizeof *p.seconds);
    p.pairs = calloc(p.info.edges + 1, 2 * sizeof *p.pairs);
    EQUAL(csched_dag_nodes(dag, p.tickets, p.functions, p.depths, p.states, p.seconds), p.info.nodes);
    EQUAL(csched_dag_edges(dag, p.pairs), p.info.edges);
    return p;
}

static void drop(picture_t *p)
{
    free(p->tickets);
    free(p->functions);
    free(p->depths);
    free(p->states);
    free(p->seconds);
    free(p->pairs);
}

static int64_t find(const picture_t *p, uint64_t ticket)
{
    for (uint32_t i = 0; i < p->info.nodes; i++)
        if (p->tickets[i] == ticket)
            return i;
    return -1;
}

static int state_of(csched_dag_t *dag, uint64_t ticket)
{
    picture_t p = look(dag, 0);
    int64_t at = find(&p, ticket);
    int state = at < 0 ? -1 : p.states[at];
    drop(&p);
    return state;
}

/* Random inputs among earlier tasks: the graph has exactly these edges, each task once, and the longest paths. */
static void random_graphs(void)
{
    world_t *w = world_open(1);
    world_threads(w, 2);
    csched_dag_t *dag;
    OK(csched_dag_open(w->s, &dag));
    uint64_t *tickets = calloc(TASKS, sizeof *tickets), seed = 7;
    uint32_t *depths = calloc(TASKS, sizeof *depths), edges = 0, linked = 0;
    uint8_t *known = calloc(TASKS, 1);
    for (uint32_t i = 0; i < TASKS; i++) {
        uint64_t inputs[4];
        uint32_t count = i ? (uint32_t)(next_random(&seed) % 4) : 0;
        for (uint32_t k = 0; k < count; k++) {
            uint32_t from = (uint32_t)(next_random(&seed) % i);
            inputs[k] = tickets[from];
            depths[i] = depths[i] > depths[from] ? depths[i] : depths[from] + 1;
            known[from] = known[i] = 1;
        }
        csched_options_t options = after(inputs, count);
        tickets[i] = submit_with(w, (job_t){.kind = JOB_NONE, .tag = i}, &options);
        edges += count;
        if (i % 500 == 99) { /* records and journeys at all stages */
            picture_t p = look(dag, 0);
            EQUAL(p.info.edges, edges);
            drop(&p);
        }
    }
    finish(w, TASKS);
    picture_t p = look(dag, 0);
    for (uint32_t i = 0; i < TASKS; i++) {
        linked += known[i];
        int64_t at = find(&p, tickets[i]);
        EQUAL(at >= 0, known[i]);
        if (at < 0)
            continue;
        EQUAL(p.depths[at], depths[i]);
        EQUAL(p.states[at], CSCHED_DAG_DONE);
    }
    EQUAL(p.info.nodes, linked);
    EQUAL(p.info.edges, edges);
    EQUAL(p.info.partial, 0);
    for (uint32_t i = 0; i < p.info.edges; i++)
        CHECK(p.depths[p.pairs[2 * i]] < p.depths[p.pairs[2 * i + 1]]);
    uint64_t structure = p.info.structure, changes = p.info.changes;
    drop(&p);
    p = look(dag, 0); /* nothing is new */
    EQUAL(p.info.structure, structure);
    EQUAL(p.info.changes, changes);
    drop(&p);
    OK(csched_dag_close(dag));
    free(tickets);
    free(depths);
    free(known);
    world_close(w);
}

static void every_state(void)
{
    world_t *w = world_open(1);
    csched_dag_t *dag;
    OK(csched_dag_open(w->s, &dag));
    uint64_t gate = submit(w, JOB_GATE, 0, 1);
    csched_options_t one = after(&gate, 1);
    uint64_t waits = submit_with(w, (job_t){.kind = JOB_FAIL, .tag = 1, .value = 99}, &one);
    csched_options_t two = after(&waits, 1);
    uint64_t skipped = submit_with(w, (job_t){.kind = JOB_NONE, .tag = 2}, &two);
    uint64_t cancelled = submit_with(w, (job_t){.kind = JOB_NONE, .tag = 3}, &one);
    csched_options_t three = after(&cancelled, 1);
    uint64_t behind = submit_with(w, (job_t){.kind = JOB_NONE, .tag = 4}, &three);
    EQUAL(state_of(dag, gate), CSCHED_DAG_QUEUED);
    EQUAL(state_of(dag, waits), CSCHED_DAG_WAITING);
    world_thread(w);
    UNTIL(state_of(dag, gate) == CSCHED_DAG_RUNNING);
    EQUAL(csched_cancel(w->s, cancelled), 1);
    collect_some(w); /* its record is gone, and it has no journey */
    EQUAL(state_of(dag, cancelled), CSCHED_DAG_CANCELLED);
    EQUAL(state_of(dag, behind), CSCHED_DAG_SKIPPED);
    open_gate(1);
    finish(w, 5);
    EQUAL(state_of(dag, gate), CSCHED_DAG_DONE);
    EQUAL(state_of(dag, waits), CSCHED_DAG_FAILED);
    EQUAL(state_of(dag, skipped), CSCHED_DAG_SKIPPED);
    csched_dag_t *late; /* a new picture is the same */
    OK(csched_dag_open(w->s, &late));
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t ticket = (uint64_t[]){gate, waits, skipped, cancelled, behind}[i];
        EQUAL(state_of(late, ticket), state_of(dag, ticket));
    }
    OK(csched_dag_close(late));
    OK(csched_dag_close(dag));
    world_close(w);
}

static void only_later_work_and_its_inputs(void)
{
    world_t *w = world_open(1);
    world_threads(w, 1);
    csched_dag_t *dag;
    OK(csched_dag_open(w->s, &dag));
    uint64_t first = submit(w, JOB_NONE, 0, 0);
    csched_options_t options = after(&first, 1);
    submit_with(w, (job_t){.kind = JOB_NONE, .tag = 1}, &options);
    uint32_t since = csched_serial(w->s);
    finish(w, 2);
    picture_t p = look(dag, since);
    EQUAL(p.info.nodes, 0);
    drop(&p);
    uint64_t third = submit(w, JOB_NONE, 2, 0);
    finish(w, 3);
    OK(csched_depended(w->s, third, 1, &first, 1)); /* its value travelled with the task */
    p = look(dag, since);
    EQUAL(p.info.nodes, 2);
    EQUAL(p.info.edges, 1);
    EQUAL(p.tickets[p.pairs[0]], first);
    EQUAL(p.tickets[p.pairs[1]], third);
    EQUAL(p.functions[p.pairs[0]], 0); /* learnt from its journey */
    EQUAL(p.states[0], CSCHED_DAG_DONE);
    drop(&p);
    OK(csched_dag_close(dag));
    world_close(w);
}

/* Its journey was read before it had dependents. */
static void an_input_long_over(void)
{
    world_t *w = world_open(1);
    world_threads(w, 1);
    csched_dag_t *dag;
    OK(csched_dag_open(w->s, &dag));
    uint64_t first = submit(w, JOB_ECHO, 0, 0), second = submit(w, JOB_NONE, 1, 0);
    csched_options_t options = after(&second, 1);
    uint64_t third = submit_with(w, (job_t){.kind = JOB_NONE, .tag = 2}, &options);
    finish(w, 3);
    EQUAL(state_of(dag, third), CSCHED_DAG_DONE);
    EQUAL(state_of(dag, first), -1);
    OK(csched_depended(w->s, third, 0, &first, 1));
    EQUAL(state_of(dag, first), CSCHED_DAG_DONE);
    OK(csched_dag_close(dag));
    world_close(w);
}

static void check_fold(csched_dag_t *dag, const picture_t *p, uint32_t most, uint32_t function_count)
{
    const csched_dag_group_t *groups;
    const csched_dag_link_t *links;
    uint32_t group_count, link_count, span, tasks = 0, edges = 0, inside = 0;
    OK(csched_dag_fold(dag, most, &groups, &group_count, &links, &link_count, &span));
    CHECK(group_count <= most);
    bool mixed = true; /* several functions in a group */
    for (uint32_t i = 0; i < group_count; i++)
        mixed = mixed && groups[i].function == CSCHED_DAG_SEVERAL;
    for (uint32_t i = 0; i < group_count; i++) {
        uint32_t there = 0, wanted = 0;
        for (uint32_t k = 0; k < CSCHED_DAG_STATES; k++)
            there += groups[i].counts[k];
        for (uint32_t k = 0; k < p->info.nodes; k++)
            wanted += p->depths[k] / span == groups[i].depth && (mixed || p->functions[k] == groups[i].function);
        EQUAL(there, wanted);
        tasks += there;
        CHECK(groups[i].function == CSCHED_DAG_SEVERAL || groups[i].function < function_count);
    }
    EQUAL(tasks, p->info.nodes);
    for (uint32_t i = 0; i < link_count; i++) {
        edges += links[i].count;
        CHECK(groups[links[i].from].depth <= groups[links[i].to].depth);
    }
    for (uint32_t i = 0; i < p->info.edges; i++)
        inside += p->depths[p->pairs[2 * i]] / span == p->depths[p->pairs[2 * i + 1]] / span &&
                  p->functions[p->pairs[2 * i]] == p->functions[p->pairs[2 * i + 1]];
    if (!mixed)
        EQUAL(edges + inside, p->info.edges);
}

static void groups_hold_every_task_and_edge(void)
{
    world_t *w = world_open(0);
    csched_dag_t *dag;
    OK(csched_dag_open(w->s, &dag));
    uint64_t seed = 3;
    for (uint32_t i = 1; i < TASKS; i++) { /* tickets of tasks that are over, or never were */
        uint64_t inputs[2] = {(i - 1) / 3 + 1, i > 40 ? i - 40 : i};
        OK(csched_depended(w->s, i + 1, (uint32_t)(next_random(&seed) % 5), inputs, 2));
    }
    picture_t p = look(dag, 0);
    CHECK(p.info.nodes > TASKS - 100);
    check_fold(dag, &p, 5000, 5);
    check_fold(dag, &p, 200, 5);
    check_fold(dag, &p, 7, 5);
    check_fold(dag, &p, 1, 5); /* less than there are functions */
    drop(&p);
    OK(csched_dag_close(dag));
    world_close(w);
}

static void more_edges_than_are_kept(void)
{
    world_t *w = world_open(0);
    csched_dag_t *dag;
    csched_dag_info_t info;
    OK(csched_dag_open(w->s, &dag));
    for (uint64_t i = 1; i <= 5 * LINEAGE_ROWS; i++) {
        OK(csched_depended(w->s, i + 1, 0, &i, 1));
        if (i % 20000 == 0) {
            OK(csched_dag_look(dag, 0, &info));
            CHECK(info.edges <= 3 * LINEAGE_ROWS);
        }
    }
    OK(csched_dag_look(dag, 0, &info));
    EQUAL(info.partial, 1);
    CHECK(info.edges >= LINEAGE_ROWS / 2);
    const csched_dag_group_t *groups;
    const csched_dag_link_t *links;
    uint32_t group_count, link_count, span;
    OK(csched_dag_fold(dag, 1000, &groups, &group_count, &links, &link_count, &span)); /* one long chain */
    CHECK(group_count > 400 && group_count <= 1000);
    EQUAL(link_count, group_count - 1);
    OK(csched_dag_close(dag));
    world_close(w);
}

static void *looker(void *argument)
{
    world_t *w = argument;
    csched_dag_t *dag;
    csched_dag_info_t info;
    OK(csched_dag_open(w->s, &dag));
    do
        OK(csched_dag_look(dag, 0, &info));
    while (info.edges < RACED - 1);
    OK(csched_dag_close(dag));
    return NULL;
}

/* Looks while other threads submit, drain and collect. */
static void looked_at_while_it_runs(void)
{
    world_t *w = world_open(1);
    world_threads(w, 2);
    pthread_t thread;
    pthread_create(&thread, NULL, looker, w);
    uint64_t last = submit(w, JOB_NONE, 0, 0);
    for (uint32_t i = 1; i < RACED; i++) {
        csched_options_t options = after(&last, 1);
        last = submit_with(w, (job_t){.kind = JOB_NONE, .tag = i}, &options);
    }
    finish(w, RACED);
    pthread_join(thread, NULL);
    world_close(w);
}

/* Two chains of two runs, and a task that takes a result of each: a run's part has its edges and what is at their ends. */
static void a_run_has_its_part_of_the_graph(void)
{
    world_t *w = world_open(1);
    csched_dag_t *dag, *part;
    csched_dag_info_t info;
    uint32_t runs[2], slot = 0;
    uint64_t last[2] = {0, 0};
    OK(csched_dag_open(w->s, &dag));
    OK(csched_dag_open(w->s, &part));
    OK(csched_reserve(w->s, 16));
    OK(csched_run_open(w->s, &runs[0]));
    OK(csched_run_open(w->s, &runs[1]));
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t whose = i % 2;
        csched_options_t options = last[whose] ? after(&last[whose], 1) : plain();
        int64_t made =
            csched_submit_with(w->s, slot++, 0, runs[whose], &(job_t){JOB_NONE, i, 0}, sizeof(job_t), 0, &options);
        CHECK(made > 0);
        last[whose] = (uint64_t)made;
    }
    csched_options_t options = after(last, 2);
    CHECK(csched_submit_with(w->s, slot, 0, runs[1], &(job_t){JOB_NONE, 9, 0}, sizeof(job_t), 0, &options) > 0);
    OK(csched_dag_look(dag, 0, &info));
    EQUAL(info.nodes, 9);
    EQUAL(info.edges, 8);
    OK(csched_dag_of_run(dag, runs[0], part, &info));
    EQUAL(info.nodes, 5);
    EQUAL(info.own, 4);
    EQUAL(info.edges, 4);
    OK(csched_dag_of_run(dag, runs[1], part, &info));
    EQUAL(info.nodes, 6);
    EQUAL(info.own, 5);
    EQUAL(info.edges, 5);
    world_threads(w, 1);
    finish(w, 9);
    OK(csched_dag_look(dag, 0, &info));
    OK(csched_dag_of_run(dag, runs[0], part, &info));
    EQUAL(info.own, 4);
    uint8_t states[5];
    EQUAL(csched_dag_nodes(part, NULL, NULL, NULL, states, NULL), 5);
    for (uint32_t i = 0; i < 5; i++)
        EQUAL(states[i], CSCHED_DAG_DONE);
    OK(csched_dag_close(part));
    OK(csched_dag_close(dag));
    world_close(w);
}

MAIN(TEST(a_run_has_its_part_of_the_graph), TEST(random_graphs), TEST(every_state),
     TEST(only_later_work_and_its_inputs), TEST(an_input_long_over), TEST(groups_hold_every_task_and_edge),
     TEST(more_edges_than_are_kept), TEST(looked_at_while_it_runs))
