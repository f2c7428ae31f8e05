"""Placeholders in the notebook for variables that a background task assigned and could not send."""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import PayloadError

_USES = (
    *(
        "call",
        "iter",
        "next",
        "len",
        "getitem",
        "setitem",
        "delitem",
        "contains",
        "bool",
        "int",
        "float",
        "index",
    ),
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "mod", "pow", "matmul"),
    *(
        "and",
        "or",
        "xor",
        "neg",
        "abs",
        "invert",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "enter",
        "exit",
        "await",
        "aiter",
    ),
)


class Unsent:
    """Replaces a variable; any use of it but to show it raises a `PayloadError`."""

    __slots__ = ("_name", "_reason", "_task")

    def __init__(self, name: str, task: str, reason: str) -> None:
        self._name, self._task, self._reason = name, task, reason

    def __repr__(self) -> str:
        return f"<{self._name} of task {self._task} could not be sent: {self._reason}>"

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise PayloadError(
            f"{self._name} is not here: task {self._task} assigned it, and it cannot be sent ({self._reason}). Let "
            f"the task assign data (numbers, text, arrays, dicts), or make {self._name} in the notebook"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)  # showing or copying an object reads many of these
        self._refuse()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return Unsent, (self._name, self._task, self._reason)  # so it says the same in tasks


for _use in _USES:
    setattr(Unsent, f"__{_use}__", Unsent._refuse)
