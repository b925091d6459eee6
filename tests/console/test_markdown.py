"""What a model writes is read, and nothing else."""

import pytest

from console.markdown import render


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


def test_a_remote_image_is_not_fetched():
    html = render("![the secret plan](https://example.com/x.png?leak=1)")
    assert "<img" not in html
    assert "example.com" not in html
    assert "the secret plan" in html


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
    assert "<h3>One</h3>" in html
    assert "<h6>Six</h6>" in html


def test_no_attribute_of_the_page_comes_from_the_text():
    html = render('# x {#plan}\n\n[a](https://e.com "t\\" id=\\"plan")\n\n`<i id=plan>`')
    assert ' id="' not in html
    assert " data-" not in html
