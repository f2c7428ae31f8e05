"""Object references of Ray among the arguments of tasks on the same cluster."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from ....serialization.foreign import is_of_ray
from ....serialization.shared import ShareError
from ..remote.ray_input import ray_object
from .protocol import Reference


def refer(cluster: str, where: str, thing: Any) -> Reference | None:
    """See `Engine.refer`. ``cluster``: what `identity` says in a process that is connected to it."""
    if not is_of_ray(thing):
        return None
    ray = sys.modules["ray"]
    if not isinstance(thing, ray.ObjectRef) or "client" in type(thing).__module__:
        raise ShareError(
            "an argument is a reference of Ray's client, which only that client can resolve. Pass its value, "
            "ray.get(...), or connect this notebook to the cluster itself: ray.init(address=...) on one of its nodes."
        )
    if not cluster or identity(ray) != cluster:
        raise ShareError(
            f"an argument is an ObjectRef of another Ray than {where}, where these tasks run. Pass its value, "
            "ray.get(...), or have the task run where the object is: Executor(backend='ray') after ray.init(...) uses "
            "the cluster that this notebook is connected to."
        )
    worker = ray._private.worker.global_worker
    reference, owner, status = worker.core_worker.serialize_object_ref(thing)
    return (ray_object, (reference.binary(), owner, status)), thing


def identity(ray: Any) -> str:
    """Return what names the cluster that this process is connected to, whatever way it takes; "" for none."""
    with contextlib.suppress(Exception):  # one that is not connected, or by Ray's client
        return str(ray._private.worker.global_worker.gcs_client.cluster_id)
    return ""
