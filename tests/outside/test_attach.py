"""Another process is watched, paused and cancelled, also while it computes and none of its threads gets its turn."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

import cellmill
from tests.outside.conftest import Start
from tests.support.helpers import SECONDS
from tests.support.waiting import until

BUSY = """
ex = cellmill.Executor(2)
waits = [ex.submit(hold, 0) for _ in range(2)]
while ex.stats().running < 2:
    time.sleep(0.01)
many = ex.map(quick, range(300), chunksize=1, prefetch=300)
print("begun", flush=True)
{until}(sys.argv[1])
try:
    print(list(many))
except BaseException as error:
    print(type(error).__name__, error)
print([wait.cancel(force=True) for wait in waits])
"""


def test_answers_within_300_ms_while_the_kernel_computes(watched: Start, tmp_path: Path) -> None:
    program = watched(BUSY.format(until="computes_until"))
    with cellmill.attach(program.pid) as kernel:
        until(lambda: kernel.runs())
        took = []
        for _ in range(20):
            began = time.monotonic()
            stats = kernel.stats()
            took.append(time.monotonic() - began)
            assert (stats["running"], stats["succeeded"], stats["paused"]) == (2, 0, False)
        assert sorted(took)[-3] < 0.3  # this machine may be busy with others
        (run,) = kernel.runs()
        assert (run["name"], run["total"], run["finished"]) == ("quick", 300, False)
        assert [row["function"] for row in kernel.workers()] == ["hold", "hold"]
        began = time.monotonic()
        kernel.pause()
        assert time.monotonic() - began < 0.5
        assert kernel.stats()["paused"]
        kernel.resume()
        assert not kernel.stats()["paused"]
        assert kernel.cancel(run["id"]) > 0
        assert kernel.stats()["cancelled"] > 0
        assert program.poll() is None
        with pytest.raises(cellmill.CellmillError, match="there is no run 99"):
            kernel.cancel(99)
        (tmp_path / "done").touch()
        out, _ = program.communicate(timeout=SECONDS)
    assert "CancelledError quick(" in out
    assert "was cancelled by cancel() from another process: 0 of 300 elements were done" in out


def test_by_whom_is_known_before_this_process_has_heard(watched: Start, tmp_path: Path) -> None:
    """The scheduler has heeded the word, and the thread that hears it here has not had its turn."""
    program = watched(f"""
import threading
from cellmill.outside.serving import Serving
read, do = threading.Event(), Serving._do

def late(self, message):
    if not message["do"].startswith("tell"):
        read.wait()
    do(self, message)

def waits_until(path):
    while not os.path.exists(path):
        time.sleep(0.01)

Serving._do = late
{BUSY.format(until="waits_until")}
read.set()
""")
    with cellmill.attach(program.pid) as kernel:
        until(lambda: kernel.runs())
        assert kernel.cancel(kernel.runs()[0]["id"]) > 0
        (tmp_path / "done").touch()
        out, _ = program.communicate(timeout=SECONDS)
    assert "was cancelled by cancel() from another process: 0 of 300 elements were done" in out


def test_what_runs_is_interrupted_and_the_executor_says_paused(watched: Start) -> None:
    program = watched("""
ex = cellmill.Executor(2)
ex.submit(quick, 0).result()
print("ready", flush=True)
sys.stdin.readline()
print(ex.paused, flush=True)
sys.stdin.readline()
try:
    list(ex.map(hold, range(2), chunksize=1))
except BaseException as error:
    print(type(error).__name__, error, ex.paused)
""")
    assert program.stdin is not None
    assert program.stdout is not None
    with cellmill.attach(program.pid) as kernel:
        kernel.pause()
        program.stdin.write("\n")
        program.stdin.flush()
        assert program.stdout.readline() == "True\n"
        kernel.resume()
        program.stdin.write("\n")
        program.stdin.flush()
        until(lambda: kernel.stats()["running"] == 2)
        (row, _) = kernel.workers()
        assert row["pid"] in kernel_children(program.pid)
        until(lambda: [each["arguments"] for each in kernel.workers()] == ["0", "1"])
        kernel.cancel()
        out, _ = program.communicate(timeout=SECONDS)
    assert out.startswith("CancelledError hold(")
    assert out.endswith("False\n")


def kernel_children(pid: int) -> list[int]:
    from cellmill.process_context.process_tree import descendants

    return descendants(pid)


def test_runs_that_are_over_and_journeys_are_the_kernels(watched: Start) -> None:
    program = watched("""
ex = cellmill.Executor(2)
list(ex.map(quick, range(40), chunksize=1))
print([(run.id, run.name, run.succeeded) for run in cellmill.runs()], flush=True)
print(len(list(ex.map(quick, range(7), chunksize=1))), flush=True)
sys.stdin.readline()
""")
    assert program.stdout is not None
    program.stdout.readline()
    with cellmill.attach() as kernel:  # the only one
        assert kernel.pid == program.pid
        until(lambda: len(kernel.runs()) == 2)
        first, second = kernel.runs()
        assert (first["name"], first["succeeded"], first["finished"]) == ("quick", 40, True)
        assert (second["succeeded"], second["finished"]) == (7, True)
        assert "quick" in repr(kernel.runs())
        assert "<td>quick</td>" in kernel.runs()._repr_html_()
        journeys = kernel.journeys(20)
        assert len(journeys) == 20
        assert {row["status"] for row in journeys} == {"done"}
        assert {row["function"] for row in journeys} == {"quick"}
        assert all(row["submitted"] <= row["started"] <= row["finished"] for row in journeys)


def test_several_kernels_and_what_is_left_behind(watched: Start, folder: Path) -> None:
    code = "ex = cellmill.Executor(1)\nprint('ready', flush=True)\nsys.stdin.readline()\n"
    one, two = watched(code), watched(code)
    with cellmill.attach(one.pid) as first, cellmill.attach(two.pid) as second:
        assert first.look()["pid"] == one.pid
        assert second.look()["pid"] == two.pid
        with pytest.raises(cellmill.CellmillError, match="which one of these: "):
            cellmill.attach()
        one.kill()  # its server ends with it, and takes its socket along
        until(lambda: len(list(folder.glob("*.ipc"))) == 1)
        with pytest.raises(cellmill.CellmillError, match="has ended, or is not watched any more"):
            first.stats()
        (server,) = [pid for pid in kernel_children(two.pid) if "outside.server" in command(pid)]
        os.kill(server, 9)  # this leaves its socket behind
        until(lambda: not Path(f"/proc/{server}").exists())
        assert len(list(folder.glob("*.json"))) == 1
        with pytest.raises(cellmill.CellmillError, match="cannot be watched: %cellmill serve"):
            cellmill.attach(two.pid)
        assert not list(folder.iterdir())


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_stops_and_serves_again(folder: Path, fresh: cellmill.Executor) -> None:
    for _ in range(2):
        serving = cellmill.serve()
        assert cellmill.serve() is serving
        with cellmill.attach(os.getpid()) as here:
            assert len(here.look()["executors"]) >= 1
        assert oct(folder.stat().st_mode)[-3:] == "700"
        serving.stop()
        assert not list(folder.iterdir())
    with pytest.raises(cellmill.CellmillError, match="cannot be watched"):
        cellmill.attach(os.getpid())


def test_directories_of_others_are_refused(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    with pytest.raises(cellmill.CellmillError, match="is open to other users: chmod 700"):
        cellmill.serve()
    with pytest.raises(cellmill.CellmillError, match="is open to other users"):
        cellmill.attach(os.getpid())
    folder.chmod(0o700)
    if os.getuid() == 0:
        os.chown(folder, 4711, 4711)
        with pytest.raises(cellmill.CellmillError, match="belongs to another user"):
            cellmill.serve()
        os.chown(folder, 0, 0)
    folder.rmdir()
    folder.symlink_to("/tmp")
    with pytest.raises(cellmill.CellmillError, match="is no directory"):
        cellmill.serve()


@pytest.mark.parametrize("wrong", [0, -1, True, "1", 1.5])
def test_ids_that_are_none(wrong: object) -> None:
    with pytest.raises(cellmill.UsageError, match="takes the id of a process"):
        cellmill.attach(wrong)  # type: ignore[arg-type]


def test_processes_that_are_not_there_and_those_of_others(folder: Path) -> None:
    with pytest.raises(cellmill.CellmillError, match="there is no process 4194305"):
        cellmill.attach(4194305)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (b"", "no request"),
        (b"[]", "no request"),
        (b'{"do": "explode", "version": 1}', "no request"),
        (b'{"do": "look", "version": 2}', "speaks version 1"),
        (b'{"do": "cancel", "version": 1, "run": "all"}', "run is a whole number"),
        (b'{"do": "pause", "version": 1, "executor": 99}', "there is no executor 99"),
    ],
)
def test_requests_of_strangers(shown: Path, request_: bytes, said: str) -> None:
    zmq = pytest.importorskip("zmq")
    with zmq.Context() as context, context.socket(zmq.REQ) as stranger:
        stranger.linger = 0
        stranger.connect(f"ipc://{shown}")
        stranger.send(request_)
        assert stranger.poll(5000)
        assert said in json.loads(stranger.recv())["error"]


@pytest.fixture(scope="module")
def shown() -> object:
    """The socket of this process."""
    serving = cellmill.serve()
    yield serving.socket
    serving.stop()


def test_the_setting_serves_a_program_and_a_forked_child_lets_it_be(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.helpers import run_script

    monkeypatch.setenv("CELLMILL_SERVE", "1")
    out, err = run_script(
        tmp_path,
        """
        import os, cellmill
        with cellmill.Executor(1) as ex:
            child = os.fork()
            if not child:
                os._exit(0)
            os.waitpid(child, 0)
            with cellmill.attach(os.getpid()) as here:
                print(here.stats()["executors"])
        """,
    )
    assert (out, err) == ("1\n", "")
    assert not list(folder.iterdir())


def test_what_rests_is_told_as_the_kernel_tells_it(watched: Start) -> None:
    """Calls that were over after the next cell had begun, calls of the present one, and an executor that has ended."""
    program = watched("""
from cellmill import run_registry
with cellmill.Executor(1) as before:
    list(before.map(quick, range(3)))
ex = cellmill.Executor(1)
cellmill.set_default_executor(ex)
earlier, present = cellmill.parallel(quick), cellmill.parallel(lambda x: x)
run_registry.bump_epoch("In[1]")
ex.pause()
first = earlier(1)
run_registry.bump_epoch("In[2]")
ex.resume()
first.result()
present(2).result()
ex._backend.settle(0)
ex.pause()
print("begun", flush=True)
print(cellmill.runs()[-1].wall, flush=True)
time.sleep(600)
""")
    with cellmill.attach(program.pid) as kernel:
        until(lambda: all(run["id"] for run in kernel.runs()))
        assert kernel.stats()["paused"]
        runs = list(kernel.runs())
        assert [(run["cell"], run["finished"]) for run in runs] == [
            ("", True),
            ("In[1]", True),
            ("In[2]", False),
        ]
        assert program.stdout is not None
        wall = float(program.stdout.readline())
        until(lambda: kernel.runs()[-1]["wall"] == wall)  # its last call is over: no time passes
