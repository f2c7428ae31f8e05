"""What travels: arrays large and small, what cannot be pickled, what does not come back."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from cellmill.serialization import payload
from cellmill.serialization.preview import preview
from tests.support import tasks

numpy = pytest.importorskip("numpy")
MB = 1 << 20


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 8191, 8192, 8193, 70_000, 300_000, 5 * MB])
@pytest.mark.parametrize("make", [bytes, bytearray, lambda n: "x" * n], ids=["bytes", "bytearray", "str"])
def test_sizes(pool: Executor, size: int, make: Callable[[int], Any]) -> None:
    value = make(size)
    assert pool.submit(tasks.same, value).result() == value
    assert pool.submit(len, value).result() == size
    assert next(pool.map(tasks.same, [value])) == value


def test_megabyte_there_and_back(pool: Executor) -> None:
    array = numpy.random.default_rng(0).random(MB // 8)
    doubled = pool.submit(tasks.double, array).result()
    assert numpy.array_equal(doubled, 2 * array)


def test_tens_of_megabytes_there_and_back(pool: Executor) -> None:
    array = numpy.arange(30 * MB // 8)
    back = pool.submit(tasks.double, array).result()
    assert back.nbytes == array.nbytes
    assert numpy.array_equal(back[::1000], 2 * array[::1000])


def test_large_results_are_read_in_place(pool: Executor) -> None:
    result = pool.submit(numpy.ones, 100_000).result()
    assert not result.flags.owndata
    assert result.ctypes.data % payload.PAGE == 0
    assert mapped_file(result.ctypes.data).startswith("/memfd:cellmill-arena")


def test_blocks_that_were_written_to_are_used_again(pool: Executor) -> None:
    """What a holder wrote is not seen in the next block at that place, in the kernel or in workers."""
    for size in (5_000, 20_000, 100_000):
        places = set()
        for i in range(60):
            array = pool.submit(tasks.written, numpy.full(size, i)).result()
            assert (array == i + 1).all()
            places.add(array.ctypes.data)
            array[:] = -1
            del array
        assert len(places) < 20


def test_two_who_take_the_same_result_have_a_copy_each(pool: Executor) -> None:
    """A worker holds the first one's while it runs the second one."""
    kept = [pool.submit(tasks.keep_and_write, pool.submit(numpy.zeros, 100_000), i) for i in range(1, 9)]
    assert [f.result() for f in kept] == [(0.0, True)] * 8
    pool.run_on_workers(tasks.forget_kept)


def test_a_result_that_is_referred_to_feeds_others_as_it_came(pool: Executor) -> None:
    made = pool.submit(numpy.zeros, 100_000)
    later = [pool.submit(tasks.same, made) for _ in range(2)]
    first, *others = [made.result(), *(f.result() for f in later)]
    first[:] = 1
    assert not any(other.any() for other in others)
    assert pool.submit(numpy.sum, made).result() == 100_000  # it is what the caller has now


def test_a_frame_is_written_to(pool: Executor) -> None:
    pandas = pytest.importorskip("pandas")
    for rows in (10, 50_000):
        frame = pool.submit(pandas.DataFrame, {"a": numpy.arange(rows), "b": numpy.ones(rows)}).result()
        frame.loc[0, "a"] = 5
        frame["b"] -= frame["b"].mean()
        assert (frame.loc[0, "a"], frame["b"].sum()) == (5, 0)


def mapped_file(address: int) -> str:
    """What is mapped there in this process."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if start <= address < end:
            return line.split(None, 5)[-1]
    return ""


def test_arrays_of_every_layout(pool: Executor) -> None:
    base = numpy.arange(90_000).reshape(300, 300)
    for array in (
        base,
        base.T,
        base[::2, ::3],
        numpy.asfortranarray(base),
        base.astype(">f4"),
        base[:0],
        base > 5,
    ):
        back = pool.submit(tasks.same, array).result()
        assert back.dtype == array.dtype
        assert back.shape == array.shape
        assert numpy.array_equal(back, array)


def test_object_arrays_and_mixtures(pool: Executor) -> None:
    value = {
        "a": numpy.array([1, "x", None], dtype=object),
        "b": [numpy.zeros(20_000), b"y" * 20_000, "z" * 20_000],
    }
    back = pool.submit(tasks.same, value).result()
    assert list(back["a"]) == [1, "x", None]
    assert back["b"][0].sum() == 0
    assert back["b"][1:] == value["b"][1:]


def test_results_outlive_the_executor() -> None:
    with Executor(1) as executor:
        results = [executor.submit(numpy.full, 200_000, i).result() for i in range(5)]
    del executor
    gc.collect()
    assert [int(r[0]) for r in results] == [0, 1, 2, 3, 4]
    assert all((r == i).all() for i, r in enumerate(results))


def test_results_stay_when_others_come(pool: Executor) -> None:
    kept = [pool.submit(numpy.full, 50_000, i).result() for i in range(40)]
    for i in range(200):
        pool.submit(numpy.full, 50_000, -i).result()
    assert all((array == i).all() for i, array in enumerate(kept))


def test_slices_keep_the_memory(pool: Executor) -> None:
    part = pool.submit(numpy.arange, 500_000).result()[1000:1010]
    gc.collect()
    for _ in range(20):
        pool.submit(numpy.zeros, 500_000).result()
    assert part.tolist() == list(range(1000, 1010))


def test_shared_memory_does_not_grow(pool: Executor) -> None:
    array = numpy.ones(MB // 8)
    for _ in range(20):
        pool.submit(tasks.double, array).result()
    used = arena_used(pool)
    for _ in range(200):
        pool.submit(tasks.double, array).result()
    assert arena_used(pool) <= used + 4 * MB


def test_map_of_arrays_gives_memory_back(pool: Executor) -> None:
    arrays = [numpy.full(MB // 8, i) for i in range(20)]
    assert [int(a[0]) for a in pool.map(tasks.double, arrays)] == [2 * i for i in range(20)]
    used = arena_used(pool)
    for _ in range(3):
        assert [int(a[0]) for a in pool.map(tasks.double, arrays)] == [2 * i for i in range(20)]
    assert arena_used(pool) <= used + 4 * MB


def arena_used(executor: Executor) -> int:
    """Bytes of the kernel's payload blocks in use."""
    from cellmill.backends.scheduled.scheduler import ffi, with_gil

    stats = ffi.new("csched_stats_t *")
    with_gil.csched_stats(executor._backend.scheduler.handle, stats)  # type: ignore[attr-defined]
    return int(stats.arena_used)


def test_more_than_the_arena_holds() -> None:
    """What does not fit waits for room, or goes to a file."""
    with Executor(1, memory=16 * MB) as executor:
        array = numpy.ones(MB // 8)
        assert (
            sum(f.result() for f in [executor.submit(numpy.sum, array) for _ in range(60)]) == 60 * array.size
        )
        assert sum(executor.map(numpy.sum, [array] * 60)) == 60 * array.size
        assert executor.submit(numpy.sum, numpy.ones(4 * MB)).result() == 4 * MB
        assert executor.submit(tasks.double, 1).result() == 2


def test_many_arguments_larger_than_a_ring(pool: Executor) -> None:
    words = ["w" * 50_000 for _ in range(100)]
    futures = [pool.submit(len, word) for word in words] + [pool.submit(tasks.same, word) for word in words]
    assert [f.result() for f in futures[:100]] == [50_000] * 100
    assert all(f.result() == word for f, word in zip(futures[100:], words, strict=True))


def test_results_larger_than_a_ring_that_are_not_collected(pool: Executor) -> None:
    futures = [pool.submit(bytes, 7000) for _ in range(500)]
    assert all(f.result() == bytes(7000) for f in futures)


def test_arrays_between_tasks_do_not_pass_through_the_kernel(pool: Executor) -> None:
    array = pool.submit(numpy.arange, MB)
    for _ in range(5):
        array = pool.submit(numpy.add, array, 1)
    assert pool.submit(numpy.sum, array).result() == sum(range(MB)) + 5 * MB


# -- what cannot travel


def test_unpicklable_argument(pool: Executor) -> None:
    for call in (
        lambda: pool.submit(tasks.give, 1, threading.Lock()),
        lambda: pool.submit(tasks.give, x=(i for i in range(3))),
    ):
        with pytest.raises(cellmill.PayloadError, match=r"argument .* of give, a (lock|generator),"):
            call()
    assert pool.submit(tasks.double, 1).result() == 2


def test_unpicklable_element(pool: Executor) -> None:
    items: list[Any] = [*range(50), threading.Lock(), *range(50)]
    results = list(pool.map(tasks.same, items, return_exceptions=True))
    assert isinstance(results[50], cellmill.PayloadError)
    assert [r for i, r in enumerate(results) if i != 50] == [*range(50), *range(50)]


def test_unpicklable_result(pool: Executor) -> None:
    error = pool.submit(tasks.lock).exception()
    assert isinstance(error, cellmill.PayloadError)
    assert "the result of lock, a lock," in str(error)
    assert pool.submit(tasks.double, 1).result() == 2


def test_unpicklable_result_in_a_map(pool: Executor) -> None:
    results = list(pool.map(tasks.lock_if, range(100), [30] * 100, return_exceptions=True))
    assert isinstance(results[30], cellmill.PayloadError)
    assert [r for i, r in enumerate(results) if i != 30] == [i for i in range(100) if i != 30]


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (tasks.raise_unpicklable, tasks.Unpicklable, "stays here"),
        (tasks.raise_needs_two, tasks.NeedsTwo, "salt and pepper"),
    ],
)
def test_exceptions_that_plain_pickle_cannot_send(
    pool: Executor, function: Callable[[], Any], kind: type[Exception], words: str
) -> None:
    for error in (
        pool.submit(function).exception(),
        *pool.map(lambda _: function(), [0], return_exceptions=True),
    ):
        assert type(error) is kind
        assert words in str(error)
        assert function.__name__ in str(error.__cause__)
    assert pool.submit(tasks.double, 1).result() == 2


def test_result_that_does_not_load(pool: Executor) -> None:
    error = pool.submit(tasks.FailsToLoad).exception()
    assert isinstance(error, cellmill.PayloadError)
    assert "cannot be unpickled" in str(error)
    results = list(pool.map(lambda x: tasks.FailsToLoad() if x == 2 else x, range(4), return_exceptions=True))
    assert [results[i] for i in (0, 1, 3)] == [0, 1, 3]
    assert isinstance(results[2], cellmill.PayloadError)


def test_argument_that_does_not_load(pool: Executor) -> None:
    error = pool.submit(tasks.same, tasks.FailsToLoad()).exception()
    assert isinstance(error, ZeroDivisionError)
    results = list(pool.map(tasks.same, [0, tasks.FailsToLoad(), 2], return_exceptions=True))
    assert [results[0], results[2]] == [0, 2]
    assert isinstance(results[1], ZeroDivisionError)


def test_exception_of_a_module_that_is_not_here(pool: Executor) -> None:
    def fail() -> None:
        import sys
        import types

        module = types.ModuleType("only_in_the_worker")
        sys.modules["only_in_the_worker"] = module
        exec("class Strange(Exception): pass", module.__dict__)
        raise module.Strange("hello")

    error = pool.submit(fail).exception()
    assert isinstance(error, Exception)
    assert "hello" in str(error)
    assert "Strange" in str(error) + type(error).__name__


def test_views_that_are_garbage_together_with_their_pool(script: Callable[..., str]) -> None:
    """The memory goes with whichever of them goes last."""
    out = script(
        """
        import ctypes, gc, pickle, weakref
        from cellmill import Executor
        ctypes.CDLL(None).mallopt(-6, 165)  # M_PERTURB: memory that was freed holds rubbish
        class Box:
            def __init__(self, data):
                self.data = data
            def __reduce_ex__(self, protocol):
                return Box, (pickle.PickleBuffer(self.data),)
        for _ in range(5):
            pool = Executor(1)
            pool.kept = [pool, *(pool.submit(lambda: Box(bytes(1_000_000))).result() for _ in range(3))]
            assert type(pool.kept[1].data) is memoryview
            gone = weakref.ref(pool)
            pool.shutdown()
            del pool
            gc.collect()
            assert gone() is None
        print("alive")
        """
    )
    assert out == "alive\n"


def test_a_preview_names_a_result_that_is_elsewhere() -> None:
    """It is not fetched for that."""
    found = preview(memoryview(payload.encode((1, [_Elsewhere()])).data))
    assert repr(found) == "(1, [<the result of make (task #3)>])"


def test_a_preview_of_numbers_and_frames_tells_what_people_want_to_know() -> None:
    import pandas

    numbers = [numpy.float64(0.5), numpy.float32(0.5), numpy.int8(-3), numpy.uint64(7), numpy.True_]
    frame = pandas.DataFrame({"a": [1]})
    others = [numpy.str_("a"), numpy.array([1]), frame, frame["a"], frame.index, _Large(b"x" * 100)]
    found = preview(memoryview(payload.encode((numbers, others)).data))
    assert repr(found) == (
        "([np.float64(0.5), np.float32(0.5), np.int8(-3), np.uint64(7), np.True_], "
        "[<element of an array>, <array>, <DataFrame>, <Series>, <RangeIndex>, _Large(…)])"
    )


class _Large:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def __reduce__(self) -> Any:
        return _Large, (self.data,)


class _Elsewhere:
    def __reduce__(self) -> Any:
        return payload.labelled, ("the result of make (task #3)", exit, 1)
