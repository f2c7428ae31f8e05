"""The tabs of the profile and of the journey in a real JupyterLab: where one function spends its time, and its slowest
tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.axe import grave_findings
from tests.browser.lab_page import wait_until

OpenLab = Callable[..., Any]
LOAD = "%load_ext cellmill\n%cellmill workers 2\nprint('loaded', 'now')"
DEFINE = """%%parallel
def inner_a(count):
    total = 0
    for n in range(count):
        total += n * n
    return total

def inner_b(count):
    total = 0
    for n in range(count):
        total += n + n
    return total

def work(number, gate):
    import pathlib
    while not pathlib.Path(gate, "open").exists():
        inner_a(30_000)
        inner_b(10_000)
    return inner_a(1000 * number)
print('defined', 'all')
"""
RUN = """tasks = [work(number, {gate!r}) for number in range(12)]
print('got', len([task.result() for task in tasks]))
"""
DASHBOARD = "#cellmill-panel .cellmill-dashboard"
PAGE = f"{DASHBOARD} .cellmill-page-profile"


def choose(one: Any, tab: str) -> None:
    one.page.locator(f"{DASHBOARD} [role=tab][data-tab={tab}]").click()


def test_profile_and_slowest_tasks(lab_in_use: OpenLab, tmp_path: Path) -> None:
    one = lab_in_use(LOAD, DEFINE, RUN.format(gate=str(tmp_path)))
    one.open_panel()
    one.run_cell(0)
    one.wait_output(0, "loaded now")
    one.run_cell(1)
    one.wait_output(1, "defined all")
    one.run_cell(2)
    one.wait_panel("d.presence === 'live' && d.running === 2")
    choose(one, "profile")
    it_is_switched_on_while_tasks_run(one)
    it_is_switched_off(one)
    (tmp_path / "open").touch()
    one.wait_output(2, "got 12")
    a_press_widens_a_bar(one)
    keys_move_and_zoom(one)
    one.set_theme("dark")
    no_grave_findings(one)
    choose(one, "journey")
    the_slowest_are_opened(one)
    assert one.errors == []


def bar(one: Any, name: str) -> Any:
    return one.page.locator(f"{PAGE} .cellmill-flame-bar[data-name={name}]")


def it_is_switched_on_while_tasks_run(one: Any) -> None:
    one.page.locator(PAGE).get_by_role("button", name="Start profile").click()
    # three times the work, once there are enough samples
    wait_until(
        one.page,
        f"""() => {{
            const [all, wide, narrow] = ['work', 'inner_a', 'inner_b'].map(
                name => document.querySelector('{PAGE} .cellmill-flame-bar[data-name=' + name + ']')?.clientWidth);
            return all > wide && wide > narrow;
        }}""",
    )
    label = bar(one, "inner_a").get_attribute("aria-label") or ""
    assert "inner_a, In[2], line 2" in label
    assert "% of all" in label
    one.page.locator(f"{PAGE} tbody th").get_by_text("inner_a", exact=True).first.wait_for()


def a_press_widens_a_bar(one: Any) -> None:
    everything = one.page.locator(PAGE).get_by_role("button", name="Show all")
    assert everything.is_hidden()
    bar(one, "inner_b").click()
    one.page.locator(f"{PAGE} .cellmill-flame-bar[data-name=inner_b][aria-selected=true]").wait_for()
    assert bar(one, "inner_a").count() == 0
    everything.click()
    bar(one, "inner_a").wait_for()


def keys_move_and_zoom(one: Any) -> None:
    bar(one, "work").first.focus()
    one.page.keyboard.press("ArrowDown")
    one.page.locator(f"{PAGE} .cellmill-flame-bar[data-name=inner_a]:focus").wait_for()
    one.page.keyboard.press("Enter")
    one.page.locator(f"{PAGE} .cellmill-flame-bar[data-name=inner_a][aria-selected=true]").wait_for()
    one.page.keyboard.press("Escape")
    bar(one, "inner_b").wait_for()


def no_grave_findings(one: Any) -> None:
    """Of axe, with a profile; `tests.browser.test_widths` has the tab without one, and the others."""
    assert grave_findings(one.page, PAGE) == []
    one.page.locator(f"{PAGE} > :last-child").scroll_into_view_if_needed()
    one.picture("profile-dark")


def it_is_switched_off(one: Any) -> None:
    switch = one.page.locator(f"{PAGE} .cellmill-profile-switch")
    assert switch.get_attribute("aria-pressed") == "true"
    switch.click()
    one.page.locator(f"{PAGE} .cellmill-profile-switch[aria-pressed=false]").wait_for()
    bar(one, "inner_a").wait_for()  # what was sampled stays


def the_slowest_are_opened(one: Any) -> None:
    page = one.page.locator(f"{DASHBOARD} .cellmill-page-journey")
    page.locator(".cellmill-histogram-bars i").first.wait_for()
    assert "Run times of work" in (page.locator(".cellmill-histogram-bars").get_attribute("aria-label") or "")
    slow = page.locator(".cellmill-slow")
    assert slow.count() == 10
    assert all(text.startswith("work(") for text in page.locator(".cellmill-slow-call").all_inner_texts())
    slow.first.click()
    one.page.locator(f"{DASHBOARD} .cellmill-task-detail").get_by_text("work").first.wait_for()
