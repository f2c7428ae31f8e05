/* What the fuzz targets share.  An input is a little program: steps, each with the numbers that it takes. */
#ifndef CSCHED_FUZZ_H
#define CSCHED_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

typedef struct {
    const uint8_t *at;
    size_t left;
} input_t;

static inline uint64_t raw(input_t *in, uint32_t bytes)
{
    uint64_t value = 0;
    uint32_t there = in->left < bytes ? (uint32_t)in->left : bytes;
    memcpy(&value, in->at, there);
    in->at += there;
    in->left -= there;
    return value;
}

/* Of the kinds that break things: small ones, powers of two and their neighbours, very large ones, any. */
static inline uint64_t number(input_t *in)
{
    uint64_t kind = raw(in, 1);
    if (kind < 0x80)
        return kind;
    if (kind < 0xc0)
        return UINT64_C(1) << (kind & 63);
    if (kind < 0xe0)
        return (UINT64_C(1) << (2 * (kind & 31))) - 1;
    return kind < 0xf0 ? UINT64_MAX - (kind & 15) : raw(in, kind < 0xf8 ? 4 : 8);
}

static inline uint32_t below(input_t *in, uint32_t limit)
{
    return (uint32_t)raw(in, 1) % limit;
}

/* Reads what the code under test says may be read. */
static inline uint64_t touch(uint64_t address, uint64_t size)
{
    const volatile uint8_t *data = (const volatile uint8_t *)(uintptr_t)address;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < size; i += i < 256 || size - i <= 256 ? 1 : 253)
        sum += data[i];
    return sum;
}

#endif
