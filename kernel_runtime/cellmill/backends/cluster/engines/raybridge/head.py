"""A Ray of our own on this machine: its options, its start, and the end of everything it started."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import random
import re
import secrets
import shutil
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .....process_context.process_tree import descendants

LONGEST_FOLDER = 40  # characters; Ray adds 64 for its sockets, and the system takes 107
OWN_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing calls out
    "RAY_task_events_report_interval_ms": "0",  # journeys are ours; these cost time
    "RAY_enable_metrics_collection": "0",
    "RAY_event_stats": "0",
}
AGENT_PORTS = ("metrics_agent_port", "runtime_env_agent_port")
SERVERS = ("gcs_server", "raylet")
LEAST_PORT = 20_000  # Ray's workers take those below
INNER = "r"  # Ray's own folder in ours
END_SECONDS = 5.0
START_SECONDS = 120.0  # for a node to come up
GONE_SECONDS = 2.0  # without its process: it ended, or it is no program yet


def environment() -> dict[str, str]:
    """Return the environment variables for processes of an own Ray; those that the user has set are kept.

    Ray listens on the network, and any client may run code, so a token is asked for: one that no file has.
    """
    chosen = dict(OWN_ENVIRONMENT)
    if not any(name.startswith("RAY_AUTH") for name in os.environ):
        chosen |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    return {name: os.environ.get(name, value) for name, value in chosen.items()} | {
        "RAY_USAGE_STATS_ENABLED": "0"
    }


def folder(preferred: str) -> str:
    """A folder of this user alone for Ray's below this one, or below /tmp where its name would be too long."""
    import tempfile

    short = preferred if len(preferred) + len("/cellmill-ray-12345678") <= LONGEST_FOLDER else "/tmp"
    return tempfile.mkdtemp(prefix="cellmill-ray-", dir=short)


def object_store_bytes() -> int:
    """A tenth of the memory, at most 2 GiB and half of what shared memory has left: it is taken as it is used."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 10
    with contextlib.suppress(OSError):
        memory = min(memory, shutil.disk_usage("/dev/shm").free // 2)
    return int(min(max(memory, 80 << 20), 2 << 30))


def start(ray: Any, cpus: int, temporary: str, options: dict[str, Any]) -> Any:
    """`ray.init` of a new cluster, and its context; once more, from nothing, where its node dies or hangs as it
    starts.
    """
    try:
        return _init(ray, cpus, temporary, options)
    except NodeError:
        kill_below()
        remove(os.path.join(temporary, INNER))
        return _init(ray, cpus, temporary, options)


class NodeError(Exception):
    """The node of an own Ray did not come up."""


def _init(ray: Any, cpus: int, temporary: str, options: dict[str, Any]) -> Any:
    """Ray's helpers that would only watch are left out where this Ray lets us."""
    inner = os.path.join(temporary, INNER)  # Ray opens its folder to all users
    wanted = {
        "address": "local",
        "num_cpus": cpus,
        "include_dashboard": False,
        "log_to_driver": False,
        "configure_logging": False,
        "object_store_memory": object_store_bytes(),
        "_temp_dir": inner,
        "_metrics_export_port": free_ports(1)[0],
    } | options
    _adapt(Path(inner) / "session_latest", watched=bool(wanted["include_dashboard"]))
    return ray.init(**wanted)


def _adapt(session: Path, watched: bool) -> None:
    """Patch settings that `ray.init` does not offer. A Ray with other internals starts with its own defaults.

    Without a dashboard its helpers go too. A node gives up when its agents have not said within 15 s which ports they
    took, and when it has not come up within 30 s. A busy machine takes longer, so the ports are given.
    """
    from ray._private import node, parameter, services

    said: dict[str, Any] = dict(zip(AGENT_PORTS, free_ports(len(AGENT_PORTS)), strict=True))
    if not watched:
        said |= {"no_monitor": True, "include_log_monitor": False}
        with contextlib.suppress(AttributeError):
            node.Node.start_api_server = _no_dashboard
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        taken = inspect.signature(parameter.RayParams).parameters
        said = {name: value for name, value in said.items() if name in taken}
        parameter.RayParams = functools.partial(parameter.RayParams, **said)
    with contextlib.suppress(AttributeError):
        if not isinstance(services.get_node, functools.partial):  # or this is the second start
            services.get_node = functools.partial(_patiently, services.get_node, None if watched else session)


def _no_dashboard(node: Any, *_: Any, **__: Any) -> None:
    node._webui_url = ""


def free_ports(count: int) -> list[int]:
    """Ports without a listener now, and that no connection gets by chance before they are used."""
    try:
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        lowest = 0
    below = list(range(LEAST_PORT, lowest))
    random.SystemRandom().shuffle(below)
    with contextlib.ExitStack() as held:
        ends = [held.enter_context(socket.socket()) for _ in range(count)]
        for end in ends:
            _bind(end, below)
        return [int(end.getsockname()[1]) for end in ends]


def _bind(end: socket.socket, ports: list[int]) -> None:
    """Bind to one of the ports, or to any free one. Ports that were tried are removed from the list."""
    while ports:
        with contextlib.suppress(OSError):
            end.bind(("", ports.pop()))
            return
    end.bind(("", 0))


def _patiently(get_node: Callable[..., Any], session: Path | None, gcs_address: str, node_id: Any) -> Any:
    """Wait for the node to come up, and say for the dashboard's agent that it has no port."""
    if session is not None:
        port = session / f"dashboard_agent_listen_port_{node_id}"
        with contextlib.suppress(OSError), port.open("x") as file:
            file.write("-1")
    until = time.monotonic() + START_SECONDS
    seen = time.monotonic()
    while True:
        try:
            return get_node(gcs_address, node_id)
        except RuntimeError:
            now = time.monotonic()
            if _runs("raylet"):
                seen = now
            if now > until or now > seen + GONE_SECONDS:
                raise NodeError(
                    f"Ray's node did not come up within {START_SECONDS:.0f} s, or ended"
                ) from None
            time.sleep(0.1)


def _runs(program: str) -> bool:
    return any(_program_of(pid) == program and not _is_over(pid) for pid in descendants(os.getpid()))


def servers() -> list[int]:
    """The processes that an own Ray cannot be without: of each program the first, since what they start is for a
    moment a copy of them.
    """
    first: dict[str, int] = {}
    for pid in sorted(descendants(os.getpid()), key=_started):
        first.setdefault(_program_of(pid), pid)
    return [first[name] for name in SERVERS if name in first]


def ended(pid: int) -> bool:
    """Whether one of the servers is no more: only its parent, this process, can have let go of it."""
    return _is_over(pid)


def complaint(path: str) -> str:
    """Return what a server logged when it gave up; "" when it was killed."""
    for name in SERVERS:
        for log in Path(path).glob(f"{INNER}/session_*/logs/{name}.err"):
            with contextlib.suppress(OSError):
                for line in log.read_text(errors="replace").splitlines():
                    if found := re.search(r" C \d+ \d+\] \(\w+\) [\w.]+:\d+: +(.*)", line):
                        return f"{name}: {found[1][-400:]}"
    return ""


def remove(path: str) -> None:
    """A folder of Ray's, which may still be written to for a moment."""
    for _ in range(20):
        if not path or not os.path.isdir(path):
            return
        shutil.rmtree(path, ignore_errors=True)
        time.sleep(0.01)


def kill_below(group: int = 0) -> bool:
    """End whatever this process has started, at any depth (of that process group only); whether nothing is left.

    Orphans below come to this process, which has asked the system for that.
    """
    until = time.monotonic() + END_SECONDS
    while time.monotonic() < until:
        found = [pid for pid in descendants(os.getpid()) if not group or _group_of(pid) == group]
        left = [pid for pid in found if not _is_over(pid)]
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if group:
            return not left
        reap()
        if not found:
            return True
        time.sleep(0.01)
    return False


def reap() -> None:
    """Let go of orphans that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return -1


def _started(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 1 << 62


def _program_of(pid: int) -> str:
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def _is_over(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state in (b"Z", b"X")
