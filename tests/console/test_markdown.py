"""What a model writes is read, and nothing else."""

import re

import pytest

from tests.inner import render


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '<hx-partial hx-target="#plan">gone</hx-partial>',
        '<div hx-get="/c/1/drawer" hx-trigger="load">x</div>',
        "<iframe src=https://example.com></iframe>",
        "<style>body{display:none}</style>",
    ],
)
def test_html_in_the_text_stays_text(text):
    assert "&lt;" in render(text)
    assert "<" + text[1:5] not in render(text)


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "vbscript:x"])
def test_a_link_that_would_run_something_is_no_link(address):
    assert "href" not in render(f"[press]({address})")


def test_a_link_elsewhere_takes_nothing_with_it():
    html = render("[PR 482](https://example.com/482)")
    assert 'href="https://example.com/482"' in html
    assert "noopener" in html


def test_a_link_to_a_file_of_the_workspace_leads_nowhere():
    assert "href" not in render("[the guide](docs/guide.md)")


def test_a_remote_image_is_a_link_with_its_description():
    html = render("![the secret plan](https://example.com/x.png?leak=1)")
    assert "<img" not in html
    assert '<a href="https://example.com/x.png?leak=1"' in html
    assert ">the secret plan</a>" in html


@pytest.mark.parametrize("address", ["x.png", "data:image/png;base64,AA", "javascript:alert(1)"])
def test_an_image_that_is_nowhere_in_the_web_is_its_description(address):
    html = render(f"![a chart]({address})")
    assert "href" not in html
    assert "a chart" in html


def test_an_image_in_a_link_adds_no_second_link():
    html = render("[![build](https://e.com/b.svg)](https://e.com/ci)")
    assert html.count("<a ") == 1
    assert 'href="https://e.com/ci"' in html


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("see https://e.com/a?b=1&c=2.", "https://e.com/a?b=1&amp;c=2"),
        ("(https://e.com/a_(b))", "https://e.com/a_(b)"),
        ("http://e.com/x, and more", "http://e.com/x"),
        ("见https://e.com/文。谢谢", None),
        ("请看 https://e.com/a。谢谢", "https://e.com/a"),
        ("**https://e.com/a**", "https://e.com/a"),
        ("see www.e.com/a, too", "https://www.e.com/a"),
        ("(www.e.com)", "https://www.e.com"),
        ("see https://e.com\u2044.evil.com/", "https://e.com"),
        ("see https://e.com\u00ad.evil.com/", "https://e.com"),
        ("see https://e.com\ufeff.evil.com/", "https://e.com"),
        ("see https://e.com\u061c.evil.com/", "https://e.com"),
    ],
)
def test_a_bare_address_is_a_link_without_what_ends_the_sentence(text, address):
    html = render(text)
    assert html.count("<a ") == (address is not None)
    if address:
        assert f'<a href="{address}" rel="noopener noreferrer nofollow">' in html


@pytest.mark.parametrize(
    "text",
    [
        "`https://e.com`",
        "ftp://e.com",
        "javascript://e.com",
        "xhttps://e.com",
        "www. and www.x and xwww.e.com and a@www.e.com",
        "`www.e.com`",
        "```\nhttps://e\n```",
    ],
)
def test_what_is_code_or_no_address_of_the_web_is_no_link(text):
    assert "<a " not in render(text)


def test_an_address_in_a_link_is_not_linked_twice():
    assert render("[https://e.com](https://e.com/other)").count("<a ") == 1


def test_a_bare_address_ends_before_what_turns_text_round():
    assert "\u202e" not in render("https://e.com/\u202egnp.exe").partition("</a>")[0]


def test_tasks_are_boxes_that_cannot_be_ticked():
    html = render("- [ ] open\n- [x] done")
    assert html.count('type="checkbox"') == html.count('disabled=""') == 2
    assert html.count('checked=""') == 1


def test_columns_keep_their_sides_without_a_style():
    html = render("|a|b|c|\n|:-|:-:|-:|\n|1|2|3|")
    assert "style=" not in html
    assert 'class="right"' in html
    assert 'class="center"' in html


def test_each_paragraph_runs_in_the_direction_of_its_own_letters():
    html = render("שלום\n\nhello\n\n- one\n\n> two")
    assert html.count('dir="auto"') == 5


def test_code_is_coloured_by_classes_and_can_be_copied():
    html = render("```python\ndef f():\n    return '<b>'\n```")
    assert '<span class="k">def</span>' in html
    assert "style=" not in html
    assert "data-copy" in html
    assert "&lt;b&gt;" in html


def test_code_that_still_grows_is_shown_plain():
    assert '<span class="k">' not in render("```python\ndef f():", live=True)


def test_headings_leave_the_first_two_levels_to_the_page():
    html = render("# One\n\n###### Six")
    assert ">One</h3>" in html
    assert ">Six</h6>" in html


def test_no_attribute_of_the_page_comes_from_the_text():
    html = render('# x {#plan}\n\n[a](https://e.com "t\\" id=\\"plan")\n\n`<i id=plan>`')
    assert ' id="' not in html
    assert " data-" not in html


@pytest.mark.parametrize(
    "text", ["$x^2$", r"\(x^2\)", "$$x^2$$", r"\[x^2\]", "$$\nx^2\n$$", "\\[\nx^2\n\\]."]
)
def test_a_formula_is_drawn_as_mathml(text):
    html = render(f"before\n{text}\nbehind")
    assert "<msup><mi>x</mi><mn>2</mn></msup></math>" in html
    assert ('<math display="block">' in html) == (text[1] in "$[")


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $6.",
        "from $5 to $6, or $5-$6",
        "US$5/US$6",
        "$HOME/bin:$PATH",
        "$5k now and 10$ later",
        "pay in $ or in € or in $",
        r"\$5\$",
        r"\(left open",
        r"\[no formula\](https://e.com)",
        "$$ left open",
        "`$x$`",
        "```\n$$\nx\n$$\n```",
    ],
)
def test_prices_variables_and_code_are_no_formulas(text):
    assert "<math" not in render(text)


def test_a_formula_keeps_the_lines_that_would_be_a_list():
    html = render("$$\n\\begin{aligned}\na &= b \\\\\n+ c \\\\\n- d\n\\end{aligned}\n$$\n\n- item")
    assert html.count("<mtr>") == 3
    assert html.count("<li") == 1
    assert 'class="right"' in html
    assert " style=" not in html


def test_a_formula_in_a_list_and_in_a_cell_stays_there():
    assert re.search(r"<li.*<math.*</li>", render("- a\n\n  $$\n  x\n  $$"), re.DOTALL)
    assert re.search(r"<td[^>]*><math>.*</math></td>", render("|a|\n|-|\n|$x$|"))


@pytest.mark.parametrize(
    "text", [r"$\foo x$", r"\(\frac{\)", r"$\href{javascript:alert(1)}{x}$", r"$\ref{plan}$"]
)
def test_a_formula_that_cannot_be_read_stays_as_typed_in_code(text):
    assert f"<code>{text}</code>" in render(text)


def test_a_formula_brings_no_html_no_id_and_no_style():
    html = render(r"$$\begin{align}\text{<img src=x>}&\label{plan}\color{red}x\end{align}$$")
    assert "<math" in html
    assert "<img" not in html
    assert " id=" not in html
    assert " style=" not in html


def test_a_note_is_linked_with_its_place_and_back():
    html = render("a[^x], b[^x]\n\n[^x]: The **note**.\n[^y]: Nobody refers to it.")
    links = re.findall(r'<a href="#([\w-]+)"', html)
    assert len(links) == 4
    assert all(f'id="{place}"' in html for place in links)
    assert "<strong>note</strong>" in html
    assert "Nobody refers to it." in html


def test_the_notes_of_two_texts_have_different_places():
    one, other = (re.findall(r'id="([\w-]+)"', render(f"{word}[^1]\n\n[^1]: b")) for word in "ab")
    assert one and other
    assert not set(one) & set(other)


def test_a_reference_to_no_note_stays_as_typed():
    assert "a[^1]" in render("a[^1]\n\n[^2]: b")


def test_columns_of_numbers_stand_at_the_right_and_the_first_names_the_rows():
    table = "| n | a | b | c | d |\n|---|---|---|---|:--|\n| 1 | 93 % | 3:10 | no | 5 |\n| 2 |  | −4 | 7 | 6 |"
    html = render(table)
    for text in ("a", "b"):
        assert f'class="right">{text}</th>' in html
    for text in ("93 %", "3:10", "−4"):
        assert f'class="right">{text}</td>' in html
    for text in ("1", "no", "7"):
        assert f'class="right">{text}</td>' not in html
    assert 'class="left">5</td>' in html
