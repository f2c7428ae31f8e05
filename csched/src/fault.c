/* What happens at the points of fault.h, in a build for tests. */
#include "fault.h"

#ifdef CSCHED_FAULTS

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define FAULT_NAME(point, loses) {#point, loses},
static const struct {
    const char *name;
    int loses;
} points[] = {FAULT_POINTS(FAULT_NAME)};

static uint32_t point_named(const char *name)
{
    uint32_t point = 0;
    while (point < FAULT_COUNT && strcmp(points[point].name, name))
        point++;
    return point;
}

static int arm(fault_t *fault, const char *name, uint32_t visit, int signal)
{
    uint32_t point = point_named(name);
    if (point == FAULT_COUNT || !visit || signal < 1)
        return CSCHED_EINVAL;
    u32_store_relaxed(&fault->visits, visit);
    u32_store_relaxed(&fault->signal, (uint32_t)signal);
    u32_store_release(&fault->point, point + 1); /* partner: fault_reached */
    return CSCHED_OK;
}

void fault_reached(fault_t *fault, uint32_t point)
{
    if (u32_acquire(&fault->point) == point + 1 && u32_add(&fault->visits, (uint32_t)-1) == 1) /* partner: arm */
        raise((int)u32_relaxed(&fault->signal)); /* to this very thread, so that it is here that all of them stop */
}

void fault_from_environment(fault_t *fault)
{
    const char *order = getenv("CSCHED_FAULT");
    char name[32], how[8];
    uint32_t visit;
    if (!order || !*order)
        return;
    if (sscanf(order, "%31[a-z_]:%u:%7[a-z]", name, &visit, how) == 3 && arm(fault, name, visit,
                                                                             !strcmp(how, "kill")   ? SIGKILL
                                                                             : !strcmp(how, "stop") ? SIGSTOP
                                                                                                    : 0) == CSCHED_OK)
        return;
    fprintf(stderr, "CSCHED_FAULT=%s is not point:visit:kill or :stop, or there is no such point\n", order);
    abort();
}

CSCHED_EXPORT const char *csched_fault_point(uint32_t number)
{
    return number < FAULT_COUNT ? points[number].name : NULL;
}

CSCHED_EXPORT int csched_fault_loses(uint32_t number)
{
    return number < FAULT_COUNT ? points[number].loses : CSCHED_EINVAL;
}

CSCHED_EXPORT int csched_fault_arm(csched_t *s, uint32_t worker, const char *point, uint32_t visit, int signal)
{
    pthread_mutex_lock(&s->lock);
    bool there = worker < s->worker_count && s->workers[worker]->segment;
    int rc = there ? arm(&s->workers[worker]->segment->fault, point, visit, signal) : CSCHED_EINVAL;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

#else
typedef int nothing_here; /* a translation unit must not be empty */
#endif
