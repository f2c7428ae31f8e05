/* The only file that includes <stdatomic.h>.  One name per operation and order; call sites name their partner. */
#ifndef CSCHED_ATOMIC_H
#define CSCHED_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef _Atomic uint32_t shared_u32;
typedef _Atomic uint64_t shared_u64;

static inline uint32_t u32_relaxed(const shared_u32 *p)
{
    return atomic_load_explicit(p, memory_order_relaxed);
}

static inline uint64_t u64_relaxed(const shared_u64 *p)
{
    return atomic_load_explicit(p, memory_order_relaxed);
}

static inline uint32_t u32_acquire(const shared_u32 *p)
{
    return atomic_load_explicit(p, memory_order_acquire);
}

static inline uint64_t u64_acquire(const shared_u64 *p)
{
    return atomic_load_explicit(p, memory_order_acquire);
}

static inline void u32_store_relaxed(shared_u32 *p, uint32_t v)
{
    atomic_store_explicit(p, v, memory_order_relaxed);
}

static inline void u64_store_relaxed(shared_u64 *p, uint64_t v)
{
    atomic_store_explicit(p, v, memory_order_relaxed);
}

static inline void u32_store_release(shared_u32 *p, uint32_t v)
{
    atomic_store_explicit(p, v, memory_order_release);
}

static inline void u64_store_release(shared_u64 *p, uint64_t v)
{
    atomic_store_explicit(p, v, memory_order_release);
}

/* Sequentially consistent: for the "I sleep / there is work" handshakes, where each side stores, then loads. */
static inline uint32_t u32_exchange(shared_u32 *p, uint32_t v)
{
    return atomic_exchange_explicit(p, v, memory_order_seq_cst);
}

static inline uint32_t u32_add(shared_u32 *p, uint32_t v)
{
    return atomic_fetch_add_explicit(p, v, memory_order_acq_rel);
}

static inline bool u32_cas(shared_u32 *p, uint32_t expected, uint32_t desired)
{
    return atomic_compare_exchange_strong_explicit(p, &expected, desired, memory_order_acq_rel, memory_order_acquire);
}

static inline void fence_seq_cst(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

static inline void cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
