"""`%%parallel --memo`, `--depends-on` and `--checkpoint`, and `%cellmill cache`, in a real kernel."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.notebook import Notebook


def test_memo_in_cells(notebook: Notebook, tmp_path: Path) -> None:
    assert "no results are kept" in notebook.run("%cellmill cache").ok().stdout
    notebook.run("step = 1\ndef helper(x):\n    return x + step").ok()
    cell = "%%parallel --memo\ndef f(x):\n    return helper(x) * 10"
    notebook.run(cell).ok()
    assert notebook.value("[*f.map(range(3))], f(1).result()") == "([10, 20, 30], 20)"
    notebook.run(cell).ok()  # the same definition again
    assert notebook.value("f(1).result(), f.cache_info()[:2]") == "(20, (1, 0))"
    notebook.run("def helper(x):\n    return x - step").ok()
    assert notebook.value("f(1).result(), f.cache_info()[:2]") == "(0, (1, 1))"
    shown = notebook.run("%cellmill cache").ok().stdout
    assert re.search("memory: 4 results, .* of 256 MB", shown)
    assert "f: 4 results" in shown
    assert "4 results forgotten" in notebook.run("%cellmill cache clear f").ok().stdout
    assert notebook.run("%cellmill cache clear f").traceback.count("no results of 'f' are kept") == 1
    assert "up to 1 GB" in notebook.run("%cellmill cache limit 1GB").ok().stdout
    assert "a number of bytes" in notebook.run("%cellmill cache limit much").traceback
    assert (
        "cache takes clear or limit, not 'cler'; did you mean clear?"
        in notebook.run("%cellmill cache cler").traceback
    )


def test_folders_files_and_checkpoints(notebook: Notebook, tmp_path: Path) -> None:
    data, other = tmp_path / "data.txt", tmp_path / "other.txt"
    data.write_text("5")
    other.write_text("")
    notebook.run(
        f"%%parallel --memo={tmp_path / 'store'} --depends-on {data} --depends-on {other}\n"
        f"def g(x):\n    return x * int(open({str(data)!r}).read())"
    ).ok()
    assert notebook.value("g(2).result(), g(2).result(), g.cache_info()[:2]") == "(10, 10, (1, 1))"
    data.write_text("6")
    assert notebook.value("g(2).result()") == "12"
    notebook.run(f"%%parallel --checkpoint {tmp_path / 'kept'}\ndef h(x):\n    return x + 1").ok()
    assert notebook.value("[*h.map(range(4))], [*h.map(range(5))]") == "([1, 2, 3, 4], [1, 2, 3, 4, 5])"
    assert str(tmp_path / "kept") in notebook.run("%cellmill cache").ok().stdout
    missing = notebook.run("%%parallel --memo --depends-on no.txt\ndef m(x):\n    return x").traceback
    assert missing.count("no.txt, which is no file") == 1
