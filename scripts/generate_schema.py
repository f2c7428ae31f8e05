"""Write the Python and TypeScript types of the telemetry schema; ``--check`` says whether they are fresh.

From kernel_runtime/cellmill/telemetry/schema.json come kernel_runtime/cellmill/telemetry/schema.py (typed dictionaries)
and labextension/src/protocol.ts (interfaces, and validating parsers for what the kernel sends). Fields of type bytes,
in frames alone, travel as the buffers of a message, in the order of the schema.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "kernel_runtime" / "cellmill" / "telemetry" / "schema.json"
PYTHON = ROOT / "kernel_runtime" / "cellmill" / "telemetry" / "schema.py"
TYPESCRIPT = ROOT / "labextension" / "src" / "protocol.ts"
NOTICE = "Generated from telemetry/schema.json by scripts/generate_schema.py; do not edit."

PYTHON_TYPES = {
    "integer": "int",
    "number": "float",
    "string": "str",
    "boolean": "bool",
    "version": "int",
    "bytes": "bytes",
}
TYPESCRIPT_TYPES = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean"}

LONGEST_LINE = 110  # of Python
Field = dict[str, Any]


def python_type(field: Field) -> str:
    """The annotation of one field."""
    kind = str(field["type"])
    name = f'Literal["{field["value"]}"]' if kind == "literal" else PYTHON_TYPES.get(kind, kind)
    name = f"list[{name}]" if field.get("array") else name
    return f"{name} | None" if field.get("nullable") else name


def byte_fields(entry: Field) -> list[str]:
    """Names of a type's fields that travel as buffers."""
    return [key for key, field in entry["fields"].items() if field["type"] == "bytes"]


def python_field(key: str, field: Field) -> str:
    """The lines of one field."""
    line = f"    {key}: {python_type(field)}"
    note = f"# {field['meaning']}"
    return f"{line}  {note}" if len(line) + len(note) < 108 else f"    {note}\n{line}"


def python_source(schema: dict[str, Any]) -> str:
    """The text of schema.py."""
    stages = [stage["name"] for stage in schema["stages"]]
    out = [
        '"""What the kernel tells its views: frames, commands and the stages of a journey.',
        "",
        NOTICE,
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Literal, TypedDict",
        "",
        f"VERSION = {schema['version']}",
    ]
    out += [f'{name} = "{value}"' for name, value in schema["constants"].items()]
    out += ["", "Stage = Literal["] + [f'    "{name}",' for name in stages] + ["]"]
    out += ["STAGES: tuple[Stage, ...] = ("] + [f'    "{name}",' for name in stages] + [")"]
    out += ["INTERVALS: tuple[str, ...] = ("] + [f'    "{name}",' for name in schema["intervals"]] + [")"]
    buffers = {
        str(entry["fields"]["kind"]["value"]): tuple(byte_fields(entry))
        for entry in schema["types"].values()
        if "kind" in entry["fields"] and byte_fields(entry)
    }
    out += [
        "# fields of a frame that travel as buffers, by its kind",
        "BUFFERS: dict[str, tuple[str, ...]] = {",
    ]
    out += [
        f'    "{kind}": ({", ".join(json.dumps(n) for n in names)}{"," if len(names) == 1 else ""}),'
        for kind, names in buffers.items()
    ]
    out += ["}"] if buffers else []
    if not buffers:
        out[-1] += "}"
    for name, entry in schema["types"].items():
        out += ["", "", f"class {name}(TypedDict):", f'    """{entry["meaning"]}"""', ""]
        out += [python_field(key, field) for key, field in entry["fields"].items()]
    out += ["", "", "# fmt: off"]
    for name, entry in schema["unions"].items():
        members = "\n    | ".join(entry["members"])
        out += ["", f"{name} = (  # {entry['meaning']}", f"    {members}", ")"]
    return "\n".join(out) + "\n"


def typescript_type(field: Field) -> str:
    """The type of one field."""
    kind = str(field["type"])
    if kind == "literal":
        return f"'{field['value']}'"
    if kind == "version":
        return "typeof VERSION"
    if kind == "bytes":
        return "Uint8Array"
    name = TYPESCRIPT_TYPES.get(kind, kind)
    name = f"readonly {name}[]" if field.get("array") else name
    return f"{name} | null" if field.get("nullable") else name


def typescript_parser(key: str, field: Field, buffers: list[str]) -> str:
    """The expression that reads one field out of the unknown record `raw`, or of `buffers`."""
    kind, value = field["type"], f"raw.{key}"
    if kind == "literal":
        return f"literal({value}, '{field['value']}', where + '.{key}')"
    if kind == "bytes":
        return f"bytes(buffers, {buffers.index(key)}, where + '.{key}')"
    if kind == "version":
        return f"literal({value}, VERSION, where + '.{key}')"
    reader = kind if kind in TYPESCRIPT_TYPES else f"parse{kind}"
    if field.get("array"):
        return f"array({value}, {reader}, where + '.{key}')"
    if field.get("nullable"):
        return f"{value} === null ? null : {reader}({value}, where + '.{key}')"
    return f"{reader}({value}, where + '.{key}')"


TYPESCRIPT_READERS = """
/** A message that does not follow the schema. */
export class ProtocolError extends Error {}

function record(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProtocolError(`${where} is no object`);
  }
  return value as Record<string, unknown>;
}

function number(value: unknown, where: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new ProtocolError(`${where} is no number`);
  }
  return value;
}

function integer(value: unknown, where: string): number {
  if (!Number.isInteger(number(value, where))) {
    throw new ProtocolError(`${where} is no integer`);
  }
  return value as number;
}

function boolean(value: unknown, where: string): boolean {
  if (typeof value !== 'boolean') {
    throw new ProtocolError(`${where} is neither true nor false`);
  }
  return value;
}

function string(value: unknown, where: string): string {
  if (typeof value !== 'string') {
    throw new ProtocolError(`${where} is no string`);
  }
  return value;
}

function literal<T extends string | number>(value: unknown, expected: T, where: string): T {
  if (value !== expected) {
    throw new ProtocolError(`${where} is not ${expected}`);
  }
  return expected;
}

function array<T>(
  value: unknown,
  read: (item: unknown, where: string) => T,
  where: string
): readonly T[] {
  if (!Array.isArray(value)) {
    throw new ProtocolError(`${where} is no list`);
  }
  return value.map((item, index) => read(item, `${where}[${index}]`));
}
"""

TYPESCRIPT_BYTES = """
/** The binary parts of a message. */
export type Buffers = readonly (ArrayBuffer | ArrayBufferView)[];

function bytes(buffers: Buffers, index: number, where: string): Uint8Array {
  const buffer = buffers[index];
  if (buffer === undefined) {
    throw new ProtocolError(`${where} did not come`);
  }
  return ArrayBuffer.isView(buffer)
    ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    : new Uint8Array(buffer);
}
"""


def sent_by_kernel(schema: dict[str, Any]) -> set[str]:
    """The types that a frame holds: those the front end must parse."""
    found: set[str] = set()
    todo = list(schema["unions"]["Frame"]["members"])
    while todo:
        name = todo.pop()
        if name in schema["types"] and name not in found:
            found.add(name)
            todo += [field["type"] for field in schema["types"][name]["fields"].values()]
    return found


def typescript_object(name: str, entry: dict[str, Any], *, parser: bool) -> list[str]:
    """The interface of one type and, where it is asked for, its parser."""
    out = ["", f"/** {entry['meaning']} */", f"export interface {name} {{"]
    for key, field in entry["fields"].items():
        out += [f"  /** {field['meaning']} */", f"  readonly {key}: {typescript_type(field)};"]
    out += ["}"]
    if not parser:
        return out
    buffers = byte_fields(entry)
    more = ", buffers: Buffers" if buffers else ""
    out += ["", f"function parse{name}(value: unknown, where: string{more}): {name} {{"]
    out += ["  const raw = record(value, where);", "  return {"]
    lines = [f"    {key}: {typescript_parser(key, field, buffers)}" for key, field in entry["fields"].items()]
    return [*out, ",\n".join(lines), "  };", "}"]


def typescript_union(name: str, entry: dict[str, Any], types: dict[str, Any]) -> list[str]:
    """The union type and its parser, which goes by the literal field `kind`."""
    members = entry["members"]
    more = ", buffers: Buffers = []" if any(byte_fields(types[member]) for member in members) else ""
    out = ["", f"/** {entry['meaning']} */", f"export type {name} = {' | '.join(members)};", ""]
    out += [f"/** Read {name} from a message's data; throws ProtocolError. */"]
    out += [f"export function parse{name}(value: unknown{more}): {name} {{"]
    out += [f"  const kind = record(value, '{name}').kind;", "  switch (kind) {"]
    for member in members:
        out += [f"    case '{types[member]['fields']['kind']['value']}':"]
        also = ", buffers" if byte_fields(types[member]) else ""
        out += [f"      return parse{member}(value, '{member}'{also});"]
    out += ["    default:", f"      throw new ProtocolError(`{name}.kind is unknown: ${{String(kind)}}`);"]
    return [*out, "  }", "}"]


def typescript_source(schema: dict[str, Any]) -> str:
    """The text of protocol.ts."""
    stages = ", ".join(f"'{stage['name']}'" for stage in schema["stages"])
    intervals = ", ".join(f"'{name}'" for name in schema["intervals"])
    out = [f"/** What the kernel tells its views.\n *\n * {NOTICE}\n */", ""]
    out += [f"export const VERSION = {schema['version']};"]
    out += [f"export const {name} = '{value}';" for name, value in schema["constants"].items()]
    out += ["", "/** The stages of a task's journey, in order. */", "// prettier-ignore"]
    out += [f"export const STAGES = [{stages}] as const;", "export type Stage = (typeof STAGES)[number];"]
    out += ["/** The intervals between them. */", "// prettier-ignore"]
    out += [f"export const INTERVALS = [{intervals}] as const;"]
    out += [TYPESCRIPT_READERS.rstrip()]
    if any(byte_fields(entry) for entry in schema["types"].values()):
        out += [TYPESCRIPT_BYTES.rstrip()]
    parsed = sent_by_kernel(schema)
    for name, entry in schema["types"].items():
        out += typescript_object(name, entry, parser=name in parsed)
    for name, entry in schema["unions"].items():
        if name == "Frame":
            out += typescript_union(name, entry, schema["types"])
        else:
            out += ["", f"/** {entry['meaning']} */", f"export type {name} = {' | '.join(entry['members'])};"]
    return "\n".join(out) + "\n"


def main() -> int:
    schema = json.loads(SOURCE.read_text())
    stale = []
    for path, text in ((PYTHON, python_source(schema)), (TYPESCRIPT, typescript_source(schema))):
        if path.exists() and path.read_text() == text:
            continue
        stale.append(str(path.relative_to(ROOT)))
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
    if stale and "--check" in sys.argv[1:]:
        print(f"not up to date with the schema: {', '.join(stale)}; run python scripts/generate_schema.py")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
