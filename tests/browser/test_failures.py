"""Failures first: the header says that there are some; their calls are listed, copied, debugged and made again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.axe import grave_findings
from tests.browser.lab_page import wait_until

OpenLab = Callable[..., Any]
PANEL = "#cellmill-panel"
FOLD = f"{PANEL} .cellmill-fold"
LOAD = "%load_ext cellmill\n%cellmill workers 2\nprint('loaded', 'now')"


def define(gate: Path) -> str:
    """Twelve of a hundred calls fail until the gate is open, one of them with an argument that has no source."""
    return f"""%%parallel
def measure(sample, tag='x'):
    import pathlib
    if sample % 10 == 3 and not pathlib.Path({str(gate)!r}).exists():
        raise ValueError(f'sample {{sample}} has no peak')
    return sample
"""


RUN = (
    "results = list(measure.map(range(100), return_exceptions=True))\n"
    "class Tag: pass\n"
    "import concurrent.futures\n"
    "calls = [measure(103, tag=Tag())]\n"
    "concurrent.futures.wait(calls)\n"
    "calls.append(measure(113, 'it\\'s'))\n"
    "print('all', len(results), len(concurrent.futures.wait(calls).done))"
)
KINDS = """%%parallel
def fail(kind, gate):
    import pathlib, time
    while not pathlib.Path(gate).exists():
        time.sleep(0.01)
    raise {'A': ValueError, 'B': KeyError, 'C': OSError}[kind](f'kind {kind}')
"""
# So that the browser keeps a part in its place that is above the lines.
SCROLL_A_LITTLE = """one => {
    for (; one !== null; one = one.parentElement) {
        if (/auto|scroll/.test(getComputedStyle(one).overflowY)) one.scrollTop = 10;
    }
}"""
USE = "import cellmill\nprint('folds', [(fold.type, fold.total, len(fold)) for fold in cellmill.failures()])"


def run_kinds(gates: list[Path]) -> str:
    """Calls that fail once their gates are open."""
    calls = [("A", 0)] * 3 + [("B", 0)] + [("B", 1)] * 5 + [("C", 2)] * 38 + [("A", 3)] * 2
    named = [(kind, str(gates[number])) for kind, number in calls]
    return f"calls = [fail(*each) for each in {named!r}]\nprint('all', len(calls))"


def test_failures_are_seen_copied_debugged_and_made_again(lab_in_use: OpenLab, tmp_path: Path) -> None:
    gate, gates = tmp_path / "gate", [tmp_path / str(number) for number in range(4)]
    one = lab_in_use(LOAD, define(gate), RUN, USE, KINDS, run_kinds(gates))
    page = one.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    one.open_panel()
    one.run_cell(0)
    one.wait_output(0, "loaded now")
    assert page.locator(f"{PANEL} .cellmill-failed-line").is_hidden()
    one.run_cell(1)
    one.run_cell(2)
    one.wait_output(2, "all 100 2")
    one.wait_panel("d.done === 102 && d.failed === 12")

    # From any tab one press leads to the lines of failures, and Enter opens the first.
    line = page.get_by_role("button", name="12 tasks failed")
    line.focus()
    page.keyboard.press("Enter")
    fold = page.locator(f"{PANEL} .cellmill-failure")
    wait_until(page, f"() => document.activeElement === document.querySelector('{PANEL} .cellmill-failure')")
    assert fold.count() == 1
    page.keyboard.press("Enter")
    page.locator(f"{FOLD} .cellmill-fold-count").get_by_text("First 8 of 12 calls").wait_for()
    page.locator(FOLD).get_by_role("button", name="Show 4 more").click()
    shown = page.locator(f"{FOLD} .cellmill-fold-call")
    page.locator(f"{FOLD} .cellmill-fold-count").get_by_text("12 calls", exact=True).wait_for()
    arguments = page.locator(f"{FOLD} .cellmill-fold-arguments").all_inner_texts()
    assert sorted(arguments[:10], key=int) == [str(sample) for sample in range(3, 100, 10)]
    assert arguments[10].startswith("103, tag=Tag(")
    assert arguments[11] == '113, "it\'s"'
    one.picture("failures-light")

    # As Python: eleven entries and a comment.
    page.get_by_role("button", name="Copy arguments").click()
    page.locator(FOLD).get_by_text("Comments stand for 1 of 12 calls").wait_for()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert sorted(eval(copied)) == sorted([*((sample,) for sample in range(3, 100, 10)), (113, "it's")])
    assert "no exact source of 103, tag=Tag(" in copied

    # One under the debugger, in a new cell below the active one.
    shown.nth(11).get_by_role("button", name="under the debugger").click()
    page.wait_for_selector(".jp-Stdin-input")
    page.locator(".jp-Stdin-input").last.fill("p 'sample', sample, tag")
    page.keyboard.press("Enter")
    page.get_by_text("('sample', 113, \"it's\")").wait_for()
    wait_until(page, "() => [...document.querySelectorAll('.jp-Stdin-input')].at(-1)?.value === ''")
    page.locator(".jp-Stdin-input").last.fill("q")
    page.keyboard.press("Enter")
    page.get_by_text("debugged", exact=True).wait_for()

    # Exactly these again: none failed in between, so that the gate lets twelve more tasks through.
    gate.touch()
    page.get_by_role("button", name="Retry these 12").click()
    page.locator(FOLD).get_by_text("12 calls were submitted again").wait_for()
    wait_until(
        page,
        f"""() => [...document.querySelectorAll('{FOLD} .cellmill-fold-again')]
            .filter(each => each.textContent === 'again: done').length === 12""",
    )
    assert page.locator(FOLD).get_by_role("button", name="Retry", exact=True).is_disabled()
    assert grave_findings(page, PANEL) == []
    one.picture("failures-dark", dark=True)

    # The same without the panel.
    one.run_cell(3)
    page.get_by_text("folds [('ValueError', 12, 12)]").wait_for()
    lines_stay_in_their_place_as_failures_arrive(one, gates)
    assert one.errors == []


def lines_stay_in_their_place_as_failures_arrive(one: Any, gates: list[Path]) -> None:
    """What a person is about to press does not move, whichever kind grows or comes."""
    page = one.page
    one.run_cell(5)  # the debugger has a cell of its own above
    one.run_cell(6)
    one.wait_output(6, "all 49")
    lines = page.locator(f"{PANEL} .cellmill-failure")

    def wait_lines(**counts: int) -> None:
        """Wait until the lines say so of these kinds, in this order, below that of the failures before."""
        texts = [["12 ×", "measure"], *([f"{n} ×", kind] for kind, n in counts.items())]
        wait_until(
            page,
            """([selector, texts]) => {
                const lines = [...document.querySelectorAll(selector)].map(each => each.innerText);
                return lines.length === texts.length
                    && lines.every((line, at) => texts[at].every(text => line.includes(text)));
            }""",
            arg=[f"{PANEL} .cellmill-failure", texts],
        )

    gates[0].touch()
    one.wait_panel("d.failed === 4")
    page.get_by_role("button", name="4 tasks failed").click()
    lines.nth(2).wait_for()
    first = {"ValueError": 3, "KeyError": 1}
    if "KeyError" in lines.nth(1).inner_text():
        first = {"KeyError": 1, "ValueError": 3}
    wait_lines(**first)
    gates[1].touch()  # one line becomes the larger one, and the newest
    wait_lines(**(first | {"KeyError": 6}))

    at = 1 + list(first).index("KeyError")
    lines.nth(at).click()
    copy = page.locator(FOLD).get_by_role("button", name="Copy arguments")
    copy.scroll_into_view_if_needed()
    copy.evaluate(SCROLL_A_LITTLE)
    before = copy.bounding_box()
    gates[2].touch()  # another line comes, above what is open
    wait_lines(**(first | {"KeyError": 6, "OSError": 38}))
    assert lines.nth(at).get_attribute("aria-pressed") == "true"
    after = copy.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(after["y"] - before["y"]) <= 1, (before, after)
    gates[3].touch()
    one.wait_panel("d.failed === 49")
