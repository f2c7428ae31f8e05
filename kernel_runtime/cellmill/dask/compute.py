"""The tasks of one call of `get`: handed over at once, and waited for."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import FIRST_EXCEPTION, wait
from concurrent.futures import Future as BaseFuture
from typing import Any

from dask._task_spec import Alias, DataNode, GraphNode, Task, _execute_subgraph
from dask.sizeof import sizeof
from dask.utils import key_split

from ..by_value.pickling import dumps
from ..errors import DependencyError, PayloadError, is_a
from ..executor import Executor
from ..futures import Future
from ..process_context.interrupts import uninterrupted
from ..run_registry import Run
from ..task import TaskOptions
from .effects import locks_of
from .graph import Graph, Options, in_order, named, plain_arguments, short_arguments

INLINE_BYTES = 4096
"""Data of a graph that is larger is sent once, as the result of a task, and not with each task that needs it."""


class Compute:
    """``wanted`` keys of ``nodes``, and what they need, as tasks of ``executor``."""

    def __init__(self, nodes: Graph, wanted: set[Hashable], options: Options, executor: Executor) -> None:
        self._nodes, self._wanted, self._options, self._executor = nodes, wanted, options, executor
        self._run: Run | None = None
        self._known: dict[Hashable, Any] = {}  # a value, or the future of one
        self._data: dict[int, tuple[Any, Future]] = {}  # by id: large data of the graph, and its task
        self._locked: dict[str, Future] = {}  # by lock: the last task that takes it
        self._tasks = 0
        # What Dask's own schedulers show their callbacks.
        self.state: dict[str, Any] = {name: set() for name in ("ready", "waiting", "running", "finished")}

    def begin(self, on_state: Iterable[Any], on_task: Iterable[Any]) -> None:
        """Hand all tasks over; the callbacks hear of the state, and of each task as it is handed over."""
        keys, nodes = in_order(self._nodes, self._wanted)
        are_tasks = [type(node) is Task or _is_task(node) for node in nodes]
        watched = bool(on_state or on_task)
        if watched:
            self.state["waiting"].update(itertools.compress(keys, are_tasks))
        for callback in on_state:
            callback(self._nodes, self.state)
        if any(not isinstance(node, (Alias, DataNode)) for node in nodes):
            with uninterrupted():  # a run that has begun is known here, and is ended
                self._run = self._executor.open_run(_name(self._wanted), None, sum(are_tasks))
        for key, node, is_task in zip(keys, nodes, are_tasks, strict=True):
            if self._run is None or not is_task:
                self._known[key] = self._value(node)
                continue
            future = self._known[key] = self._submit(self._run, key, node)
            future._asks_to_be_seen = False  # `values` raises the first error
            if watched:
                future.add_done_callback(self._moves(key))
            for callback in on_task:
                callback(key, self._nodes, self.state)
        if self._run is not None:
            self._run.expected = self._tasks  # with those of large data
        # The others are held by the tasks that need them.
        self._known = {
            key: self._value(node) if isinstance(node := self._nodes[key], DataNode) else self._known[key]
            for key in self._wanted
        }

    def values(self) -> dict[Hashable, Any]:
        """Wait for the values of the wanted keys; raises a task's error as soon as one of them cannot be had."""
        futures = {each for each in self._known.values() if isinstance(each, Future)}
        if len(futures) > 1:
            for each in wait(futures, return_when=FIRST_EXCEPTION).done:
                if each.cancelled() or each.exception() is not None:
                    _result(each)
        found = {
            key: _result(value) if isinstance(value, Future) else value for key, value in self._known.items()
        }
        for key in list(self.state["waiting"]):  # the last are told of a moment later
            self._moves(key)(None)
        return found

    def stop(self, error: BaseException) -> None:
        """Cancel what has not begun; where the wait was interrupted, stop what runs, too."""
        if self._run is None:
            return
        if is_a(error, Exception):
            self._run.cancel()
        else:
            self._run.stop()

    def finish(self) -> None:
        """End the run."""
        self._known, self._data, self._locked = {}, {}, {}
        if self._run is not None:
            self._run.finish()

    def _value(self, node: GraphNode) -> Any:
        return self._known[node.target] if isinstance(node, Alias) else node()

    def _submit(self, run: Run, key: Hashable, node: Task | DataNode) -> Future:
        options = self._options.of(key, bool(node.dependencies))
        if isinstance(node, DataNode):
            return self._returned(run, node.value, options)
        short = short_arguments(node, self._known)
        if short is not None:
            try:
                return self._submitted(run, node.func, short, options)
            except PayloadError as error:
                return self._as_it_is(run, node, options, error)
        locks = locks_of(node, apart=self._executor.backend not in ("threads", "inline"))
        if locks:
            options = options.changed(after=[self._locked[each] for each in locks if each in self._locked])
        future = self._call(run, node, options)
        for each in locks:
            self._locked[each] = future
        return future

    def _call(self, run: Run, node: Task, options: TaskOptions) -> Future:
        known, submit = self._known, self._submitted
        plain = plain_arguments(node, known, lambda value: self._sent_once(run, value, options))
        name = options.name or ""
        function = node.func
        if function is _execute_subgraph:
            function = named(function, name)
        try:
            if plain is not None:
                return submit(run, function, plain, options, node.kwargs)
            return submit(run, named(_evaluate, name), (node, *_inputs(node, known)), options)
        except PayloadError as error:
            return self._as_it_is(run, node, options, error)

    def _as_it_is(self, run: Run, node: Task, options: TaskOptions, error: PayloadError) -> Future:
        """Send a task that cannot be sent in the usual way because of ``error``: a collection of Dask in it means
        itself then, and not what it stands for.
        """
        try:
            packed = dumps(node)
        except Exception:
            packed = None
        if packed is None:
            raise error
        evaluate = named(_evaluate_packed, options.name or "")
        return self._submitted(run, evaluate, (packed, *_inputs(node, self._known)), options)

    def _submitted(
        self, run: Run, function: Any, args: Any, options: TaskOptions, kwargs: dict[str, Any] | None = None
    ) -> Future:
        self._tasks += 1
        return self._executor.submit_in(run, function, args, options, kwargs)

    def _returned(self, run: Run, value: Any, options: TaskOptions) -> Future:
        """Return the future of a task that returns data of the graph, which many tasks can share."""
        found = self._data.get(id(value))
        if found is None:
            future = self._submitted(run, named(_itself, options.name or ""), (value,), options)
            future._asks_to_be_seen = False
            found = self._data[id(value)] = value, future
        return found[1]

    def _sent_once(self, run: Run, value: Any, options: TaskOptions) -> Any:
        """Return data of the graph as an argument: itself, or a future if it is large."""
        return value if _size(value) <= INLINE_BYTES else self._returned(run, value, options)

    def _moves(self, key: Hashable) -> Callable[[Any], None]:
        def move(_: Any) -> None:
            self.state["waiting"].discard(key)
            self.state["finished"].add(key)

        return move


def _is_task(node: GraphNode) -> bool:
    """Whether a node takes a task: one of Dask's, or one that sends large data of the graph once."""
    return not isinstance(node, Alias) and (
        not isinstance(node, DataNode) or _size(node.value) > INLINE_BYTES
    )


def _name(keys: Iterable[Hashable]) -> str:
    """Return the name of a run: of what is computed, as Dask names it."""
    names = {key_split(key) for key in keys}
    return next(iter(names)) if len(names) == 1 else "dask"


def _result(future: BaseFuture[Any]) -> Any:
    """Return the value, or raise the error of the task that failed first."""
    try:
        return future.result()
    except DependencyError as error:
        first: BaseException = error
        while is_a(first, DependencyError) and first.__cause__ is not None:
            first = first.__cause__
        raise first from first.__cause__


def _inputs(node: Task, known: dict[Hashable, Any]) -> tuple[Any, ...]:
    """Return the keys that a task needs, and behind them their values."""
    names = tuple(node.dependencies)
    return names, *[known[name] for name in names]


def _size(value: Any) -> int:
    """Return the size in bytes of an array or a frame; small for what is no data but a number, a name, a function."""
    return 0 if value is None or isinstance(value, (int, float, str, tuple)) else int(sizeof(value))


def _itself(value: Any) -> Any:
    return value


def _evaluate(node: Any, names: tuple[Hashable, ...], *values: Any) -> Any:
    """Run a task whose arguments hold others."""
    return node(dict(zip(names, values, strict=True)))


def _evaluate_packed(packed: bytes, names: tuple[Hashable, ...], *values: Any) -> Any:
    return _evaluate(pickle.loads(packed), names, *values)
