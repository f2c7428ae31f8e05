"""A call that does not fit its function raises at the call, in Python's own words."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from cellmill import Executor, parallel, run_registry
from cellmill.diagnostics.signatures import check_call, limits
from tests.support import tasks

Cell = Callable[[str], dict[str, Any]]


def one(x: int) -> int:
    return x


def several(a: int, /, b: int, c: int = 3, *rest: int, key: int, other: int = 2, **more: int) -> Any:
    return a, b, c, rest, key, other, more


def by_name(x: int, *, key: int) -> tuple[int, int]:
    return x, key


def many(*xs: int) -> int:
    return len(xs)


CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (one, (), {}),
    (one, (1, 2, 3), {}),
    (one, (1,), {"y": 2}),
    (one, (1,), {"x": 2}),
    (by_name, (1,), {}),
    (by_name, (1, 2), {}),
    (by_name, (1, 2), {"key": 2}),
    (several, (), {"a": 1, "b": 2, "key": 3}),
    (several, (1,), {"key": 3}),
    (several, (1, 2), {}),
    (many, (), {"x": 1}),
]


def words(call: Callable[[], Any]) -> str:
    with pytest.raises(TypeError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(("function", "args", "kwargs"), CALLS)
def test_the_words_are_pythons(function: Any, args: Any, kwargs: Any) -> None:
    assert words(lambda: check_call(function, args, kwargs)) == words(lambda: function(*args, **kwargs))


def test_what_fits_or_is_not_known_passes() -> None:
    check_call(several, (1, 2), {"key": 3, "another": 4})
    check_call(many, tuple(range(99)))
    check_call(print, (1,), {"nonsense": 2})
    check_call(functools.partial(one, 1), (1, 2, 3))
    check_call(functools.cache(one), (1, 2, 3))
    least, most = limits(by_name)
    assert least > most  # a keyword is needed: never sure without a look


def test_each_way_to_call(ex: Executor) -> None:
    f = parallel(one).options(executor=ex)
    with pytest.raises(TypeError, match=r"^one\(\) takes 1 positional argument but 3 were given$"):
        f(1, 2, 3)
    assert f(1).result() == 1
    for _ in range(2):  # also of a function that is known by now
        with pytest.raises(TypeError, match=r"^one\(\) missing 1 required positional argument: 'x'$"):
            f()
        with pytest.raises(TypeError, match=r"^one\(\) got an unexpected keyword argument 'y'$"):
            f(1, y=2)
        with pytest.raises(TypeError, match=r"^one\(\) takes 1 positional argument but 2 were given$"):
            f.options(retries=2, priority=3)(1, 2)
        with pytest.raises(TypeError, match=r"^one\(\) takes 1 positional argument but 2 were given$"):
            ex.submit(one, 1, 2)
        with pytest.raises(TypeError, match=r"^one\(\) missing 1 required"):
            ex.options(retries=1).submit(one)


def test_methods_count_their_instance_as_python_does(ex: Executor) -> None:
    class Model:
        @parallel(executor=ex)
        def predict(self, x: int) -> int:
            return x

    assert Model().predict(3).result() == 3
    with pytest.raises(TypeError, match=r"predict\(\) takes 2 positional arguments but 3 were given"):
        Model().predict(1, 2)


def test_defaults_that_change_count_from_then_on(ex: Executor, cell: Cell) -> None:
    f = cell("def f(x, y):\n    return x, y\n")["f"]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        ex.submit(f, 1)
    f.__defaults__ = (7,)
    assert ex.submit(f, 1).result() == (1, 7)
    f.__defaults__ = None
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        ex.submit(f, 1)


def test_decorated_functions_take_what_their_wrapper_takes(ex: Executor) -> None:
    def passed_on(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args[:1])

        return wrapper

    assert parallel(passed_on(one), executor=ex)(1, 2, 3).result() == 1


def test_no_run_is_begun_for_what_is_no_call(ex: Executor) -> None:
    begun: list[Any] = []
    undo = run_registry.on_run_started(begun.append)
    try:
        with pytest.raises(TypeError):
            parallel(tasks.double, executor=ex)()
    finally:
        undo()
    assert not begun


def test_a_batch_function_is_called_with_one_item(ex: Executor) -> None:
    def doubled(items: list[int]) -> list[int]:
        return [2 * x for x in items]

    assert parallel(doubled, batch=True, executor=ex)(4).result() == 8
