#define _GNU_SOURCE
#include "csched.h"
#include "harness.h"

static void nothing_changed(void)
{
    uint64_t before = csched_surroundings();
    EQUAL(csched_surroundings(), before);
}

static void another_directory(void)
{
    CHECK(chdir("/tmp") == 0);
    uint64_t before = csched_surroundings();
    CHECK(chdir("/") == 0);
    CHECK(csched_surroundings() != before);
    CHECK(chdir("/tmp") == 0);
    EQUAL(csched_surroundings(), before);
}

static void a_directory_that_is_gone(void)
{
    char name[] = "/tmp/csched-XXXXXX";
    CHECK(mkdtemp(name) != NULL);
    CHECK(chdir(name) == 0);
    uint64_t before = csched_surroundings();
    CHECK(rmdir(name) == 0);
    CHECK(csched_surroundings() != before);
}

static void variables(void)
{
    uint64_t before = csched_surroundings();
    CHECK(setenv("CSCHED_TEST", "1", 1) == 0);
    uint64_t one = csched_surroundings();
    CHECK(one != before);
    CHECK(setenv("CSCHED_TEST", "2", 1) == 0);
    CHECK(csched_surroundings() != one);
    CHECK(unsetenv("CSCHED_TEST") == 0);
    EQUAL(csched_surroundings(), before);
}

MAIN(TEST(nothing_changed), TEST(another_directory), TEST(a_directory_that_is_gone), TEST(variables))
