"""`%cellmill cache`: the results that are kept by `memo` and `checkpoint`."""

from __future__ import annotations

from cellmill.diagnostics.short_text import counted
from cellmill.errors import UsageError
from cellmill.magics.lines import Line, Word, did_you_mean
from cellmill.memo import calls
from cellmill.task import memory_of, size_text

ACTIONS = ("clear", "limit")


def run_cache(line: Line, command: Word, arguments: list[Word]) -> str:
    """Show what is kept, forget it, or set how much there may be; returns what is said of it."""
    if not arguments:
        return _shown()
    action, *rest = arguments
    if action.text not in ACTIONS:
        raise line.at(
            f"cache takes clear or limit, not {action.text!r}{did_you_mean(action.text, ACTIONS)}", action
        )
    if len(rest) > 1:
        raise line.at(f"cache {action.text} takes one argument only", rest[1])
    return _clear(line, rest) if action.text == "clear" else _limit(line, action, rest)


def _shown() -> str:
    found = calls.stores()
    if not found:
        return "no results are kept: %%parallel --memo keeps those of a function"
    lines = []
    for store in found:
        held = store.held()
        most = "" if store.limit is None else f" of {size_text(store.limit)}"
        lines.append(f"{store.where}: {counted(held.results, 'result')}, {size_text(held.bytes)}{most}")
        for function in store.functions():
            part = store.held(function)
            hits, misses = calls.counts(function, store)
            lines.append(
                f"    {function}: {counted(part.results, 'result')}, {size_text(part.bytes)}; found {hits:,} of "
                f"{hits + misses:,} in this kernel"
            )
    return "\n".join(lines)


def _clear(line: Line, rest: list[Word]) -> str:
    known = sorted({function for store in calls.stores() for function in store.functions()})
    if rest and rest[0].text not in known:
        listed = f"there are results of {', '.join(known)}" if known else "there are none"
        raise line.at(f"no results of {rest[0].text!r} are kept; {listed}", rest[0])
    count = sum(store.clear(rest[0].text if rest else None) for store in calls.stores())
    return f"{counted(count, 'result')} forgotten"


def _limit(line: Line, action: Word, rest: list[Word]) -> str:
    if not rest:
        raise line.at("cache limit needs a size, such as 2GB", action)
    word = rest[0]
    try:
        limit = memory_of("limit", int(word.text) if word.text.isdecimal() else word.text)
    except UsageError as error:
        raise line.at(str(error), word) from None
    calls.set_limit(limit)
    return f"up to {size_text(limit)} of results are kept in memory, and as much in each folder"
