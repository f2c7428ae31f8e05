"""Accessibility: axe-core injected into a page."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"

# Of what passes axe then gathers no more than one element a rule, which takes most of its time.
RUN = "selectors => axe.run({ include: selectors }, { resultTypes: ['violations'] })"
FOUND = "selectors => selectors.filter(each => document.querySelector(each) !== null)"


def grave_findings(page: Page, *selectors: str) -> list[str]:
    """What axe finds serious or critical in the elements of these selectors; one line each.

    Most of its time is for the page as a whole, however few the elements are.
    """
    if not page.evaluate("() => 'axe' in window"):
        # JupyterLab's loader would take axe for a module of its own.
        page.evaluate(f"() => {{ const define = undefined; const module = undefined; {AXE.read_text()} }}")
    assert page.evaluate(FOUND, selectors) == list(selectors)
    result = page.evaluate(RUN, selectors)
    assert result["passes"], f"axe looked at nothing in {selectors}"
    return [
        f"{finding['impact']}: {finding['id']} at {node['target']}: {node['failureSummary']}"
        for finding in result["violations"]
        if finding["impact"] in ("serious", "critical")
        for node in finding["nodes"]
    ]
