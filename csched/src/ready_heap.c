/* The heap of the ready queues that are not empty; the one to be served next is first. */
#include "ready.h"

bool ready_before(const ready_t *ready, uint32_t a, uint32_t b)
{
    const queue_t *one = &ready->queues[a], *other = &ready->queues[b];
    if (one->priority != other->priority)
        return one->priority > other->priority;
    return one->used != other->used ? one->used < other->used : a < b;
}

static void put(ready_t *ready, uint32_t place, uint32_t queue)
{
    ready->heap[place] = queue;
    ready->queues[queue].place = place;
}

void ready_sift(ready_t *ready, uint32_t place)
{
    uint32_t queue = ready->heap[place];
    for (uint32_t above; place && ready_before(ready, queue, ready->heap[above = (place - 1) / 2]); place = above)
        put(ready, place, ready->heap[above]);
    for (uint32_t below; (below = 2 * place + 1) < ready->active; place = below) {
        if (below + 1 < ready->active && ready_before(ready, ready->heap[below + 1], ready->heap[below]))
            below++;
        if (!ready_before(ready, ready->heap[below], queue))
            break;
        put(ready, place, ready->heap[below]);
    }
    put(ready, place, queue);
}

void ready_leave(ready_t *ready, uint32_t queue)
{
    uint32_t place = ready->queues[queue].place, moved = ready->heap[--ready->active];
    ready->queues[queue].place = NO_QUEUE;
    if (moved != queue) {
        put(ready, place, moved);
        ready_sift(ready, place);
    }
}

void ready_join(ready_t *ready, uint32_t queue)
{
    put(ready, ready->active++, queue);
    ready_sift(ready, ready->active - 1);
}
