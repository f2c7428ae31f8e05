"""`apply` and `map` of pandas with calls of the function run by Cellmill's workers.

::

    import cellmill.pandas

    frame.parallel.apply(score, axis=1)
    frame["smiles"].parallel.map(weight)
    frame.groupby("batch").parallel.apply(fit)

Importing it adds the accessor ``parallel`` to frames, series and groups. Results, index and errors are those of the
same call without ``.parallel``: pandas itself puts the values together.
"""

from __future__ import annotations

from pandas.api.extensions import register_dataframe_accessor, register_series_accessor
from pandas.api.typing import DataFrameGroupBy, SeriesGroupBy

from .accessors import ParallelFrame, ParallelGroups, ParallelSeries

__all__ = ["ParallelFrame", "ParallelGroups", "ParallelSeries"]

register_dataframe_accessor("parallel")(ParallelFrame)
register_series_accessor("parallel")(ParallelSeries)
for _kind in (DataFrameGroupBy, SeriesGroupBy):
    _kind.parallel = property(ParallelGroups)  # pandas has no accessors of groups
