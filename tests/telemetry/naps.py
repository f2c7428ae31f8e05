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
