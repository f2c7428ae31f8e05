/** Readers of messages: each returns an unknown value as what it is, or throws a ProtocolError that names the place.
 *
 * Objects and lists are checked where they are and returned themselves; one is copied only where the copy differs:
 * without the fields that the schema does not have, or with binary parts. A large frame costs no memory that way.
 */

/** A message that does not follow the schema. */
export class ProtocolError extends Error {}

/** The binary parts of a message. */
export type Buffers = readonly (ArrayBuffer | ArrayBufferView)[];

export type Reader<T> = (value: unknown, buffers: Buffers) => T;
type Fields<T> = { readonly [Key in keyof T]: Reader<T[Key]> };

/** Put `place` in front of what an inner reader reported. Only a failure pays for the path to it. */
function within(place: string, error: unknown): unknown {
  return error instanceof ProtocolError ? new ProtocolError(place + error.message) : error;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function picked(value: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const name of names) {
    copy[name] = value[name];
  }
  return copy;
}

export function number(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new ProtocolError(' is no number');
  }
  return value;
}

export function integer(value: unknown): number {
  if (!Number.isInteger(number(value))) {
    throw new ProtocolError(' is no integer');
  }
  return value as number;
}

export function boolean(value: unknown): boolean {
  if (typeof value !== 'boolean') {
    throw new ProtocolError(' is neither true nor false');
  }
  return value;
}

export function string(value: unknown): string {
  if (typeof value !== 'string') {
    throw new ProtocolError(' is no string');
  }
  return value;
}

/** This value and no other. */
export function literal<const T extends string | number>(expected: T): Reader<T> {
  return value => {
    if (value !== expected) {
      throw new ProtocolError(` is not ${expected}`);
    }
    return expected;
  };
}

/** The message's buffer at `index`, whatever the JSON holds. */
export function bytes(index: number): Reader<Uint8Array> {
  return (_, buffers) => {
    const buffer = buffers[index];
    if (buffer === undefined) {
      throw new ProtocolError(' did not come');
    }
    return ArrayBuffer.isView(buffer)
      ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
      : new Uint8Array(buffer);
  };
}

/** Null is one of its values, and what it is when it is missing: records of an earlier release lack some fields. */
export function nullable<T>(read: Reader<T>): Reader<T | null> {
  return (value, buffers) => (value === null || value === undefined ? null : read(value, buffers));
}

export function list<T>(read: Reader<T>): Reader<readonly T[]> {
  return (value, buffers) => {
    if (!Array.isArray(value)) {
      throw new ProtocolError(' is no list');
    }
    const items: readonly unknown[] = value;
    let copy: unknown[] | undefined;
    let at = 0;
    try {
      for (; at < items.length; at++) {
        const item = read(items[at], buffers);
        if (item !== items[at]) {
          copy ??= [...items];
          copy[at] = item;
        }
      }
    } catch (error) {
      throw within(`[${at}]`, error);
    }
    return (copy ?? items) as readonly T[];
  };
}

/** An object with these fields; others, which a later release may send, are left out. */
export function record<T extends object>(fields: Fields<T>): Reader<T> {
  const names = Object.keys(fields);
  const parts = Object.entries<Reader<unknown>>(fields).map(([name, read]) => ({ name, read }));
  return (value, buffers) => {
    if (!isObject(value)) {
      throw new ProtocolError(' is no object');
    }
    let copy = Object.keys(value).length === names.length ? undefined : picked(value, names);
    let at = '';
    try {
      for (const { name, read } of parts) {
        at = name;
        const part = value[name];
        const field = read(part, buffers);
        if (field !== part) {
          copy ??= picked(value, names);
          copy[name] = field;
        }
      }
    } catch (error) {
      throw within(`.${at}`, error);
    }
    return (copy ?? value) as T;
  };
}

/** A record that errors call `name`. */
export function message<T extends object>(name: string, fields: Fields<T>): Reader<T> {
  const read = record(fields);
  return (value, buffers) => {
    try {
      return read(value, buffers);
    } catch (error) {
      throw within(name, error);
    }
  };
}

/** One of several messages, chosen by its field `kind`. */
export function union<T extends { readonly kind: string }>(
  name: string,
  members: { readonly [Kind in T['kind']]: Reader<Extract<T, { readonly kind: Kind }>> }
): (value: unknown, buffers?: Buffers) => T {
  const readers = new Map<unknown, Reader<T>>(Object.entries<Reader<T>>(members));
  return (value, buffers = []) => {
    if (!isObject(value)) {
      throw new ProtocolError(`${name} is no object`);
    }
    const read = readers.get(value.kind);
    if (read === undefined) {
      throw new ProtocolError(`${name}.kind is unknown: ${String(value.kind)}`);
    }
    return read(value, buffers);
  };
}
