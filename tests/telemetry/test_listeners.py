"""Who is told: views that speak, those that went without a goodbye, and those that come back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from cellmill import Executor
from cellmill.telemetry import schema
from cellmill.views import publisher
from cellmill.views.publisher import Publisher
from cellmill.views.subscribers import SILENCE, Listeners

LONG = SILENCE + 1
GRAPH = frozenset({"graph"})


class Clock:
    """Does not advance until a test moves it."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def elsewhere(act: Callable[[], object]) -> None:
    """Do it on another thread, as a subshell does."""
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def test_a_silent_listener_is_dropped_after_frames_alone() -> None:
    clock = Clock()
    listeners = Listeners(clock)
    listeners.heard("page", GRAPH)
    clock.seconds += LONG
    assert listeners.drop_silent(in_cell=False) == []  # it was sent nothing: there was nothing to say
    listeners.told()
    clock.seconds += SILENCE - 1
    listeners.told()
    assert listeners.drop_silent(in_cell=False) == []
    assert listeners.sections() == GRAPH
    clock.seconds += 2
    assert listeners.drop_silent(in_cell=False) == ["page"]
    assert (len(listeners), listeners.sections()) == (0, frozenset())
    assert listeners.heard("page", GRAPH) is None  # it wakes, and is a new one
    assert listeners.heard("page", GRAPH) == GRAPH


def test_a_word_keeps_a_listener_and_what_it_shows() -> None:
    clock = Clock()
    listeners = Listeners(clock)
    listeners.heard("page", GRAPH)
    for _ in range(5):
        listeners.told()
        clock.seconds += SILENCE - 1
        assert listeners.heard("page") == GRAPH
        assert listeners.drop_silent(in_cell=False) == []
    listeners.left("page")
    assert len(listeners) == 0


def test_who_is_heard_between_cells_alone_is_not_expected_in_one() -> None:
    clock = Clock()
    listeners = Listeners(clock)
    listeners.heard("main")
    elsewhere(lambda: listeners.heard("subshell"))
    listeners.told()
    clock.seconds += LONG
    assert listeners.drop_silent(in_cell=True) == ["subshell"]
    listeners.cell_ended()
    assert listeners.drop_silent(in_cell=False) == []  # its words wait in the queue, and come now
    listeners.told()
    clock.seconds += LONG
    assert listeners.drop_silent(in_cell=False) == ["main"]


def test_a_recording_never_ends_by_itself() -> None:
    clock = Clock()
    listeners = Listeners(clock)
    listeners.heard("tap", GRAPH, lasting=True)
    listeners.told()
    clock.seconds += 1000 * LONG
    assert listeners.drop_silent(in_cell=False) == []
    assert listeners.sections() == GRAPH


class Views:
    """A publisher that was not started, on a clock of the test, and what it sent to all."""

    def __init__(self, executor: Executor) -> None:
        self.sent: list[str] = []
        events = SimpleNamespace(register=lambda *_: None, unregister=lambda *_: None)
        take = lambda frame: self.sent.append(frame["kind"])  # noqa: E731
        self.publisher = Publisher(SimpleNamespace(events=events), lambda: executor, take)

    def watch(self, *sections: str) -> list[str]:
        return self.say({"kind": "watch", "sections": list(sections)})

    def say(self, command: dict[str, Any]) -> list[str]:
        """A page's command; the kinds of what it alone is answered."""
        answers = self.publisher.obey("page", {"cellmill": schema.VERSION, **command})
        return [frame["kind"] for frame in answers]

    def look(self) -> list[str]:
        """The kinds of what is sent now, without the counters."""
        self.sent.clear()
        self.publisher._look()
        return [kind for kind in self.sent if kind != "snapshot"]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(publisher, "Listeners", partial(Listeners, made))
    return made


@pytest.fixture
def views(clock: Clock) -> Iterator[Views]:
    with Executor(1, backend="inline") as executor:
        made = Views(executor)
        yield made
        made.publisher.close()


def test_a_sign_of_life_restarts_nothing_and_is_not_answered(views: Views) -> None:
    assert views.watch("workers") == ["hello", "snapshot"]
    assert views.look() == ["workers"]
    assert views.watch("workers") == []
    assert views.look() == []
    assert views.say({"kind": "refresh"}) == ["hello", "snapshot"]
    assert views.look() == ["workers"]
    assert views.watch() == ["hello", "snapshot"]  # something else than before


def test_a_page_that_wakes_is_up_to_date_at_once(views: Views, clock: Clock) -> None:
    views.publisher._cell_ended()  # no cell runs: the page is heard on this thread
    views.watch("workers")
    assert views.look() == ["workers"]
    clock.seconds += LONG
    assert views.look() == []
    assert len(views.publisher._listeners) == 0
    assert views.publisher not in publisher._heard
    assert views.watch("workers") == ["hello", "snapshot"]
    assert views.look() == ["workers"]
    assert views.publisher in publisher._heard


def test_a_page_is_not_given_up_while_a_cell_keeps_it_waiting(views: Views, clock: Clock) -> None:
    views.publisher._cell_started()
    views.watch("workers")
    assert views.look() == ["workers"]
    clock.seconds += 100 * LONG
    views.look()
    assert len(views.publisher._listeners) == 1
    views.publisher._cell_ended()
    views.look()
    assert len(views.publisher._listeners) == 1


def test_a_command_of_another_version_watches_nothing(views: Views) -> None:
    command = {"cellmill": 0, "kind": "watch", "sections": ["workers"]}
    assert next(frame["kind"] for frame in views.publisher.obey("page", command)) == "refused"
    assert len(views.publisher._listeners) == 0


def test_a_question_is_answered_and_nothing_more() -> None:
    ask = {
        "kind": "list-tasks",
        "states": [],
        "order": "newest",
        "text": "",
        "run": None,
        "offset": 0,
        "count": 9,
    }
    with Executor(1) as executor:
        views = Views(executor)
        assert views.say({**ask, "request": 1}) == ["task-list"]
        assert views.say({**ask, "order": "nothing", "request": 2}) == ["refused", "hello", "snapshot"]
        assert views.say({"kind": "pause"}) == ["hello", "snapshot"]
        executor.resume()
        views.publisher.close()
