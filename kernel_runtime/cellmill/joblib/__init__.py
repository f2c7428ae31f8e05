"""joblib on Cellmill's workers: `joblib.Parallel`, and ``n_jobs`` of scikit-learn and others that use it.

::

    import cellmill.joblib

    with joblib.parallel_config(backend="cellmill"):
        GridSearchCV(model, grid).fit(X, y)

Importing it registers the backend "cellmill". Options of `joblib.parallel_config`: ``executor`` (a
`cellmill.Executor`; the default one if not given) and ``inner_max_num_threads``. Where ``n_jobs`` is not given, every
worker is used.
"""

from __future__ import annotations

from joblib import register_parallel_backend

from .backend import CellmillBackend

__all__ = ["CellmillBackend", "register"]


def register(*, default: bool = False) -> None:
    """Register the backend "cellmill"; with ``default`` joblib also uses it where no other is named."""
    register_parallel_backend("cellmill", CellmillBackend, make_default=default)


register()
