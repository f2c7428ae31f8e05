"""The compiled module, made by csched/build.py."""

from typing import Any

ffi: Any
lib: Any
