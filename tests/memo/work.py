"""How tests here make functions whose results are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cellmill
from cellmill import Executor


def memo(function: Callable[..., Any], ex: Executor, **options: Any) -> Any:
    return cellmill.parallel(executor=ex, **{"memo": True, **options})(function)
