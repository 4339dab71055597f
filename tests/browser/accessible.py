"""What axe-core says of a page: https://github.com/dequelabs/axe-core/blob/develop/doc/rule-descriptions.md"""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

LEVELS = ["wcag2a", "wcag2aa"]  # of the Web Content Accessibility Guidelines 2

# Unfold's own markup, which no setting changes: the rule, and where.
EXCEPT: tuple[tuple[str, str], ...] = ()


def violations(page: Page) -> list[str]:
    """A line for each element with something wrong: the rule, where, and what was found."""
    # Not while it fades in: a colour on its way is none.
    page.add_style_tag(content="*, ::before, ::after { animation: none !important; transition: none !important; }")
    options = {"runOnly": LEVELS, "resultTypes": ["violations"]}
    found: dict[str, Any] = Axe().run(page, options=options).response
    assert found["passes"], "axe-core checked nothing"
    return [
        f"{rule['id']} at {where(node)}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
        if (rule["id"], where(node)) not in EXCEPT
    ]


def where(node: dict[str, Any]) -> str:
    return " ".join(str(part) for part in node["target"])
