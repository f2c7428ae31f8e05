"""What an object reference of Ray stands for, where a task that has it as an argument begins."""

from __future__ import annotations

from typing import Any

from ....errors import DependencyError, in_words

LOOK_SECONDS = 0.1  # between chances for an interrupt


def ray_object(binary: bytes, owner: bytes, status: bytes) -> Any:
    """Return the object; wait until there is one.

    Raises:
        DependencyError: there will be none.
    """
    import ray
    from ray._private.serialization import _object_ref_deserializer

    reference = _object_ref_deserializer(binary, "", owner, status, None)
    while not ray.wait([reference], timeout=LOOK_SECONDS)[0]:
        pass
    try:
        return ray.get(reference)
    except Exception as error:
        cause = getattr(error, "cause", None)
        reason = cause if isinstance(cause, BaseException) else error
        raise DependencyError(
            f"the task did not run: its input, Ray's {reference.hex()}, failed with {in_words(reason)}"
        ) from reason
