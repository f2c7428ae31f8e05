"""Displays and figures made in a task: sent to the cell that submitted it.

A worker has no shell, where IPython's ``display`` would only print. Its functions are replaced as soon as user code has
imported them: nothing is imported here before, and a task that shows nothing pays nothing.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import pickle
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .output_frames import DISPLAY, Channel

WIDGET = (
    "application/vnd.jupyter.widget-view+json"  # of a widget that lives in the worker: it could not be shown
)
INLINE = "matplotlib_inline.backend_inline"


class Displays:
    """The replacement of IPython's display machinery in a worker."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._formatter: Any = None
        self._drawn = False
        hooks: dict[str, Callable[[Any], None]] = {
            "IPython.core.display_functions": self._take_over,
            "matplotlib._pylab_helpers": self._watch,
        }
        for name, hook in hooks.items():
            if name in sys.modules:
                hook(sys.modules[name])
        builtins.display = _display  # type: ignore[attr-defined]  # a notebook's cells have it without an import
        sys.meta_path.insert(0, _AfterImport(hooks))

    def end_of_task(self) -> None:
        """Show the figures that are open, as a cell does at its end, and close them."""
        backend = sys.modules.get(INLINE)
        if not self._drawn or backend is None:
            return
        self._drawn = False
        try:
            backend.show(True)
        except Exception:
            traceback.print_exc()

    def display(
        self,
        *objs: Any,
        include: Any = None,
        exclude: Any = None,
        metadata: dict[str, Any] | None = None,
        transient: dict[str, Any] | None = None,
        display_id: Any = None,
        raw: bool = False,
        clear: bool = False,
        update: bool = False,
        **_: Any,
    ) -> Any:
        """``IPython.display.display`` in a task: shown in the cell that submitted it. ``clear`` does nothing here."""
        transient = dict(transient or {})
        if display_id is True:
            display_id = os.urandom(16).hex()
        if display_id:
            transient["display_id"] = display_id
        if update and "display_id" not in transient:
            raise TypeError("display_id required for update_display")
        if not objs and display_id:
            objs, raw = ({},), True
        for obj in objs:
            data, own = (obj, {}) if raw else self._format(obj, include, exclude)
            if data or raw:
                self.publish(data, {**own, **(metadata or {})}, transient=transient, update=update)
        if not display_id:
            return None
        return sys.modules["IPython.core.display_functions"].DisplayHandle(display_id)

    def publish(
        self,
        data: dict[str, Any],
        metadata: dict[str, Any] | None = None,
        *,
        transient: dict[str, Any] | None = None,
        update: bool = False,
        **_: Any,
    ) -> None:
        """``IPython.display.publish_display_data`` in a task."""
        data = {kind: value for kind, value in data.items() if kind != WIDGET}
        try:
            message = pickle.dumps((data, metadata or {}, transient or {}, update), 5)
        except Exception:
            text = {"text/plain": str(data.get("text/plain", data))}
            message = pickle.dumps((text, {}, {}, False), 5)
        sys.stdout.flush()  # earlier text comes before it
        self._channel.send(DISPLAY, message)

    def _format(self, obj: Any, include: Any, exclude: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if self._formatter is None:
            from IPython.core.formatters import DisplayFormatter

            self._formatter = DisplayFormatter()
            png = self._formatter.formatters["image/png"]
            png.for_type_by_name("matplotlib.figure", "Figure", _png)
        data, metadata = self._formatter.format(obj, include=include, exclude=exclude)
        return data, metadata

    def _take_over(self, module: Any) -> None:
        """After the import of IPython's display functions."""
        module.display = self.display
        module.publish_display_data = self.publish
        module.clear_output = _clear_nothing

    def _watch(self, module: Any) -> None:
        """After the import of matplotlib's list of open figures: every new one has a task show what is open."""
        made = module.Gcf._set_new_active_manager

        def open_figure(manager: Any) -> None:
            self._drawn = True
            self._channel.mark()
            made(manager)

        module.Gcf._set_new_active_manager = staticmethod(open_figure)


def _display(*objs: Any, **how: Any) -> Any:
    """``display`` as cells know it."""
    import IPython.display

    show: Any = IPython.display.display
    return show(*objs, **how)


def _png(figure: Any) -> Any:
    from IPython.core import pylabtools

    print_figure: Any = pylabtools.print_figure
    return print_figure(figure, "png", base64=True)


def _clear_nothing(wait: bool = False) -> None:
    """``IPython.display.clear_output`` in a task: a cell's output is not one task's to clear."""


class _AfterImport:
    """Calls ``hooks[name](module)`` right after that module was imported."""

    def __init__(self, hooks: dict[str, Callable[[ModuleType], None]]) -> None:
        self._hooks = hooks

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._hooks:
            return None
        hook = self._hooks.pop(fullname)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_call(module: ModuleType) -> None:
                load(module)
                hook(module)

            spec.loader.exec_module = load_and_call  # type: ignore[method-assign]
        return spec
