"""What a call with futures among its arguments costs for each of them."""

from __future__ import annotations

from cellmill import Executor
from cellmill.backends.scheduled.call_encoding import Inputs, note_over
from tests.support import tasks
from tests.support.helpers import SECONDS


def test_inputs_that_are_over_are_added_in_place(pool: Executor) -> None:
    """Thousands of them are not copied for each."""
    futures = [pool.submit(tasks.double, i) for i in range(1000)]
    assert [f.result(SECONDS) for f in futures] == [2 * i for i in range(1000)]
    inputs = Inputs()
    note_over(futures[0], inputs)
    first = inputs.over
    for future in futures[1:]:
        note_over(future, inputs)
    assert inputs.over is first
    assert inputs.over == [future._ticket for future in futures]
    assert pool.submit(sum, futures).result(SECONDS) == 999 * 1000
