"""Objects and functions that do harm where they are pickled, unpickled or called; importable by workers."""

from __future__ import annotations

import os
import sys
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

KINDS = ["raises", "exits", "interrupts", "closes", "stops", "recurses", "eats memory", "is no exception"]


class Unheard(BaseException):
    """`except Exception` does not catch it."""


def act(how: str) -> Any:
    if how == "ends the process":
        os._exit(5)
    if how == "recurses":
        act(how)
    raise {
        "raises": ZeroDivisionError("by hand"),
        "exits": SystemExit(3),
        "interrupts": KeyboardInterrupt(),
        "closes": GeneratorExit(),
        "stops": StopIteration(4),
        "eats memory": MemoryError(),
        "is no exception": Unheard("by hand"),
    }[how]


class ActsWhenPickled:
    """Only outside of the process it was made for, if it is told one."""

    def __init__(self, how: str, spared: int = 0) -> None:
        self.how, self.spared = how, spared

    def __reduce__(self) -> Any:
        if os.getpid() != self.spared:
            act(self.how)
        return str, ("pickled",)


def load(how: str, where: int, there: bool) -> str:
    if (os.getpid() == where) == there:
        act(how)
    return "loaded"


class ActsWhenLoaded:
    """In that process, or in all others."""

    def __init__(self, how: str, where: int, *, there: bool) -> None:
        self.arguments = (how, where, there)

    def __reduce__(self) -> Any:
        return load, self.arguments


class StateActs:
    """Its class is found, its state is what does not load."""

    def __init__(self, where: int) -> None:
        self.where = where

    def __setstate__(self, state: dict[str, int]) -> None:
        if os.getpid() == state["where"]:
            raise ZeroDivisionError("by hand")
        self.__dict__.update(state)


class KeyActs:
    """Its hash raises in one process, so that no dict there takes it as a key."""

    def __init__(self, where: int) -> None:
        self.where = where

    def __hash__(self) -> int:
        if os.getpid() == getattr(self, "where", 0):
            raise ZeroDivisionError("by hand")
        return 1


def made_elsewhere() -> object:
    """An object of a module that only the worker has."""
    module = types.ModuleType("cellmill_only_in_the_worker")
    sys.modules[module.__name__] = module
    exec("class Strange: pass", module.__dict__)
    strange: object = module.Strange()
    return strange


# -- exceptions


class Needy(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit(9)

    __repr__ = __str__


class Word(str):
    """A string of a class of its own."""


class Wordy(Exception):
    def __str__(self) -> str:
        return Word("own words")


class Locked(Exception):
    def __init__(self) -> None:
        super().__init__("holds a lock")
        self.lock = threading.Lock()


class Closed(Exception):
    """Takes no attribute, not even a traceback from Python."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(name)

    def with_traceback(self, _: Any) -> NoReturn:
        raise AttributeError("with_traceback")


class EndsReduce(Exception):
    def __reduce__(self) -> NoReturn:
        raise SystemExit(8)


class EndsLoad(Exception):
    def __init__(self, kernel: int) -> None:
        super().__init__(kernel)
        if os.getpid() == kernel:
            raise SystemExit(7)


class Priced(Exception):
    """Its arguments are not those of its `__init__`, which would take them all the same, and change them."""

    def __init__(self, what: str, price: int = 0) -> None:
        super().__init__(f"{what} for {price}")
        self.price = price


class Slotted(OSError):
    __slots__ = ("place",)

    def __init__(self, place: str) -> None:
        super().__init__(2, "gone", place)
        self.place = place


class Own(Exception):
    """Says itself how it is pickled."""

    def __init__(self, *, word: str) -> None:
        super().__init__(word)
        self.word = word

    def __reduce__(self) -> Any:
        return _own_again, (self.word,)


def _own_again(word: str) -> Own:
    return Own(word=word)


class Wrapping(Exception):
    def __init__(self, inner: BaseException) -> None:
        super().__init__("wrapped")
        self.inner = inner


class Groups(ExceptionGroup[Exception]):
    def derive(self, excs: Any) -> Groups:
        return Groups(self.message, excs)


class NoTruth(Exception):
    def __bool__(self) -> bool:
        raise RuntimeError("do not ask")


class Empty(Exception):
    def __len__(self) -> int:
        return 0


class NoAttributes(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("do not ask")


class EndsAttributes(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise SystemExit(6)


class NoClass(Exception):
    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("do not ask")


class NoHash(Exception):
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("do not ask")


class Nameless(type):
    def __getattribute__(cls, name: str) -> Any:
        if name in ("__name__", "__qualname__", "__module__"):
            raise RuntimeError("do not ask")
        return super().__getattribute__(name)


class OfNameless(Exception, metaclass=Nameless):
    pass


ODD_ERRORS = ("NoTruth", "Empty", "NoAttributes", "EndsAttributes", "NoClass", "NoHash", "OfNameless")


def raise_named(name: str) -> NoReturn:
    """By its name: some of them cannot be sent."""
    raise globals()[name]()


def raise_named_at(index: int, name: str) -> int:
    return raise_named(name) if index == 5 else index


def raise_named_in_list(items: list[int]) -> list[int]:
    return [raise_named_at(i, "NoTruth") for i in items]


class _Loader:
    def get_source(self, _: str) -> NoReturn:
        raise SystemExit(9)


def raise_from_code_without_source() -> None:
    names = {"__name__": "odd", "__loader__": _Loader()}
    exec(compile("raise ValueError('no source')", "<odd>", "exec"), names)


def raise_wrapping() -> NoReturn:
    raise Wrapping(Priced("tea", 3))


def raise_chain(how: str) -> NoReturn:
    """From another error, while one is handled, or hiding it."""
    try:
        raise Priced("tea", 3)
    except Priced as error:
        if how == "cause":
            raise KeyError("second") from error
        if how == "none":
            raise KeyError("second") from None
        raise KeyError("second")  # noqa: B904


def raise_groups() -> NoReturn:
    raise Groups("outer", [Priced("tea", 3), ExceptionGroup("inner", [OSError(2, "gone", "here")])])


def raise_unknown() -> NoReturn:
    """Of a class whose module only this process has."""
    module = types.ModuleType("cellmill_only_in_the_worker")
    sys.modules[module.__name__] = module
    exec("class Strange(LookupError):\n    pass", module.__dict__)
    raise module.Strange("who", 4)


def raise_it(error: BaseException) -> NoReturn:
    raise error


def raise_new(kind: Callable[..., BaseException], *args: Any) -> NoReturn:
    raise kind(*args)


def raise_noted() -> NoReturn:
    try:
        try:
            raise KeyError("the first")
        except KeyError as error:
            raise LookupError("the second") from error
    except LookupError as error:
        error.add_note("a note of the task")
        raise


def raise_group(bad: bool) -> NoReturn:
    nested = ExceptionGroup("inner", [TypeError("t"), Locked() if bad else OSError(2, "gone")])
    raise ExceptionGroup("outer", [ValueError("v"), nested])


def raise_base_group() -> NoReturn:
    raise BaseExceptionGroup("both", [KeyboardInterrupt(), ValueError("v")])


def raise_odd_notes() -> NoReturn:
    error = ValueError("with odd notes")
    error.__notes__ = Mute()  # type: ignore[assignment]
    raise error


# -- objects whose special methods answer oddly


class Odd:
    """Comparing, hashing, measuring or asking it raises."""

    def _refuse(self, *_: Any) -> NoReturn:
        raise RuntimeError("do not ask")

    __eq__ = __ne__ = __lt__ = __hash__ = __bool__ = __len__ = __contains__ = __iter__ = _refuse  # type: ignore[assignment]
    __repr__ = __str__ = _refuse  # type: ignore[assignment]


class OddCall(Odd):
    def __call__(self, x: int) -> int:
        return x + 1


class OddList(list[int]):
    def __len__(self) -> NoReturn:
        raise RuntimeError("do not ask")


class LazyClass:
    """As proxies that are bound to nothing: even their class cannot be asked for."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            raise RuntimeError("bound to nothing")
        return object.__getattribute__(self, name)


class LastWords:
    def __del__(self) -> None:
        raise RuntimeError("when it goes")


def take(value: Any) -> str:
    return type(value).__name__


# -- how tests look at what comes back


def ends_at_five(index: int) -> Any:
    return ActsWhenPickled("ends the process") if index == 5 else index


COUNT = 12  # elements of a map, the fifth of which is hostile


def alone(results: Iterable[Any], place: int = 5) -> Any:
    """The error in that place of a map; all others have the values that they should."""
    found = list(results)
    assert [r for i, r in enumerate(found) if i != place] == [i for i in range(COUNT) if i != place]
    return found[place]


def raised_by(how: str) -> type[BaseException]:
    try:
        act(how)
    except BaseException as error:
        return type(error)
    raise AssertionError(how)
