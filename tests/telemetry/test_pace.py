"""How often pictures are sent, by what the machine has idle."""

from __future__ import annotations

import os
import time

import pytest

from cellmill.views.pace import ATTENTION, INTERVAL, LOOK, SLOWEST, Pace, crowded_interval, idle_seconds

CORES = 4
CROWDED = crowded_interval(CORES)


class Machine:
    """Its clock, and how long its cores have been idle together."""

    def __init__(self) -> None:
        self.time = 100.0
        self.idle: float | None = 5000.0

    def runs(self, seconds: float, idle_cores: float) -> None:
        self.time += seconds
        if self.idle is not None:
            self.idle += seconds * idle_cores

    def pace(self) -> Pace:
        return Pace(lambda: self.idle, lambda: self.time, CORES)


def test_fewer_pictures_while_no_core_is_idle() -> None:
    machine = Machine()
    pace = machine.pace()
    assert pace.interval() == INTERVAL
    machine.runs(LOOK, 0.3)
    assert pace.interval() == CROWDED
    machine.runs(LOOK, 3.7)
    assert pace.interval() == INTERVAL


def test_a_command_is_answered_by_a_picture_at_once() -> None:
    machine = Machine()
    pace = machine.pace()
    machine.runs(LOOK, 0.0)
    assert pace.interval() == CROWDED
    pace.hurry()
    assert pace.interval() == INTERVAL
    machine.runs(ATTENTION, 0.0)
    assert pace.interval() == CROWDED


def test_pictures_take_no_more_of_few_cores_than_of_many() -> None:
    assert [crowded_interval(cores) for cores in (2, 4, 8)] == pytest.approx([0.8, 0.4, 0.2])
    assert crowded_interval(1) == SLOWEST
    assert crowded_interval(128) == INTERVAL


def test_a_short_while_says_nothing() -> None:
    machine = Machine()
    pace = machine.pace()
    machine.runs(LOOK / 2, 0.0)
    assert pace.interval() == INTERVAL
    machine.runs(LOOK, 2.0)
    assert pace.interval() == INTERVAL


@pytest.mark.parametrize("known_before", [True, False])
def test_a_machine_that_does_not_say_is_taken_for_idle(known_before: bool) -> None:
    machine = Machine()
    if not known_before:
        machine.idle = None
    pace = machine.pace()
    machine.idle = None if known_before else 1.0
    machine.runs(2 * LOOK, 0.0)
    assert pace.interval() == INTERVAL


def test_what_linux_says() -> None:
    first = idle_seconds()
    assert first is not None
    assert 0 < first < (os.cpu_count() or 1) * time.clock_gettime(time.CLOCK_BOOTTIME) * 1.01 + 1
