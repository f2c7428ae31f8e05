"""Changes that tasks make to captured state, their process or their arguments, as workers report them (`watched`)."""

from __future__ import annotations

import pickle
import types
from collections.abc import Callable
from typing import Any

from ...by_value.changed_arguments import changed_arguments
from ...by_value.stream_looks import STREAM_SHOWN
from ...diagnostics import notices
from ...process_context.process_looks import FIGURES
from ...randomness import own_streams


def hear(data: bytes, named: Callable[[str], Any]) -> None:
    """A worker's word: (name of the function, variables, whether these are arguments). Each is told once."""
    name, variables, arguments = pickle.loads(data)
    if arguments:
        _of_arguments(name, variables, named(name))
        return
    streams = {stream for stream, shown in STREAM_SHOWN.items() if shown in variables}
    if streams:
        own_streams.drew(name.removesuffix(".__call__"), streams, named(name))
        variables = [variable for variable in variables if variable not in STREAM_SHOWN.values()]
    new = [variable for variable in variables if notices.is_new((name, variable), named(name))]
    if FIGURES in new:
        new.remove(FIGURES)
        notices.warn(
            f"tasks of {name} draw in {FIGURES} of their workers: here these do not change, and show nothing of it. "
            "Return the data and draw it here; or end with display(figure) or figure.savefig(...), and with "
            "plt.close(figure).",
            named(name),
        )
    if new:
        shown = notices.listed(new)
        notices.warn(f"tasks of {name} change {shown}. {notices.stays_there(shown, len(new))}", named(name))


def _of_arguments(name: str, changed: tuple[str, ...], function: Any) -> None:
    plain = getattr(function, "__wrapped__", function)
    editable = type(plain) is types.FunctionType  # not a method, nor a function of C
    shown = changed_arguments(plain) if editable else {}
    said = () if notices.is_new((name, *shown), plain) else shown.keys()  # at its definition
    new = [each for each in changed if each not in said and notices.is_new((name, "argument", each), plain)]
    if new:
        found = {each: shown[each] for each in new if each in shown}
        notices.warn(notices.works_on_copies(name, new, found, editable=editable), function)
