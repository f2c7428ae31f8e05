"""What the body of a `%%pfor` loop cannot have, and what is said of it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

_SETTINGS = frozenset(
    ("localcontext", "errstate", "option_context", "config_context", "printoptions", "rc_context")
)
_OF_NAMES = {
    "globals": 0,
    "locals": 0,
    "vars": 0,
    "exec": 1,
}  # and the most arguments with which they reach names


@dataclass(frozen=True, slots=True)
class Refusal:
    """A construct that the loop cannot run in parallel, and its place."""

    node: Any
    message: str


def under_settings(block: ast.With, changed: str) -> Refusal | None:
    """A with-block that sets how values are computed, and in which the loop changes ``changed``: that is done later."""
    calls = [item.context_expr for item in block.items if isinstance(item.context_expr, ast.Call)]
    setting = next((call for call in calls if _called(call) in _SETTINGS), None)
    if setting is None:
        return None
    return Refusal(
        setting,
        f"{changed} is changed after the items, and not under {_called(setting)}. Compute the value in the with-block, "
        f"and change {changed} behind it",
    )


def _called(call: ast.Call) -> str:
    func = call.func
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def reaches_names(call: ast.Call) -> Refusal | None:
    """A call of a builtin by which the body would reach names that it does not write."""
    name = getattr(call.func, "id", "")
    if len(call.args) > _OF_NAMES.get(name, -1):
        return None
    return Refusal(
        call,
        f"{name}() would reach this item's names, and not the notebook's. Write the names in the body, or use a dict "
        "of your own",
    )
