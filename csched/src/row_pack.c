/* Journey rows as bytes for files: each row as what differs from the one before, in variable-length integers.
 *
 * A row is two bytes that say which fields differ from what is expected, then these fields.  Expected are the previous
 * row's values, the next position, and of an element the next place in its chunk.  Stamps are told from the one before
 * in the row, which is near.  Pickling is kept in whole nanoseconds.  Nothing here needs a scheduler or a lock, but
 * the two functions at the end. */
#include "csched.h"

#include <string.h>

#include "internal.h"

enum { TICKET = 1, FUNCTION = 2, ELEMENT = 4, WORKER = 8, STATUS = 16, PICKLING = 32, POSITION = 64 };
enum { STAMPS = 8, STEP = 512 /* rows copied under the lock at a time */, FUNCTIONS = 64 };

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)-(int64_t)(difference >> 63);
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (uint64_t)-(int64_t)(value & 1);
}

static uint8_t *put(uint8_t *at, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        *at++ = (uint8_t)(value | 128);
    *at++ = (uint8_t)value;
    return at;
}

static uint8_t *put_row(uint8_t *at, const csched_journey_t *row, const csched_journey_t *last)
{
    uint8_t *masks = at, fields = 0, stamps = 0;
    at += 2;
    if (row->ticket != last->ticket) {
        fields |= TICKET;
        at = put(at, zigzag((row->ticket >> 32) - (last->ticket >> 32)));
        at = put(at, zigzag((row->ticket & UINT32_MAX) - (last->ticket & UINT32_MAX)));
    }
    if (row->function != last->function) {
        fields |= FUNCTION;
        at = put(at, row->function);
    }
    if (row->element != (row->ticket == last->ticket ? last->element + 1 : 0)) {
        fields |= ELEMENT;
        at = put(at, row->element);
    }
    if (row->worker != last->worker) {
        fields |= WORKER;
        at = put(at, row->worker);
    }
    if (row->status != last->status || row->attempt != last->attempt) {
        fields |= STATUS;
        *at++ = row->status;
        *at++ = row->attempt;
    }
    uint64_t pickling = (uint64_t)row->pack_ns;
    if (pickling != (uint64_t)last->pack_ns) {
        fields |= PICKLING;
        at = put(at, pickling);
    }
    if (row->position != last->position + 1) {
        fields |= POSITION;
        at = put(at, zigzag((uint64_t)row->position - last->position));
    }
    uint64_t near = last->stamps[0];
    for (int i = 0; i < STAMPS; i++) {
        if (row->stamps[i] != last->stamps[i]) {
            stamps |= (uint8_t)(1 << i);
            at = put(at, zigzag(row->stamps[i] - near));
        }
        near = row->stamps[i] ? row->stamps[i] : near;
    }
    masks[0] = fields;
    masks[1] = stamps;
    return at;
}

/* What is left to be read; `at` is NULL once it did not hold what it must. */
typedef struct {
    const uint8_t *at, *end;
} reader_t;

static uint64_t take(reader_t *in)
{
    uint64_t value = 0;
    for (int shift = 0; in->at && shift < 64; shift += 7) {
        if (in->at == in->end)
            break;
        uint8_t byte = *in->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    in->at = NULL;
    return 0;
}

static void take_row(reader_t *in, csched_journey_t *row, const csched_journey_t *last)
{
    uint32_t fields = (uint32_t)take(in), stamps = 0;
    if (fields > 127) /* of two bytes that are no varints the first is below 128 */
        in->at = NULL;
    if (in->at && in->at < in->end)
        stamps = *in->at++;
    else
        in->at = NULL;
    *row = *last;
    if (fields & TICKET) {
        uint64_t serial = (row->ticket >> 32) + unzigzag(take(in));
        uint64_t slot = (row->ticket & UINT32_MAX) + unzigzag(take(in));
        row->ticket = serial << 32 | (slot & UINT32_MAX);
    }
    if (fields & FUNCTION)
        row->function = (uint32_t)take(in);
    row->element = fields & ELEMENT ? (uint32_t)take(in) : row->ticket == last->ticket ? last->element + 1 : 0;
    if (fields & WORKER)
        row->worker = (uint16_t)take(in);
    if (fields & STATUS) {
        if (in->at && in->end - in->at >= 2) {
            row->status = *in->at++;
            row->attempt = *in->at++;
        } else {
            in->at = NULL;
        }
    }
    if (fields & PICKLING)
        row->pack_ns = (float)take(in);
    row->position = last->position + (fields & POSITION ? (uint32_t)unzigzag(take(in)) : 1);
    uint64_t near = last->stamps[0];
    for (int i = 0; i < STAMPS; i++) {
        if (stamps & 1u << i)
            row->stamps[i] = near + unzigzag(take(in));
        near = row->stamps[i] ? row->stamps[i] : near;
    }
}

static void note_function(csched_rows_packed_t *packed, uint32_t function)
{
    for (uint32_t i = 0; i < packed->functions && i < FUNCTIONS; i++)
        if (packed->function[i] == function)
            return;
    if (packed->functions < FUNCTIONS)
        packed->function[packed->functions] = function;
    if (packed->functions <= FUNCTIONS)
        packed->functions++;
}

CSCHED_EXPORT int64_t csched_rows_pack(csched_journey_t *rows, uint32_t count, uint32_t run, uint64_t since,
                                       uint64_t until, char *out, csched_rows_packed_t *packed)
{
    csched_journey_t last = {0};
    uint8_t *at = (uint8_t *)out;
    uint32_t first = count;
    packed->count = packed->functions = 0;
    for (uint32_t i = packed->next; i < count; i++) {
        csched_journey_t *row = &rows[i];
        if (!row->ticket)
            continue;
        if (row->run != run || row->stamps[0] < since || row->stamps[0] >= until) {
            first = i < first ? i : first;
            continue;
        }
        if (at) {
            at = put_row(at, row, &last);
            if (!packed->count++ || row->function != last.function)
                note_function(packed, row->function);
            last = *row;
        }
        row->ticket = 0;
    }
    packed->next = first;
    return at ? at - (uint8_t *)out : 0;
}

CSCHED_EXPORT int csched_rows_unpack(const char *data, uint64_t size, uint32_t run, uint32_t count,
                                     csched_journey_t *rows)
{
    reader_t in = {(const uint8_t *)data, (const uint8_t *)data + size};
    csched_journey_t last = {0};
    for (uint32_t i = 0; i < count; i++) {
        take_row(&in, &rows[i], &last);
        if (!in.at)
            return CSCHED_ECORRUPT;
        last = rows[i];
        rows[i].run = run;
    }
    return in.at == in.end ? CSCHED_OK : CSCHED_ECORRUPT;
}

CSCHED_EXPORT int csched_rows_read(csched_t *s, uint64_t *cursor, uint32_t most, csched_journey_t *rows,
                                   uint64_t *dropped)
{
    uint32_t n = 0;
    *dropped = 0;
    for (int found = 1; found > 0 && n < most;) {
        uint64_t missed;
        found = csched_journeys(s, cursor, most - n < STEP ? most - n : STEP, rows + n, &missed);
        *dropped += missed;
        n += (uint32_t)found;
    }
    return (int)n;
}

CSCHED_EXPORT int csched_rows_restore(csched_t *s, const csched_journey_t *rows, uint32_t count)
{
    pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < count; i++)
        *journey_append(&s->journey) = rows[i];
    pthread_mutex_unlock(&s->lock);
    return CSCHED_OK;
}
