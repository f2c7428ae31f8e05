"""What tasks do whose times, states and memory are told: light to import, as each new worker does."""

from __future__ import annotations

import os
import pickle
import signal
import time
from pathlib import Path
from typing import Any

BLOCK = 120 << 20  # bytes that `large` holds


def nap(seconds: float, *_: object) -> float:
    time.sleep(seconds)
    return seconds


class SlowToPack:
    """Computes while it is packed, as a large frame with columns of text does."""

    def __init__(self, size: int, seconds: float) -> None:
        self.data, self.seconds = bytearray(size), seconds

    def __reduce__(self) -> tuple[Any, ...]:
        end = time.process_time() + self.seconds
        while time.process_time() < end:
            pass
        return bytearray, (pickle.PickleBuffer(self.data),)


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


def importing(module: str) -> int:
    __import__(module)
    return 0


def first(array: Any, place: int) -> float:
    return float(array[place])


def brief(x: int) -> int:
    return x


def sleeps(seconds: float) -> None:
    time.sleep(seconds)


def total(*values: Any) -> int:
    return 1 + sum(v if isinstance(v, int) else sum(v) for v in values)


def hold(gate: str) -> int:
    while not Path(gate).exists():
        time.sleep(0.005)
    return 1


def fail(_: int) -> int:
    raise ValueError("no")


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def every_third(x: int) -> int:
    if x % 3 == 0:
        raise ValueError(x)
    return x


def every_thousandth(x: int) -> int:
    if x % 1000 == 0:
        raise ValueError(x)
    return x


def hold_some(item: tuple[int, str]) -> int:
    number, gate = item
    if gate:
        hold(gate)
    return number


def die_at(item: tuple[int, str]) -> int:
    number, _ = item
    if number == 37:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail_first(item: tuple[int, str]) -> int:
    number, folder = item
    mark = Path(folder, str(number))
    if number % 10 == 0 and not mark.exists():
        mark.touch()
        raise ValueError(number)
    return number


def double_all(items: list[int]) -> list[int]:
    if 5 in items:
        raise ValueError("5 is here")
    return [2 * i for i in items]


def wait_for(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.005)


def double(x: int) -> int:
    if x == 3:
        raise ValueError("three")
    return 2 * x


def large(gate: str) -> int:
    """Hold a block of memory until told."""
    kept = bytearray(b"x") * BLOCK
    small(gate)
    return len(kept)


def small(gate: str) -> None:
    while not Path(gate).exists():
        time.sleep(0.005)


def spin(gate: str) -> int:
    """Keep a processor and 50 MB busy until told."""
    kept = bytearray(os.urandom(1024) * (50 * 1024))
    while not Path(gate).exists():
        sum(range(1000))
    return len(kept)


def end() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def work(seconds: float) -> None:
    time.sleep(seconds)
