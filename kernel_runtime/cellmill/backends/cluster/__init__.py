"""Workers that a cluster starts and reaches: the scheduler stays in the kernel.

`engines/` are the clusters: `protocol.py` says what is asked of one, and there is one file per engine.

In the kernel: `pool.py` has the lanes that the scheduler sees as its workers; each remote worker has a `lane.py`,
which begins with `handshake.py`. `packs_in_flight.py` and `tasks_in_flight.py` know what was sent; `rebalancing.py`
has tasks come back, `retiring.py` ends lanes, `demand.py` tells the cluster what waits, `modules.py` sends the user's
own modules and `shipping.py` folders of packages, `output.py` hears what tasks print, `measuring.py` asks what remote
workers use, `profiling.py` what they execute, `dashboard.py` finds the cluster's own dashboard, `diagnostics.py` says
what goes wrong.

At the other end, in `remote/`: engines call `entry.py`; a `runner.py` runs packs (`work.py`, `functions.py`) with the
settings of its caller (`context.py`), and gathers what is printed (`output.py`); `modules.py` has the caller's
modules there (`sent_modules.py`, `shipped.py`) while packs run; `measure.py` (for Dask by `heartbeat.py`) tells what
the process uses, `profiler.py` samples its tasks.

`left/` leaves results of maps on a cluster for kernels that come later.

Between them: `pack.py` is the bytes, `page.py` tells what runs, `clocks.py` aligns stamps; `values/` keeps large
values outside.
"""
