"""What tasks do whose times are told: light to import, as each new worker does."""

from __future__ import annotations

import time


def nap(seconds: float, *_: object) -> float:
    time.sleep(seconds)
    return seconds


def later(before: float, seconds: float) -> float:
    return nap(seconds)


def fails_once(path: str, seconds: float) -> float:
    nap(seconds)
    with open(path, "a+") as file:
        file.seek(0)
        first = not file.read()
        file.write("x")
    if first:
        raise OSError("once")
    return seconds


def pause(length: float) -> None:
    time.sleep(length)


def pause_for_longer(length: float) -> None:
    time.sleep(length)


def step(before: object, length: float) -> None:
    time.sleep(length)


def long_step(before: object, length: float) -> None:
    time.sleep(length)


def join_all(one: object, two: object, three: object, length: float) -> None:
    time.sleep(length)


def join(one: object, other: object, length: float) -> None:
    time.sleep(length)


def rest_for_each(items: list[int]) -> list[int]:
    time.sleep(0.005 * len(items))
    return items
