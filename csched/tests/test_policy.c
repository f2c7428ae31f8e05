#include "policy.h"

#include "harness.h"

typedef struct {
    const char *state; /* a worker each: held/window, * asleep */
    uint32_t choice;
} row_t;

static uint32_t parse(const char *text, load_t *loads)
{
    uint32_t count = 0;
    for (char *end; *text; text = end, count++) {
        loads[count].held = (uint32_t)strtoul(text, &end, 10);
        loads[count].window = (uint32_t)strtoul(end + 1, &end, 10);
        loads[count].awake = *end != '*';
        end += *end == '*';
        end += *end == ' ';
    }
    return count;
}

static void least_loaded(void)
{
    static const row_t table[] = {
        {"", NO_CHOICE},    {"0/0", NO_CHOICE}, {"2/2", NO_CHOICE}, {"5/2", NO_CHOICE},
        {"0/2", 0},         {"1/2 0/2", 1},     {"0/2 0/2", 0},     {"2/2 1/2", 1},
        {"0/2* 0/2", 1},    {"0/2* 1/2", 0},    {"0/2* 0/2*", 0},   {"9/1024 8/1024 10/1024", 1},
        {"0/0 3/9 3/9", 1}, {"1/2* 1/2", 1},    {"3/9* 4/9", 0},
    };
    load_t loads[8];
    policy_state_t state = {0, 1};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        EQUAL(policy_least_loaded.choose(&state, loads, parse(table[i].state, loads)), table[i].choice);
}

static void round_robin(void)
{
    static const row_t sequence[] = {
        {"0/2 0/2 0/2", 0}, {"1/2 0/2 0/2", 1}, {"1/2 1/2 0/2", 2},
        {"1/2 1/2 1/2", 0}, {"2/2 2/2 1/2", 2}, {"2/2 2/2 2/2", NO_CHOICE},
        {"2/2 0/2 2/2", 1}, {"0/2 0/2", 0},     /* fewer workers than before */ {"", NO_CHOICE}};
    load_t loads[8];
    policy_state_t state = {0, 1};
    for (size_t i = 0; i < sizeof sequence / sizeof *sequence; i++)
        EQUAL(policy_round_robin.choose(&state, loads, parse(sequence[i].state, loads)), sequence[i].choice);
}

static void random_is_even_and_keeps_to_those_with_room(void)
{
    load_t loads[8];
    policy_state_t state = {0, UINT64_C(0x9e3779b97f4a7c15)};
    uint32_t workers = parse("0/2 2/2 1/2 0/0 5/9", loads), taken[8] = {0};
    for (int i = 0; i < 30000; i++)
        taken[policy_random.choose(&state, loads, workers)]++;
    EQUAL(taken[1] + taken[3], 0);
    for (int i = 0; i < 5; i += 2)
        CHECK(taken[i] > 9500 && taken[i] < 10500);
    EQUAL(policy_random.choose(&state, loads, parse("2/2 0/0", loads)), NO_CHOICE);
    EQUAL(policy_random.choose(&state, loads, 0), NO_CHOICE);
}

static void names(void)
{
    CHECK(policy_named("least-loaded") == &policy_least_loaded);
    CHECK(policy_named("round-robin") == &policy_round_robin);
    CHECK(policy_named("random") == &policy_random);
    CHECK(!policy_named("nonsense") && !policy_named(""));
}

MAIN(TEST(least_loaded), TEST(round_robin), TEST(random_is_even_and_keeps_to_those_with_room), TEST(names))
