"""Write the Python and TypeScript types of the views' messages; ``--check`` says whether they are fresh.

From kernel_runtime/cellmill/telemetry/schema.json (JSON Schema, draft 2020-12) come
kernel_runtime/cellmill/telemetry/schema.py, typed dictionaries of what the kernel sends, and
labextension/src/protocol/messages.ts: interfaces of all messages, and a table of the readers of parse.ts beside it
for what the kernel sends. Fields of type Bytes travel beside the JSON, as buffers in the order of the properties.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "kernel_runtime" / "cellmill" / "telemetry" / "schema.json"
PYTHON = ROOT / "kernel_runtime" / "cellmill" / "telemetry" / "schema.py"
TYPESCRIPT = ROOT / "labextension" / "src" / "protocol" / "messages.ts"
NOTICE = "Generated from telemetry/schema.json by scripts/generate_schema.py; do not edit."

REFERENCE = "#/$defs/"
JSON_TYPES = ("integer", "number", "string", "boolean")
PYTHON_TYPES = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "Bytes": "bytes"}
TYPESCRIPT_TYPES = {"integer": "number", "Bytes": "Uint8Array"}
LONGEST_LINE = 110


@dataclass(frozen=True, slots=True)
class Field:
    """A property of an object."""

    name: str
    type: str  # a JSON type, or the name of a definition
    is_list: bool
    nullable: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class Object:
    """A definition of an object; `kind` is None where it is only a part of messages."""

    name: str
    meaning: str
    kind: str | None
    fields: tuple[Field, ...]  # but those that all messages have

    @property
    def binary(self) -> list[str]:
        """Names of the fields that travel as buffers."""
        return [field.name for field in self.fields if field.type == "Bytes"]


class Schema:
    """What the two languages need of schema.json. Raises ValueError where it has more than they can express."""

    def __init__(self, source: dict[str, Any]) -> None:
        self.definitions: dict[str, Any] = source["$defs"]
        self.version: int = self.definitions["Version"]["const"]
        self.stages: list[str] = [stage["const"] for stage in self.definitions["Stage"]["oneOf"]]
        self.intervals: list[str] = self.definitions["Interval"]["enum"]
        self.targets: dict[str, str] = {
            "CONTROL_TARGET": self.definitions["ControlTarget"]["const"],
            "FRAME_TARGET": self.definitions["FrameTarget"]["const"],
        }
        self.objects = {
            name: read_object(name, entry)
            for name, entry in self.definitions.items()
            if entry.get("type") == "object"
        }

    def members(self, union: str) -> list[Object]:
        """The messages that a union consists of."""
        return [self.objects[target(each)] for each in self.definitions[union]["oneOf"]]

    def meaning(self, name: str) -> str:
        """The description of a definition."""
        return str(self.definitions[name]["description"])

    def sent_by_kernel(self) -> list[Object]:
        """All that frames consist of, in the order of the schema."""
        found: set[str] = set()
        todo = [each.name for each in self.members("Frame")]
        while todo:
            name = todo.pop()
            if name in self.objects and name not in found:
                found.add(name)
                todo += [field.type for field in self.objects[name].fields]
        return [each for name, each in self.objects.items() if name in found]


def target(entry: dict[str, Any]) -> str:
    """The name of the definition that is referred to."""
    return str(entry["$ref"]).removeprefix(REFERENCE)


def read_object(name: str, entry: dict[str, Any]) -> Object:
    """One definition of an object."""
    properties = dict(entry["properties"])
    in_json = [key for key, value in properties.items() if value.get("$ref") != f"{REFERENCE}Bytes"]
    if entry["required"] != in_json:
        raise ValueError(f"{name}: not exactly the properties in the JSON are required")
    kind = properties.pop("kind")["const"] if "kind" in properties else None
    if kind is not None and target(properties.pop("cellmill")) != "Version":
        raise ValueError(f"{name}: its field cellmill is no version")
    fields = tuple(read_field(key, value) for key, value in properties.items())
    return Object(name, entry["description"], kind, fields)


def read_field(name: str, entry: dict[str, Any]) -> Field:
    """One property."""
    rules = {key: value for key, value in entry.items() if key != "description"}
    is_list = nullable = False
    match rules:
        case {"type": "array", "items": inner} if len(rules) == 2:
            is_list = True
        case {"anyOf": [{"type": "array", "items": inner}, {"type": "null"}]} if len(rules) == 1:
            is_list = nullable = True
        case {"anyOf": [inner, {"type": "null"}]} if len(rules) == 1:
            nullable = True
        case {"type": [kind, "null"]} if len(rules) == 1:
            inner, nullable = {"type": kind}, True
        case inner:
            pass
    if len(inner) != 1 or ("$ref" not in inner and inner.get("type") not in JSON_TYPES):
        raise ValueError(f"{name}: {entry} cannot be expressed")
    type_ = target(inner) if "$ref" in inner else inner["type"]
    return Field(name, type_, is_list, nullable, entry["description"])


def wrapped(head: str, parts: Iterable[str], tail: str, *, between: str = ", ", pad: str = "") -> list[str]:
    """`parts` between `head` and `tail`: in one line, or filled lines that end with what is `between`."""
    solid = "\0"  # replaces a space where no line may end
    text = (between[:-1].replace(" ", solid) + " ").join(part.replace(" ", solid) for part in parts)
    line = f"{head}{pad}{text}{pad}{tail}"
    if len(line) > LONGEST_LINE:
        lines = textwrap.wrap(text, LONGEST_LINE - 4, break_long_words=False, break_on_hyphens=False)
        line = "\n".join([head, *(f"    {each}" for each in lines), tail.strip()])
    return line.replace(solid, " ").split("\n")


def python_type(field: Field) -> str:
    """The annotation of one field."""
    name = PYTHON_TYPES.get(field.type, field.type)
    name = f"list[{name}]" if field.is_list else name
    return f"{name} | None" if field.nullable else name


def python_field(field: Field) -> list[str]:
    """The lines of one field."""
    line, note = f"    {field.name}: {python_type(field)}", f"# {field.meaning}"
    return [f"{line}  {note}"] if len(line) + len(note) < LONGEST_LINE - 2 else [f"    {note}", line]


def python_source(schema: Schema) -> str:
    """The text of schema.py."""
    out = ['"""What the kernel tells its views, and the stages of a journey.', "", NOTICE, '"""', ""]
    out += ["# fmt: off", "from __future__ import annotations", ""]
    out += ["from typing import Literal, TypedDict, get_args", "", f"VERSION = {schema.version}"]
    out += [f'{name} = "{value}"' for name, value in schema.targets.items()]
    out += wrapped("Stage = Literal[", map(json.dumps, schema.stages), "]")
    out += ["STAGES: tuple[Stage, ...] = get_args(Stage)"]
    out += wrapped("INTERVALS: tuple[str, ...] = (", map(json.dumps, schema.intervals), ")")
    out += ["# fields of a frame that travel as buffers, by its kind"]
    out += ["BUFFERS: dict[str, tuple[str, ...]] = {"]
    for each in schema.members("Frame"):
        if each.binary:
            names = ", ".join(map(json.dumps, each.binary))
            out += [f'    "{each.kind}": ({names}{"," if len(each.binary) == 1 else ""}),']
    out += ["}", "", "class Message(TypedDict):", '    """What every frame has."""']
    out += [f"    cellmill: int  # {schema.meaning('Version')}"]
    for each in schema.sent_by_kernel():
        base = "TypedDict" if each.kind is None else "Message"
        out += ["", f"class {each.name}({base}):", f'    """{each.meaning}"""']
        out += [] if each.kind is None else [f'    kind: Literal["{each.kind}"]']
        out += [line for field in each.fields for line in python_field(field)]
    members = (each.name for each in schema.members("Frame"))
    out += ["", f"# {schema.meaning('Frame')}", *wrapped("Frame = (", members, ")", between=" | ")]
    return "\n".join(out) + "\n"


def typescript_type(field: Field) -> str:
    """The type of one field."""
    name = TYPESCRIPT_TYPES.get(field.type, field.type)
    name = f"readonly {name}[]" if field.is_list else name
    return f"{name} | null" if field.nullable else name


def reader_name(name: str) -> str:
    """Of the reader of a part, which is a constant of the module."""
    return name[0].lower() + name[1:]


def typescript_reader(field: Field, binary: list[str]) -> str:
    """The reader of one field."""
    if field.type == "Bytes":
        return f"bytes({binary.index(field.name)})"
    name = reader_name(field.type)
    name = f"list({name})" if field.is_list else name
    return f"nullable({name})" if field.nullable else name


def typescript_interface(each: Object) -> list[str]:
    """The interface of one object."""
    base = "" if each.kind is None else f" extends Message<'{each.kind}'>"
    out = ["", f"/** {each.meaning} */"]
    if not each.fields:
        return [*out, f"export type {each.name} = Message<'{each.kind}'>;"]
    out += [f"export interface {each.name}{base} {{"]
    for field in each.fields:
        note, line = f"  /** {field.meaning} */", f"readonly {field.name}: {typescript_type(field)};"
        out += [f"{note} {line}"] if len(note) + len(line) < LONGEST_LINE else [note, f"  {line}"]
    return [*out, "}"]


def typescript_fields(each: Object) -> list[str]:
    """The table of one object: each field and its reader."""
    own = [] if each.kind is None else ["cellmill: version", f"kind: literal('{each.kind}')"]
    return own + [f"{field.name}: {typescript_reader(field, each.binary)}" for field in each.fields]


def typescript_table(schema: Schema) -> list[str]:
    """The readers of what the kernel sends: those of parts, then one for all frames."""
    out = ["", "const version = literal(VERSION);"]
    for each in ordered([each for each in schema.sent_by_kernel() if each.kind is None]):
        head = f"const {reader_name(each.name)} = record<{each.name}>({{"
        out += wrapped(head, typescript_fields(each), "});", pad=" ")
    out += ["", "/** Read a frame from a message's data; throws ProtocolError. */"]
    out += ["export const parseFrame = union<Frame>('Frame', {"]
    for each in schema.members("Frame"):
        head = f"'{each.kind}': message<{each.name}>('{each.name}', {{"
        out += [f"  {line}" for line in wrapped(head, typescript_fields(each), "}),", pad=" ")]
    return [*out, "});"]


def ordered(parts: list[Object]) -> list[Object]:
    """Parts, each after those that it consists of."""
    names, done, out = {each.name for each in parts}, set[str](), list[Object]()
    while len(out) < len(parts):
        free = [each for each in parts if each not in out]
        free = [each for each in free if {field.type for field in each.fields} & names <= done]
        if not free:
            raise ValueError("definitions refer to each other in a circle")
        out.append(free[0])
        done.add(free[0].name)
    return out


def typescript_source(schema: Schema) -> str:
    """The text of messages.ts."""
    stages = ", ".join(f"'{name}'" for name in schema.stages)
    intervals = ", ".join(f"'{name}'" for name in schema.intervals)
    readers = "boolean, bytes, integer, list, literal, message, nullable, number, record, string, union"
    out = [f"/** What the kernel tells its views, and what they ask of it.\n *\n * {NOTICE}\n */", ""]
    out += [f"import {{ {readers} }} from './parse';", "", f"export const VERSION = {schema.version};"]
    out += [f"export const {name} = '{value}';" for name, value in schema.targets.items()]
    out += ["", f"/** {schema.meaning('Stage')} */", f"export const STAGES = [{stages}] as const;"]
    out += ["export type Stage = (typeof STAGES)[number];", f"/** {schema.meaning('Interval')} */"]
    out += [f"export const INTERVALS = [{intervals}] as const;"]
    out += ["", "/** What every frame and command has. */"]
    out += ["interface Message<Kind extends string> {", f"  /** {schema.meaning('Version')} */"]
    out += ["  readonly cellmill: typeof VERSION;", "  readonly kind: Kind;", "}"]
    for each in schema.objects.values():
        out += typescript_interface(each)
    for name in ("Frame", "Command"):
        members = (each.name for each in schema.members(name))
        out += ["", f"/** {schema.meaning(name)} */"]
        out += filter(None, wrapped(f"export type {name} =", members, "", between=" | ", pad=" "))
        out[-1] += ";"
    return "\n".join([*out, *typescript_table(schema)]) + "\n"


def main() -> int:
    schema = Schema(json.loads(SOURCE.read_text()))
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
