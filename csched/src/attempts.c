#include "attempts.h"

#include <string.h>

#include "internal.h"
#include "pages.h"

enum { LITTLE = 1 << 14 }; /* attempts whose memory is kept for the next piece of work */

void attempts_close(attempts_t *attempts)
{
    pages_close(attempts->at, ATTEMPTS_MOST * sizeof *attempts->at);
    *attempts = (attempts_t){0};
}

static void begin(attempts_t *attempts, uint32_t number)
{
    if (attempts->count > LITTLE)
        attempts_close(attempts);
    attempts->count = 0;
    attempts->missed = false;
    attempts->number = number;
}

void attempts_ended(attempts_t *attempts, const accounts_t *accounts, const task_t *task, const result_entry_t *entry,
                    uint32_t index)
{
    if (attempts->number != accounts->number)
        begin(attempts, accounts->number);
    if (task->submitted < accounts->work.sums.began) /* in earlier work */
        return;
    if (!attempts->at)
        attempts->at = pages_open(ATTEMPTS_MOST * sizeof *attempts->at);
    if (!attempts->at || attempts->count == ATTEMPTS_MOST) {
        attempts->missed = true;
        return;
    }
    attempts->at[attempts->count++] = (csched_spell_t){.packed = task->submitted - (uint64_t)task->pack_ns,
                                                       .submitted = task->submitted,
                                                       .ready = task->ready,
                                                       .dispatched = task->dispatched,
                                                       .received = entry->received,
                                                       .returned = entry->returned,
                                                       .worker = index,
                                                       .again = task->attempt != 0,
                                                       .held = (task->flags & FLAG_HELD) != 0};
}

int attempts_read(const attempts_t *attempts, uint32_t number, uint32_t first, uint32_t most, csched_spell_t *spells)
{
    if (attempts->number != number)
        return first ? CSCHED_ESTALE : 0; /* another piece of work has begun, or no task of this one has ended */
    if (attempts->missed)
        return CSCHED_ESTALE;
    uint32_t count = attempts->count > first ? attempts->count - first : 0;
    count = count < most ? count : most;
    if (count)
        memcpy(spells, attempts->at + first, count * sizeof *spells);
    return (int)count;
}
