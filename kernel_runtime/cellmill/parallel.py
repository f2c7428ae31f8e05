"""`parallel`: a function whose calls are tasks; `per_worker`: a value made once in each worker."""

from __future__ import annotations

import functools
import inspect
import os
import pickle
import threading
import types
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, overload

from .backends.inline_map import map_here
from .backends.map_calls import FALSE, NONE, TRUE, check_constants, check_options, given
from .backends.map_iterator import MapIterator
from .backends.map_options import MapOptions
from .by_value.capture import Capture, bindings, capture
from .by_value.changed_arguments import changed_arguments
from .by_value.pickling import dumps
from .by_value.references import names_stored
from .diagnostics import inner_calls, notices
from .diagnostics.boundary import bounded
from .errors import UsageError
from .executor import Executor, checked_executor, default_executor, in_worker, peek_default_executor
from .process_context import thread_context
from .serialization.function_code import check_batch, function_name
from .serialization.shared import attached, detached
from .task import DEFAULT_OPTIONS, TaskOptions

if TYPE_CHECKING:
    from .memo.calls import Memo

__all__ = ["ParallelFunction", "PerWorker", "parallel", "per_worker"]


_OWN = frozenset(("_options", "_executor", "name"))
# Annotations are asked of the function: one that calls itself has none yet while its wrapper is loaded in a worker.
_COPIED = tuple(name for name in functools.WRAPPER_ASSIGNMENTS if "annot" not in name)


class ParallelFunction:
    """A function whose calls become tasks. Inside a task it is the plain function again."""

    def __init__(
        self, function: Callable[..., Any], options: TaskOptions, executor: Executor | None = None
    ) -> None:
        functools.update_wrapper(self, function, _COPIED, ())
        self.__wrapped__ = function
        self._options = options
        self._executor = executor
        self.name = options.name or function_name(function)  # shown in progress bars and messages
        _notice_changes(function, executor)

    @bounded
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A future at once; inside a task, the value itself, as of the plain function."""
        if in_worker():
            if self._options.batch:
                return check_batch(self.name, self.__wrapped__([*args]), len(args))[0]
            return inner_calls.note(self.name, self.__wrapped__(*args, **kwargs))
        return self._where().submit_with(self.__wrapped__, args, kwargs, self._options, self.name)

    @bounded
    def map(
        self,
        *iterables: Iterable[Any],
        ordered: bool = TRUE,
        return_exceptions: bool = FALSE,
        timeout: float | None = NONE,
        chunksize: int | None = NONE,
        prefetch: int | None = NONE,
        checkpoint: str | os.PathLike[str] | None = NONE,
        **constants: Any,
    ) -> MapIterator:
        """Results over the iterables; see `Executor.map`. ``f.map(xs, window=3)`` gives ``window=3`` to each call."""
        how = given(
            ordered=ordered,
            return_exceptions=return_exceptions,
            timeout=timeout,
            chunksize=chunksize,
            prefetch=prefetch,
            checkpoint=checkpoint,
        )
        return self._map(iterables, how, constants, star=False)

    @bounded
    def starmap(
        self,
        arguments: Iterable[Iterable[Any]],
        /,
        *,
        ordered: bool = TRUE,
        return_exceptions: bool = FALSE,
        timeout: float | None = NONE,
        chunksize: int | None = NONE,
        prefetch: int | None = NONE,
        checkpoint: str | os.PathLike[str] | None = NONE,
        **constants: Any,
    ) -> MapIterator:
        """Results of ``f(*each)`` for each of ``arguments``, as `itertools.starmap`; the rest is as in `map`."""
        how = given(
            ordered=ordered,
            return_exceptions=return_exceptions,
            timeout=timeout,
            chunksize=chunksize,
            prefetch=prefetch,
            checkpoint=checkpoint,
        )
        return self._map((arguments,), how, constants, star=True)

    def _map(
        self,
        iterables: tuple[Iterable[Any], ...],
        how: dict[str, Any],
        constants: dict[str, Any],
        *,
        star: bool,
    ) -> MapIterator:
        function, batch = self.__wrapped__, self._options.batch
        check_options(self.name, function, how)
        check_constants(function, iterables, constants, star=star, batch=batch)
        if not in_worker():
            return self._where().map_with(
                self._sent(), iterables, self._options, MapOptions(**how, star=star), constants
            )
        if batch and not star:
            items = list(iterables[0])
            values = check_batch(self.name, function(items, **constants), len(items))
            return map_here(_itself, self.name, (values,), star=False, return_exceptions=False)
        if constants:
            function = functools.partial(function, **constants)
        return map_here(
            function, self.name, iterables, star=star, return_exceptions=how.get("return_exceptions", False)
        )

    @bounded
    def options(self, **changes: Any) -> ParallelFunction:
        """The same function with other options; ``executor=`` is one of them."""
        executor = checked_executor(changes.pop("executor", self._executor))
        return ParallelFunction(self.__wrapped__, self._options.changed(**changes), executor)

    @bounded
    def cache_info(self) -> Any:
        """Of ``memo``: how often a result was found (``hits``) and not (``misses``), and the ``results`` and ``bytes``
        that are kept; for another function, what its own `cache_info` tells. Raises `AttributeError` where it has none.
        """
        return self._kept().info() if self._options.memo else self._own_cache("cache_info")()

    @bounded
    def cache_clear(self) -> Any:
        """Forget the results that ``memo`` keeps of this function; as `cache_info` for another one."""
        return self._kept().clear() if self._options.memo else self._own_cache("cache_clear")()

    def _own_cache(self, name: str) -> Any:
        """A method of the cache that the function has by itself (`functools.cache`)."""
        found = getattr(self.__wrapped__, name, None)
        if found is None:
            raise AttributeError(
                f"no results of {self.name} are kept, so that it has no {name}(): @cellmill.parallel(memo=True), "
                "%%parallel --memo or f.options(memo=True) keep them"
            )
        return found

    def _kept(self) -> Memo:
        from .memo.calls import memo_of  # few programs keep results

        return memo_of(self.__wrapped__, self._options)

    def _sent(self) -> Any:
        """Return the function that a map runs for its elements."""
        return self.__wrapped__

    def _where(self) -> Executor:
        return self._executor if self._executor is not None else default_executor()

    # Attributes are the function's: its code finds in a task what was set on it here.

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # while it is made
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN or name.startswith("__"):
            object.__setattr__(self, name, value)
        else:
            setattr(self.__wrapped__, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__wrapped__, name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind it as a method: calls carry the instance along."""
        return self if instance is None else ParallelMethod(self, instance)

    def __reduce__(self) -> Any:
        return ParallelFunction, (self.__wrapped__, self._options)

    def __repr__(self) -> str:
        try:
            signature = str(inspect.signature(self.__wrapped__))
        except (TypeError, ValueError):
            signature = "(...)"
        return f"<parallel {self.name}{signature}>"


def _itself(value: Any) -> Any:
    return value


class _Bound:
    """A function and its first argument, as it goes to workers: found there by no name, as its class may have another
    object under the method's.
    """

    __slots__ = ("function", "instance")
    kept_as_function = True  # what `memo` finds is counted for the method

    def __init__(self, function: Any, instance: Any) -> None:
        self.function, self.instance = function, instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self.instance, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name not in ("__name__", "__qualname__", "__doc__"):
            raise AttributeError(name)
        return getattr(self.function, name)

    def __eq__(self, other: object) -> bool:
        same = type(other) is _Bound and self.function is other.function
        return same and self.instance is other.instance  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((id(self.function), id(self.instance)))


class ParallelMethod(ParallelFunction):
    """A parallel function as the method of an instance, or of a class."""

    def __init__(self, parallel: ParallelFunction, instance: Any) -> None:
        method = types.MethodType(parallel.__wrapped__, instance)
        self.__dict__.update(parallel.__dict__, __wrapped__=method, __func__=parallel, __self__=instance)

    @bounded
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A future at once; inside a task, the value."""
        if in_worker():
            return super().__call__(*args, **kwargs)
        function = self.__func__.__wrapped__
        if self._options.batch:
            return self._where().submit_with(self._sent(), args, kwargs, self._options, self.name)
        return self._where().submit_with(function, (self.__self__, *args), kwargs, self._options, self.name)

    def _sent(self) -> Any:
        return _Bound(self.__func__.__wrapped__, self.__self__)

    def _kept(self) -> Memo:
        kept: Memo = self.__func__._kept()
        return kept

    @bounded
    def options(self, **changes: Any) -> ParallelFunction:
        """The same method with other options."""
        return ParallelMethod(self.__func__.options(**changes), self.__self__)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self  # it is bound already

    def __eq__(self, other: object) -> bool:
        return type(other) is ParallelMethod and self.__wrapped__ == other.__wrapped__

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __reduce__(self) -> Any:
        return ParallelMethod, (self.__func__, self.__self__)


def _notice_changes(function: Any, executor: Executor | None) -> None:
    """Say at the definition which globals the function assigns and which arguments it changes: they do not change here.

    Not of a global that has no value yet: that is how something is loaded once per worker.
    """
    where = executor if executor is not None else peek_default_executor()
    if (
        type(function) is not types.FunctionType
        or in_worker()
        or (where and where.backend in ("threads", "inline"))
    ):
        return
    shown = function_name(function)
    for name in sorted(names_stored(function.__code__)):
        if function.__globals__.get(name) is not None:
            notices.give(
                (shown, name),
                f"{shown} assigns the global {name}. {notices.stays_there(name)}",
                function,
            )
    changed = changed_arguments(function)
    if changed:
        notices.give((shown, *changed), notices.works_on_copies(shown, [*changed], changed), function)


@overload
def parallel(function: Callable[..., Any], /) -> ParallelFunction: ...


@overload
def parallel(**options: Any) -> Callable[[Callable[..., Any]], ParallelFunction]: ...


@bounded
def parallel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make calls of a function tasks: ``@parallel`` or ``@parallel(retries=2, batch=True, timeout=30, ...)``.

    With ``batch=True`` the function takes a list and returns a list of the same length; it is still called with one
    item, or mapped, and the runtime chooses the lists.
    """
    executor = checked_executor(options.pop("executor", None))
    checked = DEFAULT_OPTIONS.changed(**options) if options else DEFAULT_OPTIONS

    @bounded
    def decorate(target: Callable[..., Any]) -> ParallelFunction:
        if isinstance(target, ParallelFunction):
            given = options if executor is None else {**options, "executor": executor}
            return target.options(**given) if given else target
        if not callable(target):
            raise UsageError(f"parallel takes a function, not a {type(target).__name__}")
        if inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target):
            raise UsageError(
                f"{function_name(target)} is an async function: a task is a plain function. Drop the async, and "
                f"write `await {function_name(target)}(x)` where you call it"
            )
        if inspect.isgeneratorfunction(target):
            raise UsageError(f"{function_name(target)} is a generator: return a list of its values instead")
        return ParallelFunction(target, checked, executor)

    return decorate if function is None else decorate(function)


_values: dict[bytes, Any] = {}
_values_lock = threading.Lock()
_key_lock = threading.Lock()


class PerWorker:
    """A factory whose value is made once per worker process; call it inside a task to get the value."""

    def __init__(self, factory: Callable[..., Any]) -> None:
        if not callable(factory):
            raise UsageError(
                f"per_worker takes a function that makes the value, not a {type(factory).__name__}"
            )
        functools.update_wrapper(self, factory)
        self.__wrapped__ = factory
        # what it referred to (None: it came from another process), and what `_key` gives
        self._pickled: tuple[Capture | None, bytes, bytes, tuple[Any, ...]] | None = None
        self._here: tuple[Capture, bytes] | None = None  # the same for values that are made in this process

    @bounded
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value for these arguments in this process, made if need be."""
        if thread_context.used and thread_context.here.values is not None:
            return self._of_thread(thread_context.here.values, args, kwargs)
        key = self._key_here()
        if args or kwargs:
            key += dumps((args, sorted(kwargs.items())))
        try:
            return _values[key]
        except KeyError:
            pass
        with _values_lock:
            if key not in _values:
                _values[key] = self.__wrapped__(*args, **kwargs)
            return _values[key]

    def _of_thread(self, values: dict[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value of the calling thread; a factory that cannot be pickled is known by itself."""
        try:
            with _key_lock:  # or it may change with what the factory refers to while others compute it
                found = self._key_here()
            key: Any = found, dumps((args, sorted(kwargs.items())))
        except Exception:
            key = self.__wrapped__, args, tuple(sorted(kwargs.items()))
        if key not in values:
            values[key] = self.__wrapped__(*args, **kwargs)
        return values[key]

    def _key_here(self) -> bytes:
        """Return the key of a value made in the factory's own process, where it may change in place what it refers
        to.
        """
        if self._pickled is not None and self._pickled[0] is None:
            return self._pickled[1]
        if self._here is None or self._here[0].changed() is not None:
            self._here = bindings(self.__wrapped__), self._key()[0]
        return self._here[1]

    def _key(self) -> tuple[bytes, bytes, tuple[Any, ...]]:
        """Return (hash, pickle, shared objects) of the factory, computed again when something it refers to has
        changed.
        """
        found = self._pickled
        if found is None or (found[0] is not None and found[0].changed() is not None):
            referred = capture(self.__wrapped__)
            data, shares = detached(lambda: dumps(self.__wrapped__))
            found = self._pickled = referred, blake2b(data, digest_size=16).digest(), data, shares
        return found[1:]

    def __reduce__(self) -> Any:
        return _load_per_worker, self._key()

    def __repr__(self) -> str:
        return f"<per_worker {function_name(self.__wrapped__)}>"


def _load_per_worker(key: bytes, data: bytes, shares: tuple[Any, ...] = ()) -> PerWorker:
    """Return the worker's value of a factory; equal factories share one value, whichever function brings them."""
    with attached(shares):
        made = PerWorker(pickle.loads(data))
    made._pickled = (None, key, data, shares)
    return made


@bounded
def per_worker(factory: Callable[..., Any]) -> PerWorker:
    """``@per_worker`` on a function without arguments (or with a few hashable ones): its value is kept per worker.

    For what is dear to make and cannot be sent: a docking engine with its maps, a database connection, a model on a
    device. It is made again when a worker is replaced or the factory changes.
    """
    return PerWorker(factory)
