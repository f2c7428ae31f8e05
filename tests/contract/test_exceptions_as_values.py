"""Exceptions that are arguments, results and captured: they arrive as they are, whatever their ``__init__`` takes."""

from __future__ import annotations

import errno
from multiprocessing.pool import MaybeEncodingError
from typing import Any

import pytest

from cellmill import Executor
from tests.support.helpers import SECONDS


class TwoPartsError(Exception):
    def __init__(self, part: str, number: int) -> None:
        super().__init__(f"{part} {number}")
        self.part, self.number = part, number


class KeywordError(ValueError):
    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")
        self.code = code


class Stopped(RuntimeError):
    """Has no name by which it is known as an exception, and a slot."""

    __slots__ = ("at",)

    def __init__(self, at: float) -> None:
        self.at = at


class FileError(OSError):
    def __init__(self, name: str) -> None:
        super().__init__(errno.ENOENT, "no such part", name)


class MadeError(OSError):
    def __new__(cls, name: str) -> MadeError:
        return super().__new__(cls, errno.EACCES, "no way in", name)


class ModuleError(ImportError):
    def __init__(self, module: str) -> None:
        super().__init__(f"without {module}", name=module)


class TextError(UnicodeDecodeError):
    def __init__(self, data: bytes) -> None:
        super().__init__("utf-8", data, 0, 1, "it is none")


class Several(ExceptionGroup[Exception]):
    def __new__(cls, *errors: Exception) -> Several:
        return super().__new__(cls, "several", errors)


class SaysHowError(Exception):
    """Is pickled in its own way."""

    def __init__(self, number: int, doubled: int) -> None:
        super().__init__(doubled)
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.number, 2 * self.number)


def made() -> list[Any]:
    noted = TwoPartsError("leg", 4)
    noted.add_note("of the table")
    return [
        TwoPartsError("arm", 2),
        noted,
        KeywordError(code=3),
        Stopped(1.5),
        FileError("part.csv"),
        MadeError("part.csv"),
        ModuleError("numpi"),
        TextError(b"\xff"),
        Several(KeywordError(code=1), TwoPartsError("leg", 3)),
        SaysHowError(2, 4),
        MaybeEncodingError(KeyError("price"), [1]),  # imported by name: `__init__` writes its arguments anew
    ]


FIELDS = ["filename", "errno", "strerror", "name", "object", "start", "reason", "exceptions", "at"]


def told(error: BaseException) -> list[Any]:
    """All that an exception has."""
    fields = [getattr(error, name, None) for name in FIELDS]
    fields = [[told(one) for one in each] if type(each) is tuple else each for each in fields]
    members = {name: value for name, value in vars(error).items() if name not in FIELDS}
    return [type(error).__qualname__, str(error), repr(error.args), members, *fields]


def all_told(errors: list[Any]) -> list[Any]:
    return [told(error) for error in errors]


def caught(number: int) -> Any:
    try:
        raise KeywordError(code=number)
    except KeywordError as error:
        return error


def test_they_arrive_as_they_are(ex: Executor) -> None:
    wanted = all_told(made())
    assert ex.submit(all_told, made()).result(SECONDS) == wanted
    assert ex.submit(told, made()[0]).result(SECONDS) == wanted[0]
    assert all_told(ex.submit(made).result(SECONDS)) == wanted
    assert list(ex.map(told, made())) == wanted
    captured = made()
    assert ex.submit(lambda: all_told(captured)).result(SECONDS) == wanted


def test_errors_that_are_returned(ex: Executor) -> None:
    assert [error.code for error in ex.map(caught, range(5))] == [*range(5)]
    first = ex.submit(caught, 7)
    assert ex.submit(told, first).result(SECONDS) == told(caught(7))
    assert first.result(SECONDS).code == 7


def test_one_that_is_raised_is_what_it_was(ex: Executor) -> None:
    def fail(error: BaseException) -> None:
        raise error

    for error in made():
        with pytest.raises(type(error)) as found:
            ex.submit(fail, error).result(SECONDS)
        assert str(found.value) == str(error)
