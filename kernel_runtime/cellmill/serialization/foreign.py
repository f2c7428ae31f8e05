"""Futures and collections of Dask, and object references of Ray, among the arguments of calls: what they stand for is
an input of the task, which the worker gets by itself.
"""

from __future__ import annotations

import copyreg
import sys
from typing import Any

from . import payload

# Modules with such classes, and those classes: looked for once a module is imported.
_CLASSES = {
    "distributed.client": ("Future",),
    "dask.delayed": ("Delayed", "DelayedLeaf", "DelayedAttr"),
    "dask.bag.core": ("Bag", "Item"),
    "dask.array.core": ("Array",),
    "dask.dataframe.dask_expr._collection": ("DataFrame", "Series", "Index", "Scalar"),
    "ray._raylet": ("ObjectRef",),
    "ray.util.client.common": ("ClientObjectRef",),
}
_pending = set(_CLASSES)


def look() -> None:
    """Find the classes of modules that were imported since the last look. Their objects are pickled as ever, except as
    parts of calls.
    """
    for name in [name for name in _pending if name in sys.modules]:
        _pending.discard(name)
        for each in _CLASSES[name]:
            kind = getattr(sys.modules[name], each, None)
            if isinstance(kind, type) and kind not in copyreg.dispatch_table:
                copyreg.pickle(kind, _reduce)


def _reduce(thing: Any) -> Any:
    taken = payload.inputs.foreign
    return thing.__reduce_ex__(5) if taken is None else taken(thing)


def is_of_ray(thing: Any) -> bool:
    """Whether such an object is Ray's; the others are Dask's."""
    return type(thing).__module__.partition(".")[0] == "ray"
