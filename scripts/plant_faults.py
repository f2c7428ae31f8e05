"""Plant faults in the code, one at a time, and print which tests find them.

``python scripts/plant_faults.py [NAME...]``: each fault replaces one piece of text in one file; the tests of its room
run, and the file is put back. A fault that no test finds shows a test that is missing. The exit status is 1 when one
survived. The tree must have no uncommitted changes, so that nothing of them can be lost. Takes minutes.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
CELLMILL = "kernel_runtime/cellmill"
LIMIT_S = 400  # a fault may make tests hang


@dataclass(frozen=True, slots=True)
class Fault:
    """``old`` occurs once in ``path``; ``tests``: paths for pytest, names of C tests, or none for TypeScript."""

    path: str
    old: str
    new: str
    tests: str = ""

    @property
    def commands(self) -> list[list[str]]:
        """What would find it, one command after another."""
        names = self.tests.split()
        if self.path.endswith(".ts"):
            return [[str(BIN / "jlpm"), "run", "test"]]
        if self.path.endswith(".py"):
            return [[str(BIN / "python"), "-m", "pytest", "-q", "-x", "-m", "not long", *names]]
        programs = [f"../build/csched/asan/{name}" for name in names]
        return [
            ["make", "--no-print-directory", "-C", "csched", "-j2", *programs],
            ["csched/tests/run.sh", *(f"build/csched/asan/{name}" for name in names)],
        ]


FAULTS = {
    # the scheduler
    "ready-order": Fault(
        "csched/src/ready.c",
        "link_task(graph, slot, queue, NO_TASK);",
        "link_task(graph, slot, queue, ready->queues[queue].head);",
        "test_ready test_dispatch",
    ),
    "ring-padding": Fault(
        "csched/src/ring.c", "if (available < bytes + padding)", "if (available < bytes)", "test_ring"
    ),
    "retry-count": Fault(
        "csched/src/task.c", "task->attempt < task->retries;", "task->attempt <= task->retries;", "test_drain"
    ),
    "dependents-of-failed": Fault(
        "csched/src/task.c",
        "if (!has_value(from->status) || task_input",
        "if ((!has_value(from->status) && position > 1) || task_input",
        "test_dag test_drain",
    ),
    "cancel-waiting": Fault(
        "csched/src/cancel.c",
        "else if (task->state == TASK_WAITING || task->state == TASK_DELAYED)",
        "else if (task->state == TASK_WAITING)",
        "test_cancel test_drain",
    ),
    "resources-total": Fault(
        "csched/src/resources.c",
        "if (wanted > resource->total)",
        "if (wanted > resource->total + 1)",
        "test_resources test_allocations",
    ),
    "warm-inputs": Fault(
        "csched/src/policy_least_loaded.c",
        "(i == warm.at ? 0 : elsewhere)",
        "(i == warm.at ? elsewhere : 0)",
        "test_policy",
    ),
    "map-wraps": Fault(
        "csched/src/state_map.h",
        "uint32_t gone = age > MAP_POSITIONS ? age - MAP_POSITIONS : 0;",
        "uint32_t gone = age > 2 * MAP_POSITIONS ? age - MAP_POSITIONS : 0;",
        "test_state_map",
    ),
    "journey-position": Fault(
        "csched/src/journey.c",
        "row->position = task->first + element;",
        "row->position = task->first;",
        "test_journey test_timeline test_drain",
    ),
    # the backends
    "gate-closed": Fault(
        f"{CELLMILL}/backends/scheduled/gate.py",
        "if self.closed or self.broken is not None:",
        "if self.broken is not None:",
        "tests/backends tests/executor/test_submit.py",
    ),
    "settled-inputs": Fault(
        f"{CELLMILL}/backends/scheduled/resolver.py",
        "                        if entry._inputs:\n",
        "                        if False:\n",
        "tests/executor/test_dependencies.py tests/executor/test_futures.py",
    ),
    "output-before-results": Fault(
        f"{CELLMILL}/backends/scheduled/resolver.py",
        "            self._take_messages()\n            if not n:",
        "            if not n:",
        "tests/cell_output tests/executor/test_map.py",
    ),
    "chunk-sizes": Fault(
        f"{CELLMILL}/backends/scheduled/sizes.py",
        "share = max(_share(remaining, self._workers), self._least)",
        "share = max(1, self._least)",
        "tests/executor tests/backends",
    ),
    "states-of-elements": Fault(
        f"{CELLMILL}/backends/scheduled/chunks.py",
        "        if end > first:\n            self.stream.host.states.put(",
        "        if end > first + 1:\n            self.stream.host.states.put(",
        "tests/telemetry/test_state_map.py",
    ),
    "salvage": Fault(
        f"{CELLMILL}/backends/scheduled/salvage.py",
        "            todo.extend(current.keys())\n",
        "",
        "tests/backends/test_parts.py",
    ),
    "cancelled-by": Fault(
        f"{CELLMILL}/backends/scheduled/cancellations.py",
        "self._records.append((run, after, last, who(default)))",
        "self._records.append((run, after, last, default))",
        "tests/contract/test_cancelled.py",
    ),
    "failures-bounded": Fault(
        f"{CELLMILL}/backends/scheduled/failure_log.py",
        "while len(self._latest) > MOST_FAILURES or self._bytes > MOST_BYTES:",
        "while False:",
        "tests/executor/test_single_tasks.py",
    ),
    "withdrawn": Fault(
        f"{CELLMILL}/backends/cluster/rebalancing.py",
        "if lane is None or lane.runs(ticket):",
        "if True:",
        "tests/cluster/test_lanes.py",
    ),
    # what travels
    "functions-renewed": Fault(
        f"{CELLMILL}/serialization/functions.py",
        "if entry is not None and entry.fresh():",
        "if entry is not None:",
        "tests/by_value/test_functions.py",
    ),
    "file-of-code": Fault(
        f"{CELLMILL}/by_value/pickling.py",
        "if kind is CodeType:",
        "if False:",
        "tests/by_value/test_functions.py tests/diagnostics/test_tracebacks.py",
    ),
    "captured-changes": Fault(
        f"{CELLMILL}/by_value/capture.py",
        "return None if first < 0 else self.names[first]",
        "return None",
        "tests/by_value/test_functions.py tests/contract/test_captured.py",
    ),
    "changes-said": Fault(
        f"{CELLMILL}/by_value/watched.py",
        "return set(all_changed(self._walk, self._capture.changed(), self._said))",
        "return set()",
        "tests/by_value/test_first_calls.py",
    ),
    "context-path": Fault(
        f"{CELLMILL}/process_context/context.py",
        "sys.path[:] = context.path",
        "pass",
        "tests/process_context/test_context.py",
    ),
    "full-blocks": Fault(
        f"{CELLMILL}/worker_process/blocks.py",
        "if rc in (_EFULL, _ETOOBIG):",
        "if rc == _EFULL:",
        "tests/worker_process/test_memory_limits.py tests/serialization/test_payloads.py",
    ),
    # what is shown
    "progress-cancelled": Fault(
        f"{CELLMILL}/telemetry/progress.py",
        "done - (sample.cancelled - start.cancelled), queued",
        "done, queued",
        "tests/telemetry",
    ),
    "time-left-late": Fault(
        f"{CELLMILL}/telemetry/time_left.py",
        "return (self.spent + sum(late)) / (self.ended + len(late))",
        "return mean",
        "tests/telemetry/test_time_left.py",
    ),
    "forecast-ready": Fault(
        f"{CELLMILL}/telemetry/forecast.py",
        "if not missing[free]:",
        "if True:",
        "tests/telemetry/test_forecast.py",
    ),
    "printed-lines": Fault(
        f"{CELLMILL}/cell_output/printed.py",
        "at = self._open.pop((who, number), None)",
        "at = None",
        "tests/cell_output tests/widgets/test_printed.py",
    ),
    "loop-items": Fault(
        f"{CELLMILL}/magics/harvest.py",
        "yield (LAST, item) if mark_last and is_last else item",
        "yield item",
        "tests/magics/test_pfor.py tests/magics/test_pfor_ends.py tests/magics/test_pfor_effects.py",
    ),
    "run-of-a-cell": Fault(
        f"{CELLMILL}/run_registry.py",
        "self.epoch = cell.epoch  #",
        "self.epoch = 0  #",
        "tests/magics/test_stop.py tests/magics/test_waiting.py",
    ),
    "account-shares": Fault(
        f"{CELLMILL}/telemetry/account.py",
        "whole = self.busy + self.overhead + self.idle\n        if whole",
        "whole = self.busy + self.overhead\n        if whole",
        "tests/telemetry/test_account.py",
    ),
    # the panel
    "history-order": Fault(
        "labextension/src/model/history.ts", "point => point.time > last", "point => point.time >= 0"
    ),
    "packbits": Fault(
        "labextension/src/model/stateMap.ts", "Math.min(257 - head, room)", "Math.min(256 - head, room)"
    ),
    "percent": Fault("labextension/src/view/format.ts", "Math.floor((100 * part)", "Math.ceil((100 * part)"),
    "parsed-numbers": Fault(
        "labextension/src/protocol/parse.ts",
        "typeof value !== 'number' || !Number.isFinite(value)",
        "typeof value !== 'number'",
    ),
    "restarted-kernel": Fault(
        "labextension/src/model/kernelModel.ts",
        "    this._snapshot = null;\n    this._points = [];\n",
        "    this._points = [];\n",
    ),
}


def found_by(fault: Fault) -> str | None:
    """Plant the fault; the first failing test or step that its tests show, None: they pass. The file is put back."""
    path = ROOT / fault.path
    text = path.read_text()
    if text.count(fault.old) != 1:
        raise SystemExit(f"{fault.path} has {text.count(fault.old)} times, not once: {fault.old!r}")
    path.write_text(text.replace(fault.old, fault.new))
    try:
        for command in fault.commands:
            try:
                done = subprocess.run(
                    command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False
                )
            except subprocess.TimeoutExpired:
                return f"no end within {LIMIT_S} s"
            if done.returncode:
                return _first_failure(done.stdout + done.stderr)
    finally:
        path.write_text(text)
    return None


def _first_failure(output: str) -> str:
    marks = ("FAILED tests", "ERROR tests", "not ok", "FAIL", "✖", "error:")
    lines = [line.strip() for line in output.splitlines()]
    found = next(
        (
            line
            for mark in marks
            for line in lines
            if line.startswith(mark) or (mark == "error:" and mark in line)
        ),
        "",
    )
    return (found or lines[-1] if lines else "it failed")[:110]


def main(names: list[str]) -> int:
    unknown = set(names) - set(FAULTS)
    if unknown:
        print(f"unknown: {', '.join(sorted(unknown))}; there are: {', '.join(FAULTS)}", file=sys.stderr)
        return 2
    if subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT, check=False).returncode:
        print(
            "commit your changes first: planted faults are taken back by writing the files anew",
            file=sys.stderr,
        )
        return 2
    survived = 0
    for name in names or FAULTS:
        start = time.monotonic()
        found = found_by(FAULTS[name])
        survived += found is None
        print(f"{name:<24} {time.monotonic() - start:5.0f} s  {found or 'SURVIVED'}", flush=True)
    print(f"{len(names or FAULTS) - survived} found, {survived} survived")
    return 1 if survived else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
