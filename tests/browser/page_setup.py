"""A page as its pictures are taken: the theme, the notebook alone, and how large."""

from __future__ import annotations

from typing import Any

TRIES = 3
SETTING = """async ([key, value, plugin]) => {
    const services = window.jupyterapp.pluginRegistry._services;
    const token = [...services.keys()].find(one => one.name.endsWith(':ISettingRegistry'));
    const registry = await window.jupyterapp.resolveRequiredService(token);
    await registry.set(plugin, key, value);
}"""


def set_setting(one: Any, key: str, value: object, plugin: str = "cellmill:plugin") -> None:
    """Change one of a plugin's settings, which the server keeps for all tests, and wait until it holds."""
    one.page.evaluate(SETTING, [key, value, plugin])


def set_theme(one: Any, theme: str) -> None:
    """Light or dark, once the page is there."""
    one.set_theme(theme)


def prepare(one: Any, theme: str, *, panel: bool = False, width: int = 0, height: int = 0) -> None:
    """The theme, no side bar on the left, the panel if it is wanted, and so many pixels; 0: as the page is."""
    set_theme(one, theme)
    one.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    if panel:
        one.open_panel()
    if width and height:
        one.page.set_viewport_size({"width": width, "height": height})


def take_notebook(one: Any, name: str, cells: int, parts: int) -> None:
    """Run all cells, and take the notebook in so many pictures, from its top to its end."""
    page = one.page
    for index in range(cells):
        prompt = page.locator(".jp-Notebook .jp-Cell").nth(index).locator(".jp-InputArea-prompt")
        for _ in range(TRIES):  # a cell that comes right after a failing one may be left out with it
            one.run_cell(index)
            one.wait_kernel("idle")
            page.wait_for_timeout(300)
            if any(map(str.isdigit, prompt.inner_text())):
                break
    for part in range(parts):
        page.locator(".jp-Notebook .jp-Cell").nth(part * cells // parts).scroll_into_view_if_needed()
        page.locator(".jp-WindowedPanel-outer").first.evaluate(
            "(e, [part, parts]) => { e.scrollTop = e.scrollHeight * part / parts; }", [part, parts]
        )
        page.wait_for_timeout(500)
        one.screenshot(f"{name}-{part}")
