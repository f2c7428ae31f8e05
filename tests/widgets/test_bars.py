"""The words and pictures of progress bars."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from cellmill.telemetry.time_left import TimeLeft
from cellmill_widgets.bars import (
    LABEL,
    LIMIT,
    View,
    counts,
    drawn,
    duration,
    fold,
    html,
    listing,
    pace,
    text,
    time_left,
    total,
)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0001, "1 ms"),
        (0.028, "28 ms"),
        (3.24, "3.2 s"),
        (9.96, "10 s"),
        (42.4, "42 s"),
        (125, "2 min 05 s"),
        (3840, "1 h 04 min"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (12345.6, "12,346/s"),
        (12.34, "12.3/s"),
        (0.5, "30.0/min"),
        (1 / 3331, "1.1/h"),
        (1 / 172_800, "0.5/day"),
    ],
)
def test_rates(rate: float, words: str) -> None:
    assert pace(rate) == words


def test_a_running_view_tells_rate_and_time_to_go() -> None:
    view = View("dock", done=250, total=1000, failed=3, elapsed=5, rate=50)
    assert text(view) == "dock: 250/1,000, 50.0/s, 15 s left, 3 failed"


def test_without_a_total_there_is_no_time_to_go() -> None:
    view = View("dock", done=250, total=None, elapsed=5, rate=50)
    assert text(view) == "dock: 250 done, 50.0/s"
    assert "progressbar" not in html([view])


def test_a_finished_view_tells_what_it_took() -> None:
    view = View("dock", done=1000, total=1000, failed=1, cancelled=2, elapsed=8, finished=True)
    assert text(view) == "dock: 1,000 done in 8.0 s (125/s), 1 failed, 2 cancelled"


def test_html_escapes_names_and_shows_failures_in_red() -> None:
    markup = html([View("<b>&", done=1, total=4, failed=1, elapsed=1, rate=1)])
    assert "<b>" not in markup
    assert "&lt;b&gt;&amp;" in markup
    assert 'aria-valuenow="25"' in markup
    assert markup.count("error-color") == 3  # bar, map and count


def test_more_than_eight_runs_are_folded() -> None:
    views = [View(f"run{n}", done=n, total=10, elapsed=1, rate=1) for n in range(20)]
    shown, rest = fold(views)
    assert [view.name for view in shown] == [f"run{n}" for n in range(LIMIT)]
    assert rest is not None
    assert (rest.name, rest.done, rest.total) == ("12 more runs", sum(range(8, 20)), 120)
    assert len(listing(views).splitlines()) == LIMIT + 1


def test_running_ones_are_shown_before_those_that_ended() -> None:
    ended = [View(f"old{n}", done=1, total=1, elapsed=1, finished=True) for n in range(10)]
    running = [View(f"new{n}", done=1, total=2, elapsed=1) for n in range(3)]
    shown, rest = fold([*ended, *running])
    assert [view.name for view in shown] == ["old5", "old6", "old7", "old8", "old9", "new0", "new1", "new2"]
    assert rest is not None
    assert rest.finished


def test_runs_added_up() -> None:
    known = View("a", done=3, total=5, failed=1, elapsed=2, rate=2)
    assert total([known, View("b", done=1, total=None, elapsed=1)]).total is None
    assert total([known, View("b", done=4, total=9, elapsed=1, finished=True)]).total == 9


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_terminal_line_fits(width: int) -> None:
    view = View("a rather long name of a function", done=250, total=1000, failed=3, elapsed=5, rate=50)
    assert len(drawn(view, width)) < width
    assert ("#" in drawn(view, width)) == (width >= 100)


def test_one_failure_of_many_is_still_seen_and_bars_stand_under_one_another() -> None:
    views = [
        View("f", done=9, total=1_000_000, failed=1),
        View("longer", done=1, total=4),
        View("x" * 99, 1, 1),
    ]
    markup = html([*views[:2]])
    assert "min-width:2px" in markup
    assert markup.count("flex:0 0 6ch") == 2
    assert f"flex:0 0 {LABEL}ch" in html(views)
    assert "min-width" not in html([views[1]])


def test_what_was_cancelled_is_not_done() -> None:
    ended = View("f", done=36, total=200, cancelled=164, elapsed=2.0, finished=True)
    assert text(ended) == "f: 36 done in 2.0 s (18.0/s), 164 cancelled"
    assert ended.fraction == 1
    going = View("f", done=36, total=300, cancelled=164, failed=1, elapsed=2.0, rate=50.0)
    assert text(going) == "f: 36/300, 50.0/s, 2.0 s left, 1 failed, 164 cancelled"
    markup = html([going])
    assert 'error-color1, #d32f2f)">1 failed</span>' in markup
    assert 'font-color2, #616161)">164 cancelled</span>' in markup
    widths = re.findall(r"width:([\d.]+)%", markup)
    assert widths == ["11.67", "0.33", "54.67"]
    later = replace(ended, began=2.0)
    assert text(total([later, ended])) == "2 more runs: 72 done in 4.0 s (18.0/s), 328 cancelled"
    beside = replace(ended, began=1.0)
    assert text(total([ended, beside])) == "2 more runs: 72 done in 3.0 s (24.0/s), 328 cancelled"


def test_the_bar_of_a_terminal_tells_states_apart() -> None:
    going = View("f", done=36, total=300, cancelled=164, failed=1, elapsed=2.0, rate=50.0)
    bar = drawn(going, 200).partition("]")[0].removeprefix("[")
    assert len(bar) == 30
    assert re.fullmatch(r"#{3,5}!-{15,17}\.{8,11}", bar), bar
    ended = View("f", done=36, total=200, cancelled=164, elapsed=2.0, finished=True)
    assert re.fullmatch(r"#{5}-{25}", drawn(ended, 200).partition("]")[0].removeprefix("["))


def test_what_was_lost_has_a_mark_of_its_own() -> None:
    going = View("f", done=40, total=100, failed=20, lost=10, elapsed=2.0, rate=20.0)
    assert text(going) == "f: 40/100, 20.0/s, 3.0 s left, 10 failed, 10 lost"
    assert re.fullmatch(r"#{6}!{3}x{3}\.{18}", drawn(going, 200).partition("]")[0].removeprefix("["))
    markup = html([going])
    assert markup.count("repeating-linear-gradient") == 1  # striped in the bar
    assert "▌" in markup  # and in the map below it
    assert re.findall(r"width:([\d.]+)%", markup) == ["20.00", "10.00", "10.00"]
    assert total([going, going]).lost == 20


def test_results_from_the_cache_are_told_beside_the_tasks() -> None:
    some = View("f", done=40, total=100, failed=1, hits=1200, elapsed=2.0, rate=20.0)
    assert text(some) == "f: 40/100, 20.0/s, 3.0 s left, 1 failed, 1,200 from the cache"
    assert "<span>1,200 from the cache</span>" in html([some])
    assert text(View("f", done=0, total=0, hits=5, elapsed=1.0, finished=True)) == "f: 5 from the cache"
    assert total([some, some]).hits == 2400


def test_a_run_beside_others_tells_no_time_of_its_own() -> None:
    alone = View("dock", done=250, total=1000, elapsed=5, rate=50)
    assert counts(alone).endswith("15 s left")
    assert "left" not in counts(replace(alone, shared=True))


def test_an_estimate_in_words() -> None:
    assert time_left(TimeLeft(42.4)) == "about 42 s left"
    assert time_left(TimeLeft(0.0)) == "about 1 s left"
    assert time_left(TimeLeft(None, ("fit",))) == "time left not known (fit not timed yet)"
    assert time_left(TimeLeft(1.0, (), ("fit",))) == "at least 1 s left (fit runs longer than before)"
    assert time_left(TimeLeft(125.0, ("fit",))) == "at least 2 min 05 s left (fit not timed yet)"


def drawn_view(draw: random.Random) -> View:
    """A run at any moment of its life."""
    total = draw.choice([1, 2, 5, 100, 10 ** draw.randint(0, 7)])
    done = draw.randint(0, total)
    failed = draw.choice([0, draw.randint(0, done)])
    cancelled = draw.choice([0, draw.randint(0, total - done)])
    finished = draw.random() < 0.5
    elapsed = 10 ** draw.uniform(-3, 5)
    return View(
        draw.choice(["f", "<b>", "two\nlines", "a\x1b[31mred", "x" * 500]),
        done=done,
        total=total if finished or draw.random() < 0.8 else None,
        failed=failed,
        lost=draw.randint(0, failed),
        cancelled=cancelled,
        elapsed=elapsed,
        rate=done / elapsed * draw.choice([0, 0.2, 1, 3]),
        finished=finished,
        running=0 if finished else draw.randint(0, min(4, total - done - cancelled)),
    )


def test_no_view_shows_what_cannot_be() -> None:
    """Nothing left beside running tasks, a rate of nothing, or all of it before it is over."""
    draw = random.Random(5)
    for _ in range(500):
        view = drawn_view(draw)
        words, markup = text(view), html([view])
        assert not re.search(r"(?<![\d.,])0(\.0)?(/(s|min|h|day)| s)", words), words
        assert words.isprintable()
        assert len(drawn(view, 80)) <= 80
        shown = re.search(r'aria-valuenow="(\d+)"', markup)
        assert shown is None or (int(shown[1]) == 100) == (view.over == view.total)


def test_runs_that_are_added_up_again_are_all_counted() -> None:
    views = [View("f", done=1, total=1, elapsed=1, finished=True) for _ in range(40)]
    early = total(views[:30])
    assert total([early, views[30]]).name == "31 more runs"
    rest = fold([total([early, views[30]]), *views[31:]])[1]
    assert rest is not None
    assert (rest.name, rest.done) == ("32 more runs", 32)
