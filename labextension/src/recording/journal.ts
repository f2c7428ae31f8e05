/** Reads a recorded run: frames and the times at which they were sent. See telemetry/journal.py for the format. */

import { ProtocolError } from '../protocol/parse';
import { VERSION, parseFrame, type Frame } from '../protocol/messages';

const MAGIC = 'cellmill journal\n';
const JOURNAL_VERSION = 1;
const LENGTHS = 8;

/** One frame, and its time in seconds since the first one. */
export interface Recorded {
  readonly at: number;
  readonly frame: Frame;
}

/** A recorded run. */
export interface Journal {
  /** when it began, as ISO 8601; empty where not known */
  readonly started: string;
  readonly records: readonly Recorded[];
  /** frames that could not be read */
  readonly dropped: number;
}

function object(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function split(body: Uint8Array, sizes: unknown): Uint8Array[] {
  const found: Uint8Array[] = [];
  let at = 0;
  for (const size of Array.isArray(sizes) ? sizes : []) {
    const end = at + Number(size);
    found.push(body.subarray(at, end));
    at = end;
  }
  return found;
}

/** Read all complete records; throws ProtocolError for other files and other versions. */
export function readJournal(data: Uint8Array): Journal {
  const decoder = new TextDecoder();
  if (decoder.decode(data.subarray(0, MAGIC.length)) !== MAGIC) {
    throw new ProtocolError('this is no recording of Cellmill');
  }
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const records: Recorded[] = [];
  let started = '';
  let dropped = 0;
  let at = MAGIC.length;
  let first = true;
  while (at + LENGTHS <= data.byteLength) {
    const start = at + LENGTHS;
    const middle = start + view.getUint32(at, true);
    const end = middle + view.getUint32(at + 4, true);
    if (end > data.byteLength) {
      break; // the file is cut off here: the records before are valid
    }
    let head: Record<string, unknown>;
    try {
      head = object(JSON.parse(decoder.decode(data.subarray(start, middle))));
    } catch {
      break;
    }
    if (first) {
      if (head.journal !== JOURNAL_VERSION || head.schema !== VERSION) {
        throw new ProtocolError('this recording was made by another version of Cellmill');
      }
      started = typeof head.started === 'string' ? head.started : '';
      first = false;
    } else {
      try {
        const frame = parseFrame(head.frame, split(data.subarray(middle, end), head.buffers));
        records.push({ at: Number(head.at) || 0, frame });
      } catch (error) {
        if (!(error instanceof ProtocolError)) {
          throw error;
        }
        dropped++;
      }
    }
    at = end;
  }
  return { started, records, dropped };
}
