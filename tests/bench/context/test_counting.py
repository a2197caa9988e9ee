"""How requests are counted and read, and how figures are compared."""

from __future__ import annotations

from typing import Any

from tests.bench.context import goals
from tests.bench.context.figures import Figures, draw
from tests.bench.context.prefix_cache import LOOK_BACK, PICTURE, PrefixCache, count_tokens, list_breaks
from tests.bench.context.request_view import NamedCell, RequestView

MARK = {"cache_control": {"type": "ephemeral"}}

# 2,000 tokens.
LONG = "x" * 7_200


def text(words: str, *, marked: bool = False) -> dict[str, Any]:
    return {"type": "text", "text": words, **(MARK if marked else {})}


def request(*blocks: dict[str, Any], system: str = LONG) -> dict[str, Any]:
    return {"system": [text(system, marked=True)], "messages": [{"role": "user", "content": list(blocks)}]}


def test_a_token_has_3_6_characters_and_a_picture_1500_tokens() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 90_000}}
    assert count_tokens(text(LONG)) == 2_000
    assert count_tokens(picture) == PICTURE
    result = {"type": "tool_result", "tool_use_id": "1", "content": [text(LONG), picture]}
    assert count_tokens(result) == 2_000 + PICTURE


def test_the_cache_has_what_was_marked_before() -> None:
    cache = PrefixCache()
    assert cache.send(request(text("a", marked=True))) == (2_000 + 1 / 3.6, 0)
    _, cached = cache.send(request(text("a"), text(LONG, marked=True)))
    assert cached == 2_000 + 1 / 3.6
    _, cached = cache.send(request(text("b", marked=True)))
    assert cached == 2_000
    assert cache.send(request(text("a", marked=True), system=LONG + "!"))[1] == 0


def test_the_cache_looks_back_only_twenty_blocks() -> None:
    cache = PrefixCache()
    first = [text("a"), text(LONG, marked=True)]
    cache.send(request(*first))
    near = [*first[:1], text(LONG), *(text(str(n)) for n in range(LOOK_BACK - 2)), text("end", marked=True)]
    far = [*first[:1], text(LONG), *(text(str(n)) for n in range(LOOK_BACK - 1)), text("end", marked=True)]
    assert cache.send(request(*near))[1] == 4_000 + 1 / 3.6
    fresh = PrefixCache()
    fresh.send(request(*first))
    assert fresh.send(request(*far))[1] == 2_000


def test_a_short_prefix_is_not_cached() -> None:
    cache = PrefixCache()
    cache.send(request(text("a", marked=True), system="short"))
    assert cache.send(request(text("a", marked=True), system="short"))[1] == 0


def test_a_request_that_does_not_begin_with_the_one_before_it_in_its_chat_is_a_break() -> None:
    asked, other = text("asked", marked=True), text("another chat")
    longer, changed = request(asked, text("more")), request(asked, text("less"))
    assert list_breaks([request(asked), request(other), longer]) == []
    assert list_breaks([request(asked), longer, changed, request(asked, system="short")]) == [2, 3]


def test_a_cell_is_named_by_the_heading_above_its_source_and_not_by_a_traceback() -> None:
    shown = (
        "--- cell 26 [c25]: code ---\nshare(df)\n--- output of cell 26 ---\n      1 def share(frame):\n\n"
        "--- cell 23 [c22]: code ---\ndef share(frame):\n    return frame"
    )
    view = RequestView({"messages": [{"role": "user", "content": shown}]})
    assert view.find_cell("def share(") == NamedCell(23, "c22")
    assert view.find_cell("return frame") == NamedCell(23, "c22")
    assert view.find_cell("frame") is None


def test_a_figure_may_become_worse_by_five_percent() -> None:
    before = Figures(requests=3, tokens=10_000, cached=0.8, refused=0, approvals=2, clicks=1)
    near = Figures(requests=3, tokens=10_499, cached=0.801, refused=0, approvals=2, clicks=1)
    worse = Figures(requests=4, tokens=10_501, cached=0.75, refused=1, approvals=1, clicks=1)
    assert list(near.find_worse(before)) == []
    assert list(worse.find_worse(before)) == [
        "requests 3 -> 4",
        "tokens 10,000 -> 10,501",
        "refused 0 -> 1",
        "tokens not cached 2,000 -> 2,625",
    ]
    assert "| 4 (3) | 10,501 (10,000) | 75% (80%) | 1 (0) |" in draw({"fix": worse}, {"fix": "Fix"}, {"fix": before})


def test_limits_count_the_requests_of_several_tasks_together_and_leave_out_what_was_not_run() -> None:
    row = Figures(requests=2, tokens=8_000, cached=0.5, refused=0, approvals=3, clicks=2)
    table = dict.fromkeys(goals.SUMMED, row)
    within = {one.name: one for one in goals.compare_figures(table)}
    assert within[f"requests of {', '.join(goals.SUMMED)}"] == goals.Measured(
        f"requests of {', '.join(goals.SUMMED)}", 18, 26
    )
    assert "requests of long_chat" not in within
    assert not [one for one in within.values() if one.is_over]
    over = Figures(requests=11, tokens=24_001, cached=0.5, refused=0, approvals=3, clicks=3)
    found = goals.compare_figures(table | {"bars": over, "refactor": over})
    assert [(one.now, one.most) for one in found if one.is_over] == [(36, 26), (24_001, 24_000), (3, 2)]
    assert [one.name for one in goals.compare_figures({"refactor": over})] == ["clicks of refactor"]
    assert "| clicks of refactor | 3 OVER | 2 |" in goals.draw(found)


def test_no_continuation_may_break_the_prefix() -> None:
    assert [goals.compare_breaks(count).is_over for count in (0, 1)] == [False, True]


def test_the_sizes_are_rounded_and_compared_with_their_limits() -> None:
    found = goals.compare_sizes(goals.Sizes(prompt=4_900.4, unchanged_chip=15.6, long_cell_chip=400.2))
    assert [(one.now, one.is_over) for one in found] == [(4_900, False), (16, True), (400, False)]
