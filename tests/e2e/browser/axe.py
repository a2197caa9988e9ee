"""axe-core, the field's judge of accessibility, asked about a part of a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

_AXE = Path(__file__).parents[2] / "npm" / "node_modules" / "axe-core" / "axe.min.js"

# The standards that name themselves, and what axe-core's authors recommend beside them. But for one rule: HTML allows a
# text of several lines no other role than its own, and the prompt box is one that completes what is typed.
_RUN = """async selector => {
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const rules = { 'aria-allowed-role': { enabled: false } };
  const { violations } = await axe.run(selector, { runOnly: tags, rules, resultTypes: ['violations'] });
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, any, all }) => `${id}: ${help}: ${target.join(' ')} ${[...any, ...all].map(x => x.message)}`));
}"""


def complaints(page: Page, selector: str) -> list[str]:
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_AXE.read_text())
    found: Any = page.evaluate(_RUN, selector)
    return [str(one) for one in found]
