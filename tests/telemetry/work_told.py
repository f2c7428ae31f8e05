"""What tasks do that views tell of: light to import, as each new worker does."""

from __future__ import annotations


def hold(gate: str) -> str:
    with open(gate) as file:
        return file.read()


def odd(number: int) -> int:
    if number % 2:
        raise ValueError(f"odd: {number} <b>")
    return number


def add(*values: int) -> int:
    return sum(values) + 1


def fail(text: str) -> None:
    print("about to fail")
    raise ValueError(text)
