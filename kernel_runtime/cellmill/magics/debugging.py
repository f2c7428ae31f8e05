"""`%cellmill debug`: the call of a failed task again, here, and the debugger where it fails."""

from __future__ import annotations

from IPython.core.getipython import get_ipython

import cellmill
from cellmill.api import questions_of
from cellmill.diagnostics.short_text import short_repr
from cellmill.magics.lines import Line, Word


def debug(line: Line, command: Word, arguments: list[Word]) -> str:
    """Make the call in this process; an exception opens the debugger in the frame that raised it."""
    ip = get_ipython()
    numbers = [_number(line, word) for word in arguments[:2]]
    if len(arguments) > 2:
        raise line.at("debug takes a task, and the element of a map", arguments[2])
    try:
        questions = questions_of()
        found = questions.failure(*numbers) if numbers else questions.latest_failure()
        if found is None:
            raise cellmill.UsageError(
                "of this task no failure is kept; the panel's table lists those that are"
                if numbers
                else "no task of these workers has failed so far"
            )
        function, args, kwargs = found.call()
    except cellmill.CellmillError as error:
        raise line.error(str(error), command.start) from None
    print(f"{found.function}({found.arguments}), here in this process:", flush=True)
    try:
        value = function(*args, **kwargs)
    except Exception as error:
        if ip is None:
            raise
        # Without this frame, unless it is the only one (arguments that do not fit).
        only = error.__traceback__ is None or error.__traceback__.tb_next is None
        ip.showtraceback(tb_offset=0 if only else 1)
        ip.debugger(force=True)  # type: ignore[no-untyped-call]
        return "debugged"
    return f"it did not fail here: {short_repr(value)}"


def _number(line: Line, word: Word) -> int:
    digits = word.text.removeprefix("#")
    if not digits.isdecimal() or len(digits) > 19:
        raise line.at(f"debug takes the number of a task, not {word.text!r}", word)
    return int(digits)
