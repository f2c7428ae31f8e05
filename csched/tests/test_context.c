#define _GNU_SOURCE
#include <locale.h>
#include <time.h>

#include "csched.h"
#include "harness.h"

static void nothing_changed(void)
{
    uint64_t before = csched_context_digest();
    EQUAL(csched_context_digest(), before);
}

static void another_directory(void)
{
    CHECK(chdir("/tmp") == 0);
    uint64_t before = csched_context_digest();
    CHECK(chdir("/") == 0);
    CHECK(csched_context_digest() != before);
    CHECK(chdir("/tmp") == 0);
    EQUAL(csched_context_digest(), before);
}

static void a_directory_that_is_gone(void)
{
    char name[] = "/tmp/csched-XXXXXX";
    CHECK(mkdtemp(name) != NULL);
    CHECK(chdir(name) == 0);
    uint64_t before = csched_context_digest();
    CHECK(rmdir(name) == 0);
    CHECK(csched_context_digest() != before);
}

static void variables(void)
{
    uint64_t before = csched_context_digest();
    CHECK(setenv("CSCHED_TEST", "1", 1) == 0);
    uint64_t one = csched_context_digest();
    CHECK(one != before);
    CHECK(setenv("CSCHED_TEST", "2", 1) == 0);
    CHECK(csched_context_digest() != one);
    CHECK(unsetenv("CSCHED_TEST") == 0);
    EQUAL(csched_context_digest(), before);
}

static void locale_of_numbers(void)
{
    uint64_t before = csched_context_digest();
    CHECK(setlocale(LC_NUMERIC, "C.UTF-8") != NULL);
    CHECK(csched_context_digest() != before);
    CHECK(setlocale(LC_NUMERIC, "C") != NULL);
    EQUAL(csched_context_digest(), before);
}

static void time_zone(void)
{
    CHECK(setenv("TZ", "AAA-1", 1) == 0);
    uint64_t before = csched_context_digest();
    tzset();
    uint64_t one = csched_context_digest();
    CHECK(one != before);
    CHECK(setenv("TZ", "AAA-2", 1) == 0);
    tzset();
    CHECK(csched_context_digest() != one);
}

MAIN(TEST(nothing_changed), TEST(another_directory), TEST(a_directory_that_is_gone), TEST(variables),
     TEST(locale_of_numbers), TEST(time_zone))
