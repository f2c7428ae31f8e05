"""The newest output of all tasks: numbered, bounded, counted; and the frames that views are sent of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

import cellmill
from cellmill import Executor, run_registry
from cellmill.cell_output import recent
from cellmill.cell_output.recent import Recent, Speaker
from cellmill.diagnostics.questions import number
from cellmill.views.scope import scope_of
from cellmill.views.sections import SCOPED, SECTIONS
from tests.cell_output.speaking import speak
from tests.support.helpers import SECONDS

ONE, TWO = Speaker("f 1", 1 << 32, 0, 0, 1), Speaker("f 2", 2 << 32, 0, 1, None)


def texts(found: recent.News) -> list[bytes]:
    return [piece.data for piece in found.pieces]


def test_a_reader_is_given_what_came_since() -> None:
    kept = Recent()
    kept.add(ONE, 1, b"a\n")
    kept.add(TWO, 2, b"b\nc")
    first = kept.since(0, 100, 10**6)
    assert (texts(first), first.after, first.lines, first.gap) == ([b"a\n", b"b\nc"], 2, 2, False)
    assert kept.since(first.after, 100, 10**6) == recent.News([], 2, 2, False)
    kept.add(ONE, 1, b"d\n")
    assert texts(kept.since(first.after, 100, 10**6)) == [b"d\n"]
    of_run = kept.since(0, 100, 10**6, run=1)
    assert (texts(of_run), of_run.after, of_run.lines) == ([b"a\n", b"d\n"], 3, 2)


def test_a_frame_is_bounded_and_the_rest_follows() -> None:
    kept = Recent()
    for line in range(10):
        kept.add(ONE, 1, b"%d\n" % line)
    part = kept.since(0, 4, 10**6)
    assert (len(part.pieces), part.after, part.lines) == (4, 4, 4)
    part = kept.since(part.after, 100, 5)
    assert (len(part.pieces), part.after, part.lines) == (2, 6, 6)
    assert len(kept.since(part.after, 100, 1).pieces) == 1  # one at least, or it never ends


def test_what_is_kept_is_bounded_and_what_is_gone_is_counted() -> None:
    kept = Recent()
    for _ in range(recent.MOST_PIECES + 10):
        kept.add(ONE, 1, b"line\n")
    found = kept.since(0, 10**6, 1 << 30)
    assert (len(found.pieces), found.lines, found.gap) == (
        recent.MOST_PIECES,
        recent.MOST_PIECES + 10,
        True,
    )
    for _ in range(100):
        kept.add(TWO, 1, b"x" * 99 + b"\n" + b"y" * 50_000 + b"\n")
    found = kept.since(0, 10**6, 1 << 30)
    assert sum(len(piece.data) for piece in found.pieces) <= recent.MOST_BYTES
    assert found.lines == recent.MOST_PIECES + 10 + 200
    assert found.pieces[-1].data.startswith("… yyy".encode())
    for run in range(1000):
        kept.add(Speaker("g", 1, 0, 0, run), 1, b"\n")
    assert len(kept._lines_of) <= recent.MOST_RUNS


def test_characters_stay_whole() -> None:
    kept = Recent()
    data = "aäb€c😀".encode() + b"\xff\xe2\x82"
    for at in range(len(data)):
        kept.add(ONE, 1, data[at : at + 1])
    kept.end(ONE)
    found = [piece.data.decode("utf-8", "backslashreplace") for piece in kept.since(0, 100, 10**6).pieces]
    assert "".join(found) == "aäb€c😀\\xff\\xe2\\x82"
    assert not kept._cut


@pytest.fixture(params=["local", "threads"])
def pool(request: pytest.FixtureRequest) -> Iterator[Executor]:
    before = cellmill.peek_default_executor()
    with Executor(2, backend=request.param) as made:
        cellmill.set_default_executor(made)
        yield made
    cellmill.set_default_executor(before)
    run_registry.bump_epoch()


def collect(section: Any, executor: Executor, lines: int) -> list[Any]:
    """Frames until so many lines were told."""
    frames: list[Any] = []
    deadline = time.monotonic() + SECONDS
    while sum(text.count("\n") for frame in frames for text in frame["text"]) < lines:
        assert time.monotonic() < deadline, frames
        frame = section.frame(executor)
        if frame is not None:
            frames.append(frame)
        time.sleep(0.005)
    return frames


def test_frames_tell_of_all_tasks_or_of_one_run(pool: Executor) -> None:
    first = cellmill.parallel(name="first")(speak)
    second = cellmill.parallel(name="second")(speak)
    assert list(first.map(range(3), chunksize=1)) == [0, 1, 2]
    assert list(second.map(range(10, 12), chunksize=1)) == [10, 11]
    # in threads the kernel's own loggers handle a record at once: it is no output of the task
    each = 3 if pool.backend == "local" else 2
    frames = collect(SECTIONS["output"](), pool, 5 * each)
    whole: dict[tuple[str, int, str], str] = {}
    for frame in frames:
        for speaker, stream, text in zip(frame["speaker"], frame["stream"], frame["text"], strict=True):
            one = frame["speakers"][speaker]
            key = (one["name"], stream, one["task"])
            whole[key] = whole.get(key, "") + text
    names = {name for name, _, _ in whole}
    assert len(names) == 5  # as many as tasks, which are called as in the table of tasks
    assert names == {f"speak {number(int(ticket))}" for _, _, ticket in whole}
    seen = {(stream, line) for (_, stream, _), text in whole.items() for line in text.splitlines()}
    assert {(1, "out 11"), (2, "err 2")} < seen
    logged = {(3, "WARNING:tests.recent:log 10")}
    assert logged < seen if pool.backend == "local" else not any("log" in line for _, line in seen)
    assert all(one["worker"] is not None for frame in frames for one in frame["speakers"])
    (run,) = [known for known in run_registry.recent_runs()[-2:] if known.name == "second"]
    scope = scope_of(pool, run.id)
    assert scope is not None
    section: Any = SCOPED["output"](scope)
    told = collect(section, pool, 2 * each)
    lines = "".join(text for frame in told for text in frame["text"]).splitlines()
    assert {line for line in lines if line.startswith("out")} == {"out 10", "out 11"}
    assert {frame["run"] for frame in told} == {run.id}
    assert section.frame(pool) is None  # nothing new
    section.restart()
    again = section.frame(pool)
    assert again is not None
    assert again["number"][: len(told[0]["number"])] == told[0]["number"]


def test_a_backend_that_collects_nothing_says_so() -> None:
    with Executor(backend="inline") as executor:
        section: Any = SECTIONS["output"]()
        assert section.frame(executor)["known"] is False
        assert section.frame(executor) is None
