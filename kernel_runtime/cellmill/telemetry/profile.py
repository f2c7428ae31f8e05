"""The samples of all workers, merged: where the time in user code went, by function and by what each calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .call_tree import OTHERS, ROOT, NewNode, Times

MOST_NODES = 8000
MOST_LINES = 32  # kept of one node


@dataclass(slots=True)
class Node:
    """Calls of one function from one place."""

    name: str
    file: str
    first_line: int
    own_ns: int = 0  # at its own lines
    samples: int = 0
    lines: dict[int, int] = field(default_factory=dict)  # nanoseconds by line
    calls: dict[tuple[str, str, int], Node] = field(default_factory=dict)

    @property
    def total_ns(self) -> int:
        """With all that it calls."""
        return self.own_ns + sum(node.total_ns for node in self.calls.values())

    @property
    def hottest_line(self) -> int:
        """The line of its own at which most time went; 0: unknown."""
        return max(self.lines, key=self.lines.__getitem__) if self.lines else 0


class Profile:
    """A fold over what samplers tell (`CallTree.news`); not thread-safe."""

    def __init__(self) -> None:
        self.root = Node("", "", 0)
        self._count = 0
        self._sources: dict[int, list[Node]] = {}  # by sampler: its nodes, by number

    def take(
        self, source: int, names: Mapping[int, str], first: int, new: list[NewNode], times: Times
    ) -> None:
        """Add what a sampler tells. What does not follow on what it told before is left out."""
        nodes = self._sources.setdefault(source, [])
        if first != len(nodes):
            return
        for parent, name, file, line in new:
            if parent == ROOT:
                nodes.append(self._called(self.root, (names.get(line, "?"), "", 0)))
            else:
                nodes.append(self._called(nodes[parent], (name, file, line)))
        for (number, line), (ns, samples) in times.items():
            node = nodes[number]
            node.own_ns += ns
            node.samples += samples
            if line and (line in node.lines or len(node.lines) < MOST_LINES):
                node.lines[line] = node.lines.get(line, 0) + ns

    def forget(self, source: int) -> None:
        """A sampler is gone: what comes by its number is another one's."""
        self._sources.pop(source, None)

    def _called(self, parent: Node, key: tuple[str, str, int]) -> Node:
        found = parent.calls.get(key)
        if found is None and self._count >= MOST_NODES:
            key = (OTHERS, "", 0)
            found = parent.calls.get(key)
        if found is None:
            found = parent.calls[key] = Node(*key)
            self._count += 1
        return found


@dataclass(frozen=True, slots=True)
class Bar:
    """One node for people, behind the one that calls it."""

    name: str
    file: str  # "" where it is not Python code
    line: int
    parent: int  # index in the list; -1: none
    depth: int
    total: float  # seconds, with all that it calls
    own: float
    hottest: int  # the line at which most of `own` went; 0: unknown


@dataclass(frozen=True, slots=True)
class Flame:
    """A profile as people see it: the bars, each behind the one that calls it and the largest first."""

    seconds: float
    samples: int
    bars: tuple[Bar, ...]


def flame(profile: Profile, most: int, least: float) -> Flame:
    """Return the profile with at most ``most`` bars. What has less than this share of all time, or finds no place any
    more, is in one bar "…" for each caller.
    """
    totals: dict[int, int] = {}
    _sum(profile.root, totals)
    whole = totals[id(profile.root)]
    bars: list[Bar] = []

    def put(parent: int, depth: int, node: Node, name: str) -> None:
        place = node if depth else _itself(node)
        own = place.own_ns + (node.own_ns if place is not node else 0)
        total = totals[id(node)] / 1e9
        bars.append(
            Bar(name, place.file, place.first_line, parent, depth, total, own / 1e9, place.hottest_line)
        )
        below(place, len(bars) - 1, depth + 1)

    def below(caller: Node, parent: int, depth: int) -> None:
        rest = 0
        for node in sorted(caller.calls.values(), key=lambda one: totals[id(one)], reverse=True):
            total = totals[id(node)]
            if total < least * whole or len(bars) >= most or node.name == OTHERS:
                rest += total
            elif total:
                put(parent, depth, node, node.name if depth else shown_name(node.name))
        if rest:
            bars.append(Bar(OTHERS, "", 0, parent, depth, rest / 1e9, rest / 1e9, 0))

    below(profile.root, -1, 0)
    return Flame(whole / 1e9, sum(samples(node) for node in profile.root.calls.values()), tuple(bars))


def shown_name(name: str) -> str:
    """Return the name of a task's function as it was defined, without the place of its definition."""
    return "a call" if name == "?" else name.rpartition("<locals>.")[2]


def samples(node: Node) -> int:
    """Return the number of samples in a node and below."""
    return node.samples + sum(samples(each) for each in node.calls.values())


def _sum(node: Node, totals: dict[int, int]) -> int:
    total = node.own_ns + sum(_sum(each, totals) for each in node.calls.values())
    totals[id(node)] = total
    return total


def _itself(root: Node) -> Node:
    """Return the frame of the task's function where its root calls nothing else: the two are one bar."""
    if len(root.calls) == 1:
        (only,) = root.calls.values()
        if shown_name(only.name) == shown_name(root.name):
            return only
    return root
