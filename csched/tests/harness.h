/* A test framework in one header.  Each test runs in a process of its own, so that a crash, a sanitizer's report, a
 * leak or a hang is one failed test.  A program prints what failed and ends with the line "PASSED FAILED". */
#ifndef CSCHED_TESTS_HARNESS_H
#define CSCHED_TESTS_HARNESS_H

#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEST_SECONDS = 120, UNTIL_SECONDS = 60 };

#ifdef __SANITIZE_THREAD__
#define SCALED(count) ((count) / 10) /* the sanitizer slows down that much */
#else
#define SCALED(count) (count)
#endif

typedef struct {
    const char *name;
    void (*run)(void);
} test_t;

#define TEST(function) {#function, function}

static const test_t *running_test; /* one function may serve several tests, told apart by name */

_Noreturn static inline void check_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "  %s:%d: %s\n", file, line, what);
    fflush(stderr);
    _exit(1);
}

static inline void check_equal(const char *file, int line, const char *what, int64_t left, int64_t right)
{
    char text[256];
    if (left == right)
        return;
    snprintf(text, sizeof text, "%s: %" PRId64 " is not %" PRId64, what, left, right);
    check_failed(file, line, text);
}

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))
#define EQUAL(left, right) check_equal(__FILE__, __LINE__, #left " == " #right, (int64_t)(left), (int64_t)(right))
#define OK(call) check_equal(__FILE__, __LINE__, #call, (int64_t)(call), 0)

static inline double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Waits for a condition, for a bounded time; the condition may do work, as polling does. */
#define UNTIL(condition)                                                                                               \
    do {                                                                                                               \
        double until_limit = seconds_now() + UNTIL_SECONDS;                                                            \
        while (!(condition)) {                                                                                         \
            if (seconds_now() > until_limit)                                                                           \
                check_failed(__FILE__, __LINE__, "never: " #condition);                                                \
            sched_yield();                                                                                             \
        }                                                                                                              \
    } while (0)

static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline int run_one(const test_t *test)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(TEST_SECONDS);
        running_test = test;
        test->run();
        exit(0); /* the leak check runs here */
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 1;
    fprintf(stderr, "  %s failed (%s %d)\n", test->name, WIFSIGNALED(status) ? "signal" : "exit",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return 0;
}

/* With arguments: only the tests named. */
static inline int run_tests(const test_t *tests, size_t count, int argc, char **argv)
{
    int passed = 0, failed = 0;
    for (size_t i = 0; i < count; i++) {
        int wanted = argc < 2;
        for (int a = 1; a < argc; a++)
            wanted |= strcmp(argv[a], tests[i].name) == 0;
        if (!wanted)
            continue;
        if (run_one(&tests[i]))
            passed++;
        else
            failed++;
    }
    printf("%d %d\n", passed, failed);
    return failed != 0;
}

#define MAIN(...)                                                                                                      \
    int main(int argc, char **argv)                                                                                    \
    {                                                                                                                  \
        static const test_t tests[] = {__VA_ARGS__};                                                                   \
        return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);                                             \
    }

#endif
