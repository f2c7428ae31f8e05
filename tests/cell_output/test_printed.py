"""What is kept of the lines that a cell's tasks print."""

from __future__ import annotations

from cellmill.cell_output.printed import MOST_CHARACTERS, PLAIN, Printed

MANY = 10_000


def lines(*texts: str) -> list[tuple[str, int]]:
    return [(text, 1) for text in texts]


def test_the_first_lines_are_shown_as_they_are() -> None:
    printed = Printed()
    for i in range(PLAIN):
        assert printed.take(f"f {i}", 1, lines(f"line {i}\n"), MANY) == 1
    assert not printed.folded
    assert printed.take("f 20", 1, lines("one\n", "two\n"), MANY) == 0
    assert printed.folded
    found, counts = printed.snapshot()
    assert [line.text for line in found] == [*(f"line {i}\n" for i in range(PLAIN)), "one\n", "two\n"]
    assert (counts["lines"], len(counts["callers"]), counts["dropped"]) == (PLAIN + 2, PLAIN + 1, 0)


def test_a_block_of_lines_is_cut_where_the_room_ends() -> None:
    printed = Printed()
    assert printed.take("f 0", 1, lines(*(f"line {i}\n" for i in range(PLAIN + 5))), MANY) == PLAIN
    assert printed.folded


def test_lines_that_are_the_same_take_little_room() -> None:
    printed = Printed()
    assert printed.take("f 0", 1, [("again\n", 100_000)], MANY) == 1
    assert not printed.folded
    [line], counts = printed.snapshot()
    assert (line.times, counts["lines"]) == (100_000, 100_000)


def test_a_line_that_comes_in_pieces_is_one() -> None:
    printed = Printed()
    printed.take("f 0", 1, lines("half "), MANY)
    printed.take("f 1", 1, lines("other\n"), MANY)
    printed.take("f 0", 2, lines("wrong\n"), MANY)
    printed.take("f 0", 1, lines("whole\n"), MANY)
    found, counts = printed.snapshot()
    assert [(line.who, line.number, line.text) for line in found] == [
        ("f 0", 1, "half whole\n"),
        ("f 1", 1, "other\n"),
        ("f 0", 2, "wrong\n"),
    ]
    assert counts["lines"] == 3


def test_what_is_beyond_the_bounds_is_counted() -> None:
    printed = Printed()
    for i in range(60):
        printed.take("f 0", 1, lines(f"{i}\n"), 50)
    found, counts = printed.snapshot()
    assert (len(found), counts["lines"], counts["dropped"]) == (50, 60, 10)
    long = Printed()
    for _ in range(3):
        long.take("f 0", 1, lines("x" * (MOST_CHARACTERS // 2) + "\n"), MANY)
    assert long.snapshot()[1]["dropped"] == 2
    assert sum(len(line.text) for line in long.snapshot()[0]) <= MOST_CHARACTERS


def test_pieces_of_a_line_without_end_are_bounded() -> None:
    printed = Printed()
    for _ in range(40):
        printed.take("f 0", 1, lines("x" * (1 << 16)), MANY)
    assert sum(len(line.text) for line in printed.snapshot()[0]) <= MOST_CHARACTERS
    assert printed.snapshot()[1]["dropped"] > 0


def test_what_comes_when_nothing_draws_any_more_is_shown_as_it_is() -> None:
    printed = Printed()
    printed.take("f 0", 1, lines(*(f"{i}\n" for i in range(30))), MANY)
    printed.close()
    assert printed.take("f 0", 1, lines("late\n", "later\n"), MANY) == 2
