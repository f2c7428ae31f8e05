"""Exceptions come as the plain call would raise them: class, arguments, attributes, notes, causes, groups."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

import cellmill
from cellmill import Executor, Retry
from tests.contract.abilities import Abilities, elsewhere, few_on_clusters
from tests.support import hostile
from tests.support.helpers import SECONDS
from tests.support.hostile import COUNT, alone


def test_an_init_of_its_own_is_not_called_again(ex: Executor) -> None:
    error = ex.submit(hostile.raise_new, hostile.Needy, "salt", "pepper").exception(SECONDS)
    assert type(error) is hostile.Needy
    assert error.args == ("salt and pepper",)
    results = list(ex.map(hostile.raise_new, [hostile.Priced] * 3, "abc", range(3), return_exceptions=True))
    assert [type(e) for e in results] == [hostile.Priced] * 3
    assert [(str(e), e.price) for e in results] == [("a for 0", 0), ("b for 1", 1), ("c for 2", 2)]
    with pytest.raises(hostile.Priced, match="tea for 3"):
        ex.submit(hostile.raise_new, hostile.Priced, "tea", 3).result(SECONDS)


def test_fields_slots_and_own_ways(ex: Executor) -> None:
    error: Any = ex.submit(hostile.raise_new, hostile.Slotted, "there").exception(SECONDS)
    assert type(error) is hostile.Slotted
    assert (error.place, error.errno, error.filename) == ("there", 2, "there")
    error = ex.submit(eval, "hostile.raise_it(hostile.Own(word='x'))", {"hostile": hostile}).exception(
        SECONDS
    )
    assert (type(error), error.word) == (hostile.Own, "x")
    error = ex.submit(eval, "unknown_name").exception(SECONDS)
    assert (type(error), error.name) == (NameError, "unknown_name")
    error = ex.submit(int, "x").exception(SECONDS)
    assert type(error) is ValueError
    error = ex.submit(bytes.decode, b"\xff").exception(SECONDS)
    assert (type(error), error.start, error.object) == (UnicodeDecodeError, 0, b"\xff")
    error = ex.submit(next, iter(())).exception(SECONDS)
    assert type(error) is StopIteration


def test_errors_in_errors(ex: Executor) -> None:
    error: Any = ex.submit(hostile.raise_wrapping).exception(SECONDS)
    assert type(error) is hostile.Wrapping
    assert (type(error.inner), error.inner.price, str(error.inner)) == (hostile.Priced, 3, "tea for 3")


@pytest.mark.parametrize("how", ["cause", "context", "none"])
def test_causes_and_contexts(ex: Executor, able: Abilities, how: str) -> None:
    error = ex.submit(hostile.raise_chain, how).exception(SECONDS)
    assert type(error) is KeyError
    assert isinstance(error.__context__, hostile.Priced)
    assert error.__context__.price == 3
    assert error.__suppress_context__ is (how != "context")
    if how == "cause":
        assert error.__cause__ is error.__context__
    text = "".join(traceback.format_exception(error))
    assert "raise_chain" in text
    assert ("tea for 3" in text) is (how != "none")


def test_notes(ex: Executor) -> None:
    error: Any = ex.submit(hostile.raise_noted).exception(SECONDS)
    assert error.__notes__ == ["a note of the task", "in raise_noted()"]


def test_groups(ex: Executor) -> None:
    error: Any = ex.submit(hostile.raise_groups).exception(SECONDS)
    assert type(error) is hostile.Groups
    assert [type(e) for e in error.exceptions] == [hostile.Priced, ExceptionGroup]
    caught: list[BaseException] = []
    try:
        ex.submit(hostile.raise_groups).result(SECONDS)
    except* hostile.Priced as priced:
        caught.extend(priced.exceptions)
    except* FileNotFoundError as gone:
        caught.append(gone)
    assert caught[0].price == 3  # type: ignore[attr-defined]
    assert len(caught) == 2
    both = ex.submit(hostile.raise_group, True).exception(SECONDS)
    assert isinstance(both, ExceptionGroup)
    assert isinstance(both.exceptions[1].exceptions[1], hostile.Locked)


@elsewhere
def test_what_cannot_be_sent_is_left_out_and_told(ex: Executor) -> None:
    error: Any = ex.submit(hostile.raise_new, hostile.Locked).exception(SECONDS)
    assert type(error) is hostile.Locked
    assert str(error) == "holds a lock"
    assert not hasattr(error, "lock")
    assert "attribute lock, a lock" in error.__notes__[0]
    assert "attribute lock" in "".join(traceback.format_exception(error))


@elsewhere
def test_a_class_that_is_not_known_here(ex: Executor) -> None:
    error: Any = ex.submit(hostile.raise_unknown).exception(SECONDS)
    assert isinstance(error, LookupError)
    assert isinstance(error, cellmill.PayloadError)
    assert type(error).__name__ == "Strange"
    assert error.args == ("who", 4)
    assert "cellmill_only_in_the_worker.Strange cannot be found here" in error.__notes__[0]
    with pytest.raises(LookupError, match="who"):
        ex.submit(hostile.raise_unknown).result(SECONDS)


@pytest.mark.parametrize("name", few_on_clusters(hostile.ODD_ERRORS, 2))
def test_errors_whose_special_methods_raise(ex: Executor, name: str) -> None:
    kind = getattr(hostile, name)
    for submit in (
        ex.submit,
        ex.options(retries=1).submit,
        ex.options(retries=Retry(1, when=OSError)).submit,
    ):
        assert type(submit(hostile.raise_named, name).exception(SECONDS)) is kind
    results = ex.map(hostile.raise_named_at, range(COUNT), [name] * COUNT, return_exceptions=True)
    assert type(alone(results)) is kind
    error = ex.submit(len, ex.submit(hostile.raise_named, name)).exception(SECONDS)
    assert type(error) is cellmill.DependencyError
    assert type(error.__cause__) is kind


def test_an_odd_error_in_a_batch(ex: Executor) -> None:
    many = cellmill.parallel(batch=True, executor=ex)(hostile.raise_named_in_list)
    assert type(alone(many.map(range(COUNT), return_exceptions=True))) is hostile.NoTruth


def test_a_loader_that_ends_the_search_for_source(ex: Executor) -> None:
    error = ex.submit(hostile.raise_from_code_without_source).exception(SECONDS)
    assert type(error) is ValueError
    assert str(error) == "no source"
