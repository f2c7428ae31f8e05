"""Nothing of ours can be reached by a name or a port, and a worker can write to its own memory only."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cellmill import Executor
from cellmill.backends.local import zygote_client
from tests.support import tasks
from tests.support.helpers import SECONDS, shared_maps

numpy = pytest.importorskip("numpy")

O_CLOEXEC = os.O_CLOEXEC
NAMED = ("/dev/shm", "/dev/mqueue")  # where shared memory would have a name


class Used:
    """A pool with payloads in all memory, and in files of this folder what its few megabytes do not hold."""

    def __init__(self, executor: Executor, folder: Path) -> None:
        executor.run_on_workers(int)
        self.executor, self.folder = executor, folder
        self.names_before = self.names()
        self.kept = fill(executor)
        found = {f"worker {w.index}": w.pid for w in executor.workers()}
        self.processes = {"kernel": os.getpid(), "zygote": zygote_client.shared().process.pid, **found}

    def names(self) -> set[str]:
        folders = [Path(folder) for folder in (*NAMED, self.folder) if Path(folder).is_dir()]
        return {str(path) for folder in folders for path in folder.iterdir() if "cellmill" in path.name}


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    folder = tmp_path_factory.mktemp("private")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        with Executor(2, memory=4 << 20) as executor:
            yield Used(executor, folder)


def fill(executor: Executor) -> list[object]:
    """Results and arguments large enough for memory and file of the kernel and of both workers."""
    held = [executor.submit(tasks.array_and_pid, 3 << 20) for _ in range(6)]
    sums = [executor.submit(tasks.total_size, [numpy.ones(400_000)] * 1, None) for _ in range(4)]
    assert all(f.result(SECONDS) == 400_000 for f in sums)
    return [f.result(SECONDS) for f in held]


def descriptors(pid: int) -> dict[int, str]:
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            continue
    return found


def test_no_port(used: Used) -> None:
    """All sockets of zygote and workers are unnamed pairs; the kernel gets none but those."""
    unix = {}
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        row = line.split(None, 7)
        unix[f"socket:[{row[6]}]"] = row[7] if len(row) == 8 else ""
    internet = {
        f"socket:[{line.split()[9]}]"
        for name in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6", "udplite")
        if Path(f"/proc/net/{name}").exists()
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    }
    for who, pid in used.processes.items():
        sockets = {name for name in descriptors(pid).values() if name.startswith("socket:")}
        assert sockets or who == "kernel"
        assert not sockets & internet, who
        if who != "kernel":  # the test runner may have sockets of its own
            assert {unix.get(name, "") for name in sockets} == {""}, who


def test_no_name_anywhere(used: Used) -> None:
    assert not used.names() - used.names_before
    assert not list(used.folder.iterdir())
    files = [d for pid in used.processes.values() for d in descriptors(pid).values() if str(used.folder) in d]
    assert files
    assert all(name.endswith(" (deleted)") for name in files)


def test_modes_and_links(used: Used) -> None:
    found = set()
    for pid in used.processes.values():
        for fd, name in descriptors(pid).items():
            if str(used.folder) in name or "memfd:cellmill" in name:
                about = os.stat(f"/proc/{pid}/fd/{fd}")
                found.add(("file" if str(used.folder) in name else "memory", stat.S_IMODE(about.st_mode)))
                assert about.st_nlink == 0
                assert about.st_uid == os.getuid()
    assert found == {("file", 0o600), ("memory", 0o400)}


def test_descriptors_are_close_on_exec(used: Used) -> None:
    for who, pid in used.processes.items():
        for fd, name in descriptors(pid).items():
            ours = "cellmill" in name or name.startswith("anon_inode:") or who != "kernel"
            if fd > 2 and ours:
                flags = Path(f"/proc/{pid}/fdinfo/{fd}").read_text().split("flags:")[1].split()[0]
                assert int(flags, 8) & O_CLOEXEC, f"{who}: {name}"


def is_written(protection: str) -> bool:
    """Whether what is written there reaches others: others' memory is mapped to be copied page by page."""
    return "w" in protection and protection[3] == "s"


def test_a_worker_writes_its_own_memory_only(used: Used) -> None:
    writable: dict[str, set[int]] = {}
    for who, pid in used.processes.items():
        maps = shared_maps(pid)
        writable[who] = {inode for protection, inode, _ in maps if is_written(protection)}
        assert not any("x" in protection for protection, _, _ in maps)
        if who.startswith("worker"):
            names = sorted(name.split()[0] for protection, _, name in maps if is_written(protection))
            assert names == ["/memfd:cellmill-arena", "/memfd:cellmill-segment"]
            assert (
                sum(not is_written(protection) for protection, _, _ in maps) >= 2
            )  # the kernel's, the other's
    workers = [inodes for who, inodes in writable.items() if who.startswith("worker")]
    assert len(workers) == 2
    assert not workers[0] & workers[1]
    assert not writable["zygote"]
    arenas = {i for _, i, name in shared_maps(os.getpid()) if "arena" in name} & writable["kernel"]
    assert not arenas & (workers[0] | workers[1])


def attack() -> tuple[list[str], int]:
    """What a hostile task can do to memory that is not its own, with all that it holds; how much of it there is."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    rows = [line.split(None, 5) for line in Path("/proc/self/maps").read_text().splitlines()]
    ours = [row for row in rows if len(row) == 6 and (row[1][3] == "s" or "memfd:cellmill" in row[5])]
    own = {int(row[4]) for row in ours if "w" in row[1] and row[1][3] == "s"}
    others = [row for row in ours if int(row[4]) not in own]
    ways = []
    for row in others:
        if row[1][3] == "p":  # what is written there is a copy
            continue
        start = int(row[0].split("-")[0], 16)
        if libc.mprotect(start, 4096, mmap.PROT_READ | mmap.PROT_WRITE) == 0:
            ways.append(f"mprotect {row[5]}")
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            about = os.fstat(fd := int(name))
            if fd > 2 and stat.S_ISREG(about.st_mode) and about.st_nlink == 0 and about.st_ino not in own:
                ways.append(f"descriptor {fd} of {os.readlink(f'/proc/self/fd/{fd}')}")
    return ways, len(others)


def test_a_hostile_worker(used: Used) -> None:
    for ways, others in used.executor.run_on_workers(attack):
        assert not ways  # no mapping can be made writable, and there is no descriptor to map anew
        assert others >= 2  # the kernel's arena, the other worker's
    assert used.executor.submit(tasks.double, 1).result(SECONDS) == 2
