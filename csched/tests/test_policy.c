#include "policy.h"

#include "harness.h"

typedef struct {
    const char *state; /* a worker each: held/window, @ mean us, + running us, * asleep, ! far */
    uint32_t choice;
    uint32_t warm; /* worker + 1, 0: none */
} row_t;

static const warm_t nowhere = {.at = NO_CHOICE};

static uint64_t number_after(char mark, char **at)
{
    return **at == mark ? strtoul(*at + 1, at, 10) * 1000 : 0;
}

static uint32_t parse(const char *text, load_t *loads)
{
    uint32_t count = 0;
    for (char *end; *text; text = end, count++) {
        loads[count].held = (uint32_t)strtoul(text, &end, 10);
        loads[count].window = (uint32_t)strtoul(end + 1, &end, 10);
        loads[count].mean_ns = number_after('@', &end);
        loads[count].running_ns = number_after('+', &end);
        loads[count].awake = *end != '*';
        end += *end == '*';
        loads[count].far = *end == '!';
        end += *end == '!';
        end += *end == ' ';
    }
    return count;
}

static void check_choices(const policy_t *policy, policy_state_t *state, const row_t *rows, size_t count)
{
    load_t loads[8];
    for (size_t i = 0; i < count; i++)
        EQUAL(policy->choose(state, loads, parse(rows[i].state, loads), (warm_t){.at = rows[i].warm - 1}),
              rows[i].choice);
}

#define CHOICES(policy, state, rows) check_choices(policy, state, rows, sizeof rows / sizeof *rows)

static void least_loaded(void)
{
    static const row_t table[] = {
        {"", NO_CHOICE, 0},
        {"0/0", NO_CHOICE, 0},
        {"2/2", NO_CHOICE, 0},
        {"5/2", NO_CHOICE, 0},
        {"0/2", 0, 0},
        {"1/2 0/2", 1, 0},
        {"0/2 0/2", 0, 0},
        {"2/2 1/2", 1, 0},
        {"0/2* 0/2", 1, 0},
        {"0/2* 1/2", 0, 0}, /* of unknown tasks: one each */
        {"0/2* 0/2*", 0, 0},
        {"9/1024 8/1024 10/1024", 1, 0},
        {"0/0 3/9 3/9", 1, 0},
        {"1/2* 1/2", 1, 0},
        {"3/9* 4/9", 0, 0},
        {"9/99@1 0/99@1*", 0, 0},    /* nine microseconds of work: no worker is woken for the tenth */
        {"90/99@1 0/99@1*", 1, 0},   /* ninety are worth it */
        {"1/99@100 0/99@100*", 1, 0},
        {"9/99@1 8/99@50", 0, 0},    /* by time, not by number */
        {"1/9@900+800 1/9@900+100", 0, 0}, /* nearly done */
        {"1/9@9+800 4/9@9", 1, 0},         /* far longer than the others: as much again is likely */
        {"0/9 0/9", 1, 2},           /* where the inputs are warm */
        {"1/9@10 2/9@10", 1, 2},
        {"0/9@100 1/9@100", 0, 2},   /* but not at any price */
        {"0/9 2/2", 0, 2},
        {"0/9 0/9", 0, 5},           /* it is gone */
        {"0/9@100! 1/9@100*!", 1, 2}, /* to come from a lane takes longer */
        {"0/2@50000! 1/2@50000!", 0, 2}, /* but not for ever */
    };
    policy_state_t state = {0, 1};
    CHOICES(&policy_least_loaded, &state, table);
}

static void large_inputs_are_worth_a_wait(void)
{
    static const struct {
        const char *state;
        uint32_t choice;
    } table[] = {{"0/9@50000! 1/9@50000!", 1}, {"0/9@50000! 4/9@50000!", 0}, {"0/9@50000! 9/9@50000!", 0}};
    policy_state_t state = {0, 1};
    load_t loads[2];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        EQUAL(policy_least_loaded.choose(&state, loads, parse(table[i].state, loads), (warm_t){1, 100000000}),
              table[i].choice);
}

static void round_robin(void)
{
    static const row_t sequence[] = {
        {"0/2 0/2 0/2", 0, 0}, {"1/2 0/2 0/2", 1, 0}, {"1/2 1/2 0/2", 2, 0},
        {"1/2 1/2 1/2", 0, 0}, {"2/2 2/2 1/2", 2, 0}, {"2/2 2/2 2/2", NO_CHOICE, 0},
        {"2/2 0/2 2/2", 1, 1}, {"0/2 0/2", 0, 2},     /* fewer workers than before */ {"", NO_CHOICE, 0}};
    policy_state_t state = {0, 1};
    CHOICES(&policy_round_robin, &state, sequence);
}

static void work_stealing(void)
{
    static const row_t sequence[] = {
        {"0/2 0/2 0/2", 0, 0}, {"1/2 0/2 0/2", 0, 0}, {"2/2 0/2 0/2", 1, 0},         {"1/2 1/2 0/2", 1, 0},
        {"0/2 0/2 0/2", 2, 3}, {"0/2 0/2 1/2", 1, 0}, {"2/2 2/2 2/2", NO_CHOICE, 1}, {"0/2 0/2 2/2", 1, 3},
        {"0/2", 0, 0},         {"", NO_CHOICE, 0}};
    policy_state_t state = {0, 1};
    CHOICES(&policy_work_stealing, &state, sequence);
}

static void stealing(void)
{
    static const struct {
        const char *state;
        uint32_t from, count; /* count 0: nothing */
    } table[] = {
        {"", 0, 0},
        {"9/9@100", 0, 0},
        {"9/9@100 1/9@100", 0, 0},      /* no worker is idle */
        {"9/9@100 0/9", 0, 4},
        {"0/9 9/9@100", 1, 4},
        {"9/9@100 0/0", 0, 0},          /* who takes nothing gets nothing */
        {"9/99@1 0/9", 0, 0},           /* not worth it */
        {"9/99@1+60 0/9", 0, 4},        /* unless one of them turns out long */
        {"1/9@100 0/9", 0, 0},          /* the one that runs stays */
        {"2/9@100 0/9", 0, 1},
        {"4/9@100 8/9@100 0/9 0/9", 1, 4},
    };
    load_t loads[8];
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        theft_t theft = {0, 0};
        uint32_t workers = parse(table[i].state, loads);
        EQUAL(steal_half(loads, workers, &theft), table[i].count > 0);
        EQUAL(theft.from, table[i].from);
        EQUAL(theft.count, table[i].count);
    }
    CHECK(policy_least_loaded.steal == steal_half && policy_work_stealing.steal == steal_half);
    CHECK(!policy_round_robin.steal && !policy_random.steal);
}

static void stuck(void)
{
    static const struct {
        const char *state;
        bool stuck;
    } table[] = {
        {"1/9", false},
        {"1/9@1", false},
        {"1/9@1+7000", false}, /* too short to matter */
        {"1/9@1+9000", true},
        {"1/9+9000", true}, /* unknown until now */
        {"1/9@10000+79000", false}, /* tasks take long there */
        {"1/9@10000+81000", true},
    };
    load_t load;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        EQUAL(parse(table[i].state, &load), 1);
        EQUAL(is_stuck(&load, 8000000), table[i].stuck);
    }
}

/* Random loads: a policy never chooses a worker without room, and always one while there is room. */
static void room_is_found_and_kept_to(void)
{
    static const char *const names[] = {"least-loaded", "round-robin", "random", "work-stealing"};
    load_t loads[33] = {0};
    uint64_t random = 99;
    for (size_t p = 0; p < 4; p++) {
        const policy_t *policy = policy_named(names[p]);
        policy_state_t state = {0, 7};
        for (int round = 0; round < 20000; round++) {
            uint32_t workers = (uint32_t)(next_random(&random) % 34), open = 0;
            for (uint32_t i = 0; i < workers; i++) {
                loads[i] = (load_t){.held = (uint32_t)(next_random(&random) % 4),
                                    .window = (uint32_t)(next_random(&random) % 4),
                                    .mean_ns = next_random(&random) % 3 * 40000,
                                    .awake = next_random(&random) % 2};
                open += has_room(&loads[i]);
            }
            uint32_t choice = policy->choose(&state, loads, workers,
                                             (warm_t){(uint32_t)(next_random(&random) % 40), next_random(&random) % 2});
            CHECK(open ? choice < workers && has_room(&loads[choice]) : choice == NO_CHOICE);
        }
    }
}

/* Chi square of 3 workers, 2 degrees of freedom: above 13.8 in one of a thousand sequences. */
/* A look at each for each task would take hours here. */
static void random_does_not_look_at_all(void)
{
    enum { WORKERS = 1 << 20, TASKS = 1 << 20 };
    policy_state_t state = {.random = 7};
    load_t *loads = calloc(WORKERS, sizeof *loads);
    for (uint32_t i = 0; i < WORKERS; i++)
        loads[i].window = 2;
    for (uint32_t i = 0; i < TASKS; i++) {
        uint32_t choice = policy_random.choose(&state, loads, WORKERS, nowhere);
        CHECK(choice < WORKERS && has_room(&loads[choice]));
    }
    free(loads);
}

static void random_is_even_and_keeps_to_those_with_room(void)
{
    enum { DRAWS = 30000 };
    load_t loads[8];
    policy_state_t state = {0, UINT64_C(0x9e3779b97f4a7c15)};
    uint32_t workers = parse("0/2 2/2 1/2 0/0 5/9", loads), taken[8] = {0};
    for (int i = 0; i < DRAWS; i++)
        taken[policy_random.choose(&state, loads, workers, nowhere)]++;
    EQUAL(taken[0] + taken[2] + taken[4], DRAWS);
    double chi = 0, wanted = DRAWS / 3.0;
    for (int i = 0; i < 5; i += 2)
        chi += (taken[i] - wanted) * (taken[i] - wanted) / wanted;
    CHECK(chi < 13.8);
    EQUAL(policy_random.choose(&state, loads, parse("2/2 0/0", loads), nowhere), NO_CHOICE);
    EQUAL(policy_random.choose(&state, loads, 0, nowhere), NO_CHOICE);
}

static void names(void)
{
    CHECK(policy_named("least-loaded") == &policy_least_loaded);
    CHECK(policy_named("round-robin") == &policy_round_robin);
    CHECK(policy_named("random") == &policy_random);
    CHECK(policy_named("work-stealing") == &policy_work_stealing);
    CHECK(!policy_named("nonsense") && !policy_named(""));
}

MAIN(TEST(least_loaded), TEST(large_inputs_are_worth_a_wait), TEST(round_robin),
     TEST(random_is_even_and_keeps_to_those_with_room), TEST(random_does_not_look_at_all), TEST(work_stealing),
     TEST(stealing), TEST(stuck), TEST(room_is_found_and_kept_to), TEST(names))
