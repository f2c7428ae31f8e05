"""Seeds of searches, what several say together, and how many are chosen by what they differ by."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from docking.ligand import prepare, seed_of
from docking.noise import MOST, TOLERANCE, Noise, Probe, choose_effort, measure, table_of_levels
from docking.records import Docked, DockingInputError, Entry, Search
from docking.searches import best_of, best_of_both, combine

SURE = Noise(None, (Probe("a", (-8.0, -8.0, -7.95), 2.0),))
UNSURE = Noise(Probe("ref", (-12.0, -11.0, -10.0), 20.0), (Probe("a", (-8.0, -7.6, -7.4), 3.0),))


class Recorded:
    """Answers like the parallel function ``dock`` with scores that are the number of the search."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Search]] = []

    def map(
        self, smiles: Iterable[str], searches: Iterable[Search], *, return_exceptions: bool
    ) -> Iterator[Any]:
        for text, search in zip(smiles, searches, strict=True):
            self.asked.append((text, search))
            if text == "lost" and search.number == 1:
                yield RuntimeError("worker lost")
            else:
                yield Docked(text, -5.0 - search.number, f"pose {search.number}", seconds=2.0)


def test_a_seed_belongs_to_the_molecule_and_the_search() -> None:
    searches = [Search(), Search(1), Search(0, exhaustiveness=8)]
    seeds = [
        seed_of(campaign, text, each) for campaign in (1, 2) for text in ("CCO", "CCN") for each in searches
    ]
    assert len(set(seeds)) == len(seeds)
    assert all(0 < seed < 2**31 for seed in seeds)
    assert seed_of(1, "OCC", Search(1)) == seed_of(1, "CCO", Search(1))
    assert seed_of(1, "CCO", Search()) == 759889049, "on every machine and in every version"


def test_a_molecule_is_prepared_the_same_however_it_is_written() -> None:
    assert prepare("NCc1ccc(C)cc1", 5) == prepare("Cc1ccc(CN)cc1", 5)
    assert prepare("Cc1ccc(CN)cc1", 6) != prepare("Cc1ccc(CN)cc1", 5)


def test_several_searches_are_told_by_the_best_mean_and_spread() -> None:
    dock = Recorded()
    best, lost = best_of(dock, ["CCO", "lost"], [Search(number) for number in range(3)])
    assert (best.score, best.pose, best.searches, best.seconds) == (-7.0, "pose 2", 3, 6.0)
    assert (best.mean, best.spread) == (-6.0, 1.0)
    assert (lost.searches, lost.mean) == (2, -6.0)
    assert lost.note == "1 of 3 searches failed: RuntimeError: worker lost"
    one = combine([Docked("C", -1.0, "pose")])
    assert (one.mean, math.isnan(one.spread), one.searches) == (-1.0, True, 1)
    failed = combine([Docked("C", reason="no pose")] * 2)
    assert (failed.reason, failed.searches) == ("no pose", 0)


def test_the_final_score_is_the_best_of_both_rounds() -> None:
    final = combine(
        [Docked("C", -5.0, "a", poses=((-5.0, "a"),)), Docked("C", -6.0, "b", poses=((-6.0, "b"),))]
    )
    assert best_of_both(final, Docked("C", -5.5, "c")) is final
    both = best_of_both(final, Docked("C", -7.0, "c", form="C"))
    assert (both.score, both.pose, both.form, both.mean, both.searches) == (-7.0, "c", "C", -5.5, 2)
    assert [pose for _score, pose in both.poses] == ["c", "b", "a"]


def test_the_spread_of_the_best_is_the_one_of_drawing() -> None:
    probe = UNSURE.probes[0]
    assert probe.spread() == pytest.approx(statistics.stdev(probe.scores))
    draw = random.Random(1)
    drawn = [min(draw.choices(probe.scores, k=4)) for _ in range(40_000)]
    assert probe.spread(4) == pytest.approx(statistics.pstdev(drawn) * math.sqrt(3 / 2), rel=0.03)


def test_the_noise_is_measured_on_the_reference_and_on_some_molecules() -> None:
    from docking.reference import Reference

    dock = Recorded()
    noise = measure(dock, Reference("known", "CCO", ""), [Entry(4, "CCN", "m4")], conformers=2)
    assert dock.asked == [("CCO", Search(0)), ("CCO", Search(1)), *(("CCN", Search(k)) for k in range(3))]
    assert noise.reference == Probe("known", (-6.0, -5.0), 2.0)
    assert noise.molecules == (Probe("m4", (-7.0, -6.0, -5.0), 2.0),)
    assert "5 searches of 2 molecules" in str(noise)
    assert str(measure(dock, None, [])) == "the noise of a score was not measured"


def test_a_higher_exhaustiveness_stands_beside_more_searches_in_the_same_time() -> None:
    brief = Noise(None, (Probe("a", (-9.0, -8.0, -8.0, -7.0), 1.0),))
    long = Noise(None, (Probe("a", (-9.0, -9.0, -8.0), 3.0),))
    one, four = table_of_levels({4: long, 1: brief})
    assert one == f"exhaustiveness 1: a search takes 1.00 s and differs by {brief.spread():.2f} kcal/mol"
    assert four.startswith(
        f"exhaustiveness 4: a search takes 3.00 s and differs by {long.spread():.2f} kcal/mol; "
    )
    assert four.endswith(f"the best of 3 at 1, as long together, by {brief.spread(3):.2f}")
    with pytest.raises(DockingInputError, match="--probes"):
        table_of_levels({1: Noise(None, ())})
    dock = Recorded()
    measure(dock, None, [Entry(4, "CCN", "m4")], each=2, exhaustiveness=4)
    assert dock.asked == [("CCN", Search(0, 4)), ("CCN", Search(1, 4))]


def test_as_many_searches_as_the_noise_asks_for_and_the_budget_pays_for() -> None:
    sure = choose_effort(SURE, 50, 60.0)
    assert sure.searches == 1
    assert "The score of a molecule is of one search" in sure.sentence
    rich = choose_effort(UNSURE, 50, 600.0)
    assert rich.searches == UNSURE.wanted() > 1
    assert UNSURE.spread(rich.searches) <= TOLERANCE < UNSURE.spread(rich.searches - 1)
    poor = choose_effort(UNSURE, 50, 8.0)
    assert poor.searches == 3, "50 molecules of 3 s take 2.5 minutes"
    assert "the budget of 8 minutes pays for 3" in poor.sentence
    assert choose_effort(UNSURE, 50, 1.0).searches == 1
    assert "even one takes longer than the budget" in choose_effort(UNSURE, 50, 1.0).sentence
    hopeless = Noise(None, (Probe("a", (-9.0,) + (-6.0,) * 99, 0.1),))
    assert choose_effort(hopeless, 1, 60.0).searches == MOST


def test_what_was_asked_for_or_begun_is_kept() -> None:
    assert choose_effort(UNSURE, 50, 1.0, given=7, found=2).searches == 7
    begun = choose_effort(UNSURE, 50, 1.0, found=5)
    assert begun.searches == 5
    assert begun.sentence.endswith("the best of 5 independent searches: as this screen was begun.")
