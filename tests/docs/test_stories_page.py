"""The page of the stories: its table is that of the command, and the other assistants have the same stories."""

from __future__ import annotations

import re

from tests.docs.write_stories import PAGE, STORIES, format_table, replace_table


def list_first_cells(text: str) -> list[str]:
    return [row for row in re.findall(r"^\| ([^|]+) \|", text, flags=re.MULTILINE) if row != "story"]


def test_the_table_is_replaced_and_the_rest_of_the_page_stays() -> None:
    page = "One\n<!-- measured -->\nold\n<!-- /measured -->\nTwo"
    table = format_table([{"title": "I ask", "clicks": 1, "keys": 2, "seconds": 3.14}])
    assert replace_table(page, table) == (
        "One\n<!-- measured -->\n| story | clicks | keys | seconds |\n|---|---:|---:|---:|\n| I ask | 1 | 2 | 3.1 |\n"
        "<!-- /measured -->\nTwo"
    )


def test_each_story_was_measured_and_is_beside_the_others() -> None:
    measured, _, others = PAGE.read_text().partition("<!-- /measured -->")
    beside, _, _ = others.partition("| assistant |")
    assert len(list_first_cells(measured)) == len(STORIES)
    assert list_first_cells(measured) == list_first_cells(beside)
