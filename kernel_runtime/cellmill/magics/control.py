"""`%cellmill`: the state of the workers, and their settings."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import cellmill
from cellmill.diagnostics.blame import cancelling
from cellmill.diagnostics.short_text import counted
from cellmill.diagnostics.tracebacks import LENGTHS
from cellmill.magics import debugging, waiting
from cellmill.magics.cache import run_cache
from cellmill.magics.lines import Line, Word, did_you_mean, read_amounts
from cellmill.magics.status import Status, in_words
from cellmill.outside import serving
from cellmill.telemetry.comparison import Comparison
from cellmill.views import recording

SWITCH = ("on", "off")
OUTPUT = ("label", "plain", "lines")
USAGE = (
    "%cellmill [status | workers N | backend NAME|ADDRESS [--ship DIR…] | preload MOD… | policy NAME"
    " | resources NAME=N… | output label|plain|lines N"
    " | wait SECONDS | traceback full|short | profile [on|off]"
    " | record [FOLDER|FILE|on|off] | serve [on|off] | compare RUN RUN | dask on|off"
    " | cache [clear [FUNCTION] | limit SIZE] | restart | stop | pause | resume | debug [TASK [ELEMENT]] | help]"
)

HELP = """Show the workers, or change their settings.

    %cellmill [status]             backend, workers, counts and settings
    %cellmill workers N            run N workers; their BLAS and OpenMP share the cores
    %cellmill backend NAME|ADDRESS run tasks elsewhere: local, threads, dask, ray, inline, or an address of a cluster;
                                   --ship DIR… sends workers of a cluster the packages in these folders
    %cellmill preload MOD…         import modules once, before workers start (quick restarts)
    %cellmill policy NAME          which worker takes the next task
    %cellmill resources NAME=N…    how much there is of what tasks ask for by --resources: gpu=2 licence=1 memory=64GB
    %cellmill output label|plain   the function and task before each line that tasks print, or not
    %cellmill output lines N       show N lines of each task at most (1,000 if not set); in a notebook those of a cell
                                   beyond the first 20 are folded under its bar
    %cellmill wait SECONDS         the longest that a cell waits for its tasks before it ends, where nbclient, papermill
                                   or nbconvert runs the notebook (3,600 if not set)
    %cellmill traceback full|short errors with Cellmill's own lines, or ending at yours (if not set)
    %cellmill profile on|off       sample which functions tasks spend their time in, or no more; tasks that run too
    %cellmill profile              show it; the panel's tab Profile draws it
    %cellmill record FOLDER        keep every run from now on in a folder (one that is there, or FOLDER/), a file for
                                   each: cellmill.runs(FOLDER) lists them; on: in the usual folder
    %cellmill record FILE          record what the panel shows; `cellmill replay FILE` shows it again
    %cellmill record off           end both
    %cellmill serve [on|off]       let `cellmill top` in a terminal, and cellmill.attach(PID) in other processes of
                                   yours, watch this kernel, pause and cancel, also while a cell computes; or no more
    %cellmill compare RUN RUN      what changed from one run to another: their numbers in cellmill.runs(), or cells,
                                   In[3] In[5]
    %cellmill dask on|off          Dask computes with these workers (its delayed, bags, arrays), or as before
    %cellmill cache                results that are kept (%%parallel --memo)
    %cellmill cache clear [FUNCTION]   forget them
    %cellmill cache limit SIZE     how much of them is kept, such as 2GB
    %cellmill restart              new workers; what runs is finished first
    %cellmill stop                 cancel every task that has not begun
    %cellmill pause | resume       start no more tasks | go on
    %cellmill debug [TASK]         the call of a failed task here, under the debugger (the latest failure if not named)
    %cellmill help                 this text

The other magics: %%parallel (functions become parallel), %%pfor (a parallel loop), %%speedup
(which loops of a plain cell could be tasks), %%task (a cell in the background), %dashboard
(the live view), %journeys (where the time went), %trace (a run for Perfetto) and %why (why a task waits);
`%%pfor?` shows their help.
"""

_MAGICS = ("dashboard", "journeys", "trace", "why")
_FUNCTIONS = ("account", "cancel", "failures", "report", "runs")
ELSEWHERE = (
    {name: f"%{name}" for name in _MAGICS}
    | {name: f"cellmill.{name}()" for name in _FUNCTIONS}
    | {name: f"`cellmill {name}` in a terminal" for name in ("bench", "replay", "top")}
    | {"tasks": "%dashboard, or cellmill.journeys()", "panel": "%dashboard"}
)
"""What is no command of this magic, and what does it."""


def run_control(text: str) -> Status | Comparison | None:
    """The magic: `text` is the rest of its line; the status, or a comparison, is returned to be displayed."""
    line = Line("%cellmill", text, USAGE)
    words = line.words()
    if not words:
        return Status.now()
    command, *arguments = words
    if command.text == "help":
        print(HELP)
        return None
    if command.text == "status":
        _none(line, command, arguments)
        return Status.now()
    if command.text == "compare":
        return _compare(line, command, arguments)
    run = COMMANDS.get(command.text)
    if run is None:
        there = ELSEWHERE.get(command.text)
        meant = did_you_mean(command.text, SUBCOMMANDS) if there is None else f"; use {there}"
        raise line.at(f"unknown command {command.text!r}{meant}", command)
    print(run(line, command, arguments))
    return None


def _one(line: Line, command: Word, arguments: list[Word], what: str) -> Word:
    if not arguments:
        raise line.error(f"{command.text} needs {what}")
    if len(arguments) > 1:
        raise line.at(f"{command.text} takes one argument only", arguments[1])
    return arguments[0]


def _none(line: Line, command: Word, arguments: list[Word]) -> None:
    if arguments:
        raise line.at(f"{command.text} takes no argument", arguments[0])


def _workers(line: Line, command: Word, arguments: list[Word]) -> str:
    word = _one(line, command, arguments, "a number of workers")
    count = int(word.text) if word.text.isdecimal() else 0
    if count < 1:
        raise line.at(f"workers takes a whole number, 1 or more, not {word.text!r}", word)
    executor = cellmill.default_executor()
    try:
        executor.set_workers(count)
    except cellmill.CellmillError as error:
        raise line.at(str(error), word) from None
    return f"{count} worker{'s' if count != 1 else ''} ({executor.backend})"


def _backend(line: Line, command: Word, arguments: list[Word]) -> str:
    at = next((i for i, word in enumerate(arguments) if word.text == "--ship"), len(arguments))
    word, folders = _one(line, command, arguments[:at], "a name"), arguments[at + 1 :]
    if at < len(arguments) and not folders:
        raise line.at("--ship needs the folders of packages", arguments[at])
    options: dict[str, Any] = {"ship": [folder.text for folder in folders]} if folders else {}
    previous = cellmill.default_executor()
    try:
        executor = cellmill.Executor(backend=word.text, resources=previous.resources, **options)
    except TypeError:
        if not folders:
            raise
        raise line.at("only a cluster's backend takes --ship", arguments[at]) from None
    except cellmill.CellmillError as error:
        raise line.at(str(error), word) from None
    cellmill.set_default_executor(executor)
    previous.shutdown(wait=False)
    return f"backend {executor.backend}, {_count(executor.max_workers)}"


def _preload(line: Line, command: Word, arguments: list[Word]) -> str:
    if not arguments:
        raise line.error("preload needs the names of modules")
    for word in arguments:
        if not _importable(word.text):
            raise line.at(f"no module named {word.text!r} is installed", word)
    try:
        cellmill.default_executor().preload([word.text for word in arguments])
    except cellmill.CellmillError as error:
        raise line.error(str(error), arguments[0].start, arguments[-1].stop) from None
    return f"preloaded {', '.join(word.text for word in arguments)}"


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _policy(line: Line, command: Word, arguments: list[Word]) -> str:
    word = _one(line, command, arguments, "a name")
    executor = cellmill.default_executor()
    try:
        executor.policy = word.text
    except (cellmill.CellmillError, ValueError) as error:
        raise line.at(str(error), word) from None
    return f"policy {executor.policy}"


def _resources(line: Line, command: Word, arguments: list[Word]) -> str:
    if not arguments:
        raise line.error("resources needs names and numbers, such as gpu=2 licence=1")
    wanted: dict[str, object] = {}
    for word in arguments:
        name, _, size = word.text.partition("=")
        try:
            wanted.update({name: size} if name == "memory" else read_amounts(word.text))
        except ValueError:
            message = f"resources takes names and numbers, such as gpu=2, not {word.text!r}"
            raise line.at(message, word) from None
    executor = cellmill.default_executor()
    try:
        executor.set_resources(wanted)
    except cellmill.CellmillError as error:
        raise line.error(str(error), arguments[0].start, arguments[-1].stop) from None
    return f"to give out: {in_words(executor)}"


def _output(line: Line, command: Word, arguments: list[Word]) -> str:
    if not arguments:
        raise line.error("output needs label, plain or lines N")
    executor, (how, *rest) = cellmill.default_executor(), arguments
    if how.text == "lines":
        word = _one(line, how, rest, "a number of lines")
        try:
            executor.output_lines = int(word.text)
        except ValueError:
            raise line.at(f"lines takes a whole number, 1 or more, not {word.text!r}", word) from None
        lines = counted(executor.output_lines, "line")
        return f"{lines} of each task {'is' if executor.output_lines == 1 else 'are'} shown"
    if how.text not in ("label", "plain"):
        raise line.at(f"output takes label, plain or lines N, not {how.text!r}", how)
    _none(line, how, rest)
    executor.label_output = how.text == "label"
    return (
        "lines are shown with function and task" if executor.label_output else "lines are shown as they are"
    )


def _traceback(line: Line, command: Word, arguments: list[Word]) -> str:
    word = _one(line, command, arguments, "full or short")
    if word.text not in LENGTHS:
        raise line.at(
            f"traceback is full or short, not {word.text!r}{did_you_mean(word.text, LENGTHS)}", word
        )
    full = cellmill.traceback(word.text) == "full"
    return f"errors are shown {'with' if full else 'without'} lines of Cellmill's own"


def _wait(line: Line, command: Word, arguments: list[Word]) -> str:
    word = _one(line, command, arguments, "a number of seconds")
    try:
        seconds = float(word.text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise line.at(f"wait takes a number of seconds, 0 or more, not {word.text!r}", word)
    waiting.most_seconds = seconds
    return f"cells of a notebook that a program runs wait up to {seconds:g} s for their tasks"


def _profile(line: Line, command: Word, arguments: list[Word]) -> str:
    profiler = cellmill.profile()
    if not arguments:
        return repr(profiler)
    word = _one(line, command, arguments, "on or off")
    if word.text not in SWITCH:
        raise line.at(f"profile is on or off, not {word.text!r}{did_you_mean(word.text, SWITCH)}", word)
    try:
        (profiler.start if word.text == "on" else profiler.stop)()
    except cellmill.CellmillError as error:
        raise line.at(str(error), word) from None
    return "the workers are sampled; %cellmill profile shows it" if word.text == "on" else repr(profiler)


def _record(line: Line, command: Word, arguments: list[Word]) -> str:
    if not arguments:
        return (
            "\n".join(map(repr, recording.under_way()))
            or "nothing is recorded: %cellmill record on, or a folder"
        )
    word = _one(line, command, arguments, "a folder, a file, on or off")
    try:
        if word.text in ("off", "stop"):
            return "\n".join(map(_recorded, recording.stop_recording()))
        made = cellmill.record(None if word.text == "on" else word.text)
    except (cellmill.CellmillError, OSError) as error:
        raise line.at(str(error), word) from None
    if isinstance(made, cellmill.RunRecorder):
        return f"every run from now on is recorded in {made.folder}; %cellmill record off ends it"
    return f"recording into {made.path}; %cellmill record off ends it"


def _recorded(done: cellmill.Recording | cellmill.RunRecorder) -> str:
    if isinstance(done, cellmill.RunRecorder):
        return f"recorded {counted(done.count, 'run')}: cellmill.runs({str(done.folder)!r})"
    return f"recorded {done.frames:,} frames: cellmill replay {done.path}"


def _serve(line: Line, command: Word, arguments: list[Word]) -> str:
    word = _one(line, command, arguments, "on or off") if arguments else None
    if word is not None and word.text not in SWITCH:
        raise line.at(f"serve is on or off, not {word.text!r}{did_you_mean(word.text, SWITCH)}", word)
    if word is not None and word.text == "off":
        return "other processes cannot watch this kernel any more" if serving.stop() else "it was not on"
    try:
        return f"{serving.serve()!r}; %cellmill serve off ends it"
    except cellmill.CellmillError as error:
        raise line.at(str(error), word or command) from None


def _compare(line: Line, command: Word, arguments: list[Word]) -> Comparison:
    if len(arguments) != 2:
        problem = "compare takes two runs: their numbers in cellmill.runs(), or cells such as In[3]"
        raise line.at(problem, arguments[2] if len(arguments) > 2 else command)
    before, after = (int(word.text) if word.text.isdecimal() else word.text for word in arguments)
    try:
        return cellmill.compare(before, after)
    except cellmill.UsageError as error:
        raise line.error(str(error), arguments[0].start, arguments[-1].stop) from None


def _restart(line: Line, command: Word, arguments: list[Word]) -> str:
    _none(line, command, arguments)
    executor = cellmill.default_executor()
    executor.restart()
    return restarted(executor)


def restarted(executor: cellmill.Executor) -> str:
    """Say what `restart` has done."""
    backend, count = executor._backend, _count(executor.max_workers)
    if not backend.borrowed:
        return f"restarted {count}"
    return (
        f"set {count} of {backend.cluster} up anew: functions, the initializer and your own modules come again. The "
        "processes are not Cellmill's and stay, with the installed packages that they have imported; the cluster's own "
        "restart ends them."
    )


def _stop(line: Line, command: Word, arguments: list[Word]) -> str:
    _none(line, command, arguments)
    with cancelling("%cellmill stop"):
        count = cellmill.default_executor().stop()
    return f"cancelled {count:,} task{'s' if count != 1 else ''} that had not begun"


def _dask(line: Line, command: Word, arguments: list[Word]) -> str:
    word = _one(line, command, arguments, "on or off")
    if word.text not in SWITCH:
        raise line.at(f"dask is on or off, not {word.text!r}{did_you_mean(word.text, SWITCH)}", word)
    try:
        switch = importlib.import_module("cellmill.dask.switch")  # by name: Dask may not be there
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "dask":
            raise
        raise line.at("Dask is not installed: pip install 'cellmill[dask]'", word) from None
    if word.text == "on":
        switch.on()
        return "Dask computes with Cellmill's workers"
    return f"Dask computes {'as before' if switch.off() else 'with its own schedulers: it was not on'}"


def _pause(line: Line, command: Word, arguments: list[Word]) -> str:
    _none(line, command, arguments)
    cellmill.default_executor().pause()
    return "paused; %cellmill resume goes on"


def _resume(line: Line, command: Word, arguments: list[Word]) -> str:
    _none(line, command, arguments)
    cellmill.default_executor().resume()
    return "resumed"


def _count(workers: int) -> str:
    return f"{workers} worker{'s' if workers != 1 else ''}"


COMMANDS: dict[str, Callable[[Line, Word, list[Word]], str]] = {
    "workers": _workers,
    "backend": _backend,
    "preload": _preload,
    "policy": _policy,
    "resources": _resources,
    "output": _output,
    "wait": _wait,
    "traceback": _traceback,
    "profile": _profile,
    "record": _record,
    "serve": _serve,
    "dask": _dask,
    "cache": run_cache,
    "restart": _restart,
    "stop": _stop,
    "pause": _pause,
    "resume": _resume,
    "debug": debugging.debug,
}
SUBCOMMANDS = (*COMMANDS, "compare", "help", "status")
