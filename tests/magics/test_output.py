"""What a person sees of the tasks' output in a notebook: in the cell that submitted them, as a cell would show it."""

from __future__ import annotations

import base64

import pytest

from tests.support.notebook import Notebook, Output


def mime(output: Output, kind: str) -> list[str]:
    """The displays of a cell that have this type, progress bars aside."""
    return [data[kind] for data in output.displays.values() if kind in data and "cellmill" not in str(data)]


def test_every_way_to_speak(notebook: Notebook) -> None:
    output = notebook.run(
        "import cellmill, os, subprocess, sys, warnings, logging\n"
        "def talk():\n"
        "    print('printed')\n"
        "    os.write(1, b'native\\n')\n"
        "    subprocess.run(['echo', 'child'])\n"
        "    print('error', file=sys.stderr)\n"
        "    warnings.warn('careful')\n"
        "    logging.getLogger('x').warning('logged')\n"
        "cellmill.default_executor().submit(talk).result()"
    ).ok()
    assert output.stdout == "printed\nnative\nchild\n"
    lines = output.stderr.splitlines()
    assert lines[0] == "error"
    assert "UserWarning: careful" in lines[1]
    assert lines[-1] == "logged"


@pytest.mark.parametrize(
    "submit", ["f = cellmill.default_executor().submit(talk)", "f = cellmill.parallel(talk)()"]
)
def test_a_background_task_speaks_in_its_own_cell(notebook: Notebook, submit: str) -> None:
    notebook.run("import cellmill, os, tempfile, time\nfolder = tempfile.mkdtemp()\n").ok()
    first = notebook.run(
        "def talk():\n"
        "    os.write(1, b'native early\\n')\n"
        "    print('early')\n"
        "    while not os.path.exists(folder + '/go'): time.sleep(0.01)\n"
        "    print('late')\n"
        "    os.write(1, b'native late\\n')\n"
        "    from IPython.display import display, HTML\n"
        "    display(HTML('<i>late</i>'))\n" + submit
    ).ok()
    second = notebook.run(
        "print('other cell')\nopen(folder + '/go', 'w').close()\nf.result()\nprint('other cell ends')"
    ).ok()
    notebook.run("1").ok()
    assert second.stdout == "other cell\nother cell ends\n"
    assert first.stdout == "native early\nearly\nlate\nnative late\n"
    assert mime(first, "text/html") == ["<i>late</i>"]
    assert not mime(second, "text/html")


def test_a_warning_is_shown_once_in_each_cell(notebook: Notebook) -> None:
    """As IPython shows one of the cell's own code; one of a module is shown once."""
    notebook.run(
        "import os, sys, tempfile\n"
        "folder = tempfile.mkdtemp()\n"
        "sys.path.insert(0, folder)\n"
        "with open(os.path.join(folder, 'warns_itself.py'), 'w') as file:\n"
        "    file.write('import warnings\\ndef warn(): warnings.warn(\"of a module\")')"
    ).ok()
    notebook.run(
        "%load_ext cellmill\n%cellmill workers 2\nimport cellmill, warnings, warns_itself\n"
        "@cellmill.parallel\ndef f(i):\n    warnings.warn('of the cell')\n    warns_itself.warn()"
    ).ok()
    for n in range(3):
        output = notebook.run("for i in range(10):\n    f(i).result()").ok()
        lines = [line.partition(": ")[2] for line in output.stderr.splitlines() if "Warning: " in line]
        assert sorted(lines) == [*["UserWarning: of a module"][n:], "UserWarning: of the cell"]


def test_displays(notebook: Notebook) -> None:
    output = notebook.run(
        "import cellmill\n"
        "def show():\n"
        "    from IPython.display import HTML, Image, display, update_display\n"
        "    print('before')\n"
        "    display(HTML('<b>bold</b>'))\n"
        "    display({'a': 1}, 'two at once')\n"
        "    display(HTML('x' * 1_000_000))\n"
        "    display({'text/plain': 'raw', 'text/markdown': '*raw*'}, raw=True)\n"
        "    handle = display('old', display_id=True)\n"
        "    handle.update('new')\n"
        "    print('after')\n"
        "cellmill.default_executor().submit(show).result()"
    ).ok()
    assert output.stdout == "before\nafter\n"
    own = [m for m in output.messages if "cellmill" not in str(m["content"].get("transient"))]  # but bars
    kinds = [m["header"]["msg_type"] for m in own]
    shown = [k for k in kinds if k in ("stream", "display_data", "update_display_data")]
    assert shown == ["stream", *["display_data"] * 6, "update_display_data", "stream"]
    assert mime(output, "text/html") == ["<b>bold</b>", "x" * 1_000_000]
    assert mime(output, "text/markdown") == ["*raw*"]
    assert output.texts()[-1] == "'new'"
    assert "{'a': 1}" in output.texts()


def test_display_as_the_notebook_names_it(notebook: Notebook) -> None:
    output = notebook.run("%%parallel\ndef f(i):\n    display(i)\n    return i").ok()
    output = notebook.run("print(f(5).result())").ok()
    assert output.texts() == ["5"]
    assert output.stdout == "5\n"


def test_figures(notebook: Notebook) -> None:
    pytest.importorskip("matplotlib_inline")
    output = notebook.run(
        "import cellmill\n"
        "def plot(show):\n"
        "    import matplotlib.pyplot as plt\n"
        "    plt.plot([1, 2, 3])\n"
        "    if show: plt.show()\n"
        "    return len(plt.get_fignums())\n"
        "ex = cellmill.default_executor()\n"
        "print(ex.submit(plot, False).result(), ex.submit(plot, True).result())"
    ).ok()
    pictures = mime(output, "image/png")
    assert len(pictures) == 2
    assert all(base64.b64decode(p).startswith(b"\x89PNG") for p in pictures)
    assert output.stdout == "1 0\n"


def test_captured_cells(notebook: Notebook) -> None:
    output = notebook.run(
        "%%capture heard\nimport cellmill\ncellmill.default_executor().submit(print, 'captured').result()"
    ).ok()
    assert output.stdout == ""
    assert notebook.value("heard.stdout") == repr("captured\n")


def test_labels_and_lines(notebook: Notebook) -> None:
    said = notebook.run("%cellmill output label").ok().stdout
    assert said == "lines are shown with function and task\n"
    notebook.run("%%parallel\ndef talk(i):\n    print('hello', i)").ok()
    output = notebook.run("list(talk.map(range(3)))").ok()
    assert sorted(output.stdout.splitlines()) == [f"[talk {i}] hello {i}" for i in range(3)]
    assert notebook.run("%cellmill output plain").ok().stdout == "lines are shown as they are\n"
    assert notebook.run("%cellmill output lines 5").ok().stdout == "5 lines of each task are shown\n"
    output = notebook.run("import cellmill\ntask = talk.options()\nlist(talk.map(range(100)))").ok()
    notebook.run("%cellmill output lines 1000").ok()
    shown = [line for line in output.stdout.splitlines() if line.startswith("hello")]
    assert len(shown) == 20
    [folded] = output.texts()
    assert folded.count("hello") == 50
    last = folded.splitlines()[-1]
    assert last.startswith("... 50 more lines are not kept here; cellmill.output(")
    number = last.split("(")[1].split(")")[0]
    assert len(notebook.run(f"print(cellmill.output({number}))").ok().stdout.split("\n")) == 102
    assert "takes label, plain or lines N" in notebook.run("%cellmill output loud").traceback


def test_last_words_in_the_error(notebook: Notebook) -> None:
    output = notebook.run(
        "import cellmill, os\n"
        "def die():\n    print('last words')\n    os.kill(os.getpid(), 9)\n"
        "cellmill.default_executor().submit(die).result()"
    )
    assert output.stdout == "last words\n"
    assert "The last it printed:\n    last words" in output.traceback


def test_a_flood_leaves_the_kernel_usable(notebook: Notebook) -> None:
    output = notebook.run(
        "import cellmill\ndef flood():\n    for i in range(100_000): print('line', i)\n"
        "f = cellmill.default_executor().submit(flood)\nprint('at once')"
    ).ok()
    assert notebook.run("1 + 1").ok().text == "2"
    assert notebook.run("f.result()").ok().stdout == ""
    notebook.run("1").ok()
    assert len(output.stdout.splitlines()) == 1002
    assert "99,000 more lines" in output.stdout


def test_warnings_and_logs_as_the_notebook_tells_them(notebook: Notebook) -> None:
    """Filters, levels and handlers of a cell hold for the tasks after them, on workers that stood before."""
    notebook.run(
        "import cellmill, logging, warnings\n"
        "def talk():\n"
        "    warnings.warn('old', DeprecationWarning)\n"
        "    warnings.warn('careful')\n"
        "    logging.getLogger('x').info('logged')\n"
        "ask = cellmill.default_executor().submit\n"
        "ask(talk).result()"
    ).ok()
    output = notebook.run(
        "warnings.simplefilter('ignore')\n"
        "logging.basicConfig(level='INFO', format='{levelname}/{name}/{message}', style='{', force=True)\n"
        "ask(talk).result()"
    ).ok()
    assert output.stderr == "INFO/x/logged\n"
    output = notebook.run(
        "logging.root.setLevel('WARNING')\n"
        "ask(talk).result()\n"
        "logging.getLogger('x').setLevel('DEBUG')\n"
        "ask(talk).result()\n"
        "logging.getLogger('x').setLevel('ERROR')\n"
        "warnings.filterwarnings('error', category=DeprecationWarning)\n"
        "print(repr(ask(talk).exception()))"
    ).ok()
    assert (output.stderr, output.stdout) == ("INFO/x/logged\n", "DeprecationWarning('old')\n")
    output = notebook.run(
        "warnings.resetwarnings()\n"
        "warnings.simplefilter('ignore')\n"
        "logging.getLogger('x').setLevel('NOTSET')\n"
        "logging.root.setLevel('INFO')\n"
        "logging.root.handlers[0].setFormatter(logging.Formatter('%(message)s!'))\n"
        "ask(talk).result()"
    ).ok()
    assert output.stderr == "logged!\n"
    notebook.run("logging.root.handlers.clear(); logging.root.setLevel('WARNING'); ask(talk).result()").ok()


def test_log_records_in_the_cell_of_their_task(notebook: Notebook) -> None:
    """By the notebook's handlers; also when a later cell runs by then. `%%capture` has what the plain loop gives it."""
    notebook.run(
        "import cellmill, logging, os, sys, tempfile, time\n"
        "folder = tempfile.mkdtemp()\n"
        "logging.basicConfig(level='INFO', stream=sys.stdout, format='%(name)s %(message)s (%(task)s)', force=True)\n"
        "logging.root.handlers[0].addFilter(lambda record: hasattr(record, 'task'))\n"
        "def talk(i):\n"
        "    while not os.path.exists(folder + '/go'): time.sleep(0.01)\n"
        "    logging.getLogger('x').info('logged %d', i)\n"
        "submit = cellmill.default_executor().submit"
    ).ok()
    first = notebook.run("f = submit(talk, 1)").ok()
    second = notebook.run("open(folder + '/go', 'w').close()\nf.result()\nprint('other cell')").ok()
    notebook.run("1").ok()
    assert first.stdout.startswith("x logged 1 (talk #")
    assert second.stdout == "other cell\n"
    notebook.run(
        "%%capture heard\nlogging.root.handlers.clear()\nlogging.getLogger('x').warning('plain')"
    ).ok()
    assert notebook.value("heard.stderr") == repr("plain\n")
    notebook.run(
        "def careful(): logging.getLogger('x').warning('from a task')\nlogging.root.handlers.clear()"
    ).ok()
    notebook.run("%%capture heard\nsubmit(careful).result()").ok()
    assert notebook.value("heard.stderr") == repr("from a task\n")
    notebook.run("logging.root.setLevel('WARNING')").ok()


def test_a_loop_displays_by_an_imported_name(notebook: Notebook) -> None:
    """It was refused: items changed what had displayed in their worker."""
    notebook.run("from IPython.display import HTML, display").ok()
    output = notebook.run("%%pfor i in range(3)\ndisplay(HTML(f'<b>{i}</b>'))").ok()
    shown = [data["text/html"] for data in output.displays.values() if "text/html" in data]
    assert sorted(html for html in shown if html.startswith("<b>")) == ["<b>0</b>", "<b>1</b>", "<b>2</b>"]
