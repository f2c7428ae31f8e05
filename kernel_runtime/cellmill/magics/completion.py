"""Completions for the lines of the magics."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, cast

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher
from IPython.core.interactiveshell import InteractiveShell

from cellmill import backends
from cellmill.diagnostics.tracebacks import LENGTHS
from cellmill.executor import peek_default_executor
from cellmill.magics import cache, control, journeys, parallel, pfor, speedup, task
from cellmill.magics.lines import RESOURCES, Option
from cellmill.task import POLICIES

Matcher = Callable[[CompletionContext], SimpleMatcherResult]

_LINE = re.compile(
    r"\s*(%cellmill|%journeys|%trace|%why|%%parallel|%%pfor|%%speedup|%%task)\s+(.*)$", re.DOTALL
)
_FRAGMENT = re.compile(r"[^\s,=]*$")
_DEFINITION = re.compile(r"^def\s+(\w+)", re.MULTILINE)


def matcher(ip: InteractiveShell) -> Matcher:
    """The matcher for one shell, to be put among its completer's custom matchers."""

    @context_matcher(identifier="cellmill")
    def cellmill_matcher(context: CompletionContext) -> SimpleMatcherResult:
        match = _LINE.match(context.text_until_cursor)
        if match is None:
            return SimpleMatcherResult(completions=[], suppress=False)
        magic, before = match.groups()
        fragment_match = _FRAGMENT.search(before)
        fragment = fragment_match.group() if fragment_match else ""
        cell = context.full_text.split("\n", context.cursor_line + 1)
        body = cell[-1] if len(cell) > context.cursor_line + 1 else ""
        words = before[: len(before) - len(fragment)].replace(",", " , ").split()
        found, kind = _offers(ip, magic, words, fragment, body)
        chosen = sorted({each for each in found if each.startswith(fragment)})
        return SimpleMatcherResult(
            completions=[SimpleCompletion(text=each, type=kind) for each in chosen],
            matched_fragment=fragment,
            suppress=bool(chosen),
        )

    return cast(Matcher, cellmill_matcher)


def _offers(
    ip: InteractiveShell, magic: str, words: list[str], fragment: str, body: str
) -> tuple[Iterable[str], str]:
    """The words that are possible here, and their kind."""
    if magic == "%cellmill":
        return _control(words, fragment), "keyword"
    if magic == "%journeys":
        return ([] if words else journeys.names()), "variable"
    if magic == "%trace":
        return ([] if words else ["save"]), "keyword"
    if magic == "%why":
        return _futures(ip, words), "variable"
    options = {
        "%%parallel": parallel.OPTIONS,
        "%%pfor": pfor.OPTIONS,
        "%%speedup": speedup.OPTIONS,
        "%%task": task.OPTIONS,
    }[magic]
    rest, value_expected = _after_options(words, options)
    if value_expected:
        return (_resources() if words[-1] == RESOURCES.flag else ()), "param"
    if fragment.startswith("-"):
        return ([] if rest else [option.flag for option in options if option.flag not in words]), "param"
    if magic == "%%parallel":
        return (name for name in _functions(body) if name not in rest), "function"
    if magic == "%%speedup":
        return (() if rest else ["->"]), "keyword"
    if magic == "%%task":
        return _task(ip, rest)
    return _pfor(ip, rest, body)


def _after_options(words: list[str], options: tuple[Option, ...]) -> tuple[list[str], bool]:
    """The words after the options, and whether the last option still waits for its value."""
    takes_value = {option.flag for option in options if option.read is not None}
    position = 0
    while position < len(words) and words[position].startswith("-"):
        if words[position] in takes_value:
            if position + 1 == len(words):
                return [], True
            position += 1
        position += 1
    return words[position:], False


def _control(words: list[str], fragment: str) -> Iterable[str]:
    if not words:
        return control.SUBCOMMANDS
    if words[0] == "preload":
        return _modules(fragment)
    if len(words) == 1:
        known = {
            "backend": backends.KNOWN,
            "policy": POLICIES,
            "traceback": LENGTHS,
            "profile": control.SWITCH,
            "record": control.SWITCH,
            "output": control.OUTPUT,
            "serve": control.SWITCH,
            "dask": control.SWITCH,
            "cache": cache.ACTIONS,
        }
        return known.get(words[0], ())
    return ()


def _resources() -> list[str]:
    """Return the resources that tasks may ask for, without making an executor."""
    executor = peek_default_executor()
    return [f"{name}=" for name in executor.resources if name != "memory"] if executor is not None else []


def _modules(fragment: str) -> list[str]:
    from IPython.core.completerlib import module_completion

    found: list[str] = module_completion(f"import {fragment}")  # type: ignore[no-untyped-call]
    return found


def _functions(body: str) -> list[str]:
    """The functions at the top level of the cell, also while it is not yet correct Python."""
    try:
        return [node.name for node in ast.parse(body).body if isinstance(node, ast.FunctionDef)]
    except (SyntaxError, ValueError):
        return _DEFINITION.findall(body)


def _task(ip: InteractiveShell, rest: list[str]) -> tuple[Iterable[str], str]:
    if len(rest) == 1:
        return ["after"], "keyword"
    if len(rest) > 1 and rest[1] == "after":
        return _futures(ip, rest), "variable"
    return (), "variable"


def _futures(ip: InteractiveShell, rest: list[str]) -> Iterable[str]:
    names = [name for name, value in ip.user_ns.items() if isinstance(value, Future)]
    return (name for name in names if name[:1] != "_" and name not in rest)


def _pfor(ip: InteractiveShell, rest: list[str], body: str) -> tuple[Iterable[str], str]:
    if "->" in rest:
        return (), "variable"
    if "in" in rest:
        names = set(ip.user_ns) - set(ip.user_ns_hidden)
        return (name for name in names if name[:1] != "_"), "variable"
    if rest and rest[-1] != ",":
        return ["in"], "keyword"
    return _free_names(body, ip.user_ns), "variable"


def _free_names(body: str, namespace: dict[str, Any]) -> list[str]:
    """Names which the cell reads and no code defines: what the loop's target is likely to be."""
    try:
        names = [node for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)]
    except (SyntaxError, ValueError):
        return []
    stored = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    read = {node.id for node in names} - stored
    return [name for name in read if name not in namespace and not hasattr(builtins, name)]
