"""TaPS, the Task Performance Suite, on Cellmill's workers: its executor plug-in ``cellmill``.

To import this module registers it. ``python -m cellmill.taps`` is TaPS's own command with the plug-in registered::

    python -m cellmill.taps --app cholesky --app.matrix-size 2000 --app.block-size 200 \
        --engine.executor cellmill --engine.executor.max-workers 4
"""

from __future__ import annotations

import importlib.util

if not importlib.util.find_spec("taps") or not importlib.util.find_spec("taps.engine"):
    raise ImportError(
        "TaPS is not installed: pip install 'taps @ git+https://github.com/proxystore/taps'. The package that PyPI has "
        "under this name is another one."
    )

from .executor import CellmillConfig

__all__ = ["CellmillConfig"]
