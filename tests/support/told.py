"""What is said to the user while something runs: the texts of warnings, as a notebook shows them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def told(call: Callable[[], Any], about: str = "") -> list[str]:
    """The warnings that a call gives, which have this text in them."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in given if about in str(each.message)]


@contextmanager
def nothing_told() -> Iterator[None]:
    """In the block no warning is given. As errors they would not be seen: a notice never raises where it is given."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        yield
    assert [str(each.message) for each in given] == []
