/* Benchmarks print one line per question: its name and ns per operation, the best of five rounds. */
#ifndef CSCHED_BENCH_H
#define CSCHED_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "csched.h"

enum { ROUNDS = 5 };

static inline void must(int64_t rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bench: %s\n", csched_error_name((int)rc));
    exit(1);
}

/* `round` does `operations` operations and returns the ns they took, without what it set up. */
static inline void bench(const char *name, uint64_t operations, uint64_t (*round)(uint64_t operations))
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t spent = round(operations);
        best = spent < best ? spent : best;
    }
    printf("%-44s %9.1f ns/op\n", name, (double)best / (double)operations);
    fflush(stdout);
}

#endif
