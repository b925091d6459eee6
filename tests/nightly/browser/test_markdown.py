"""A reply in markdown as it is drawn: formulas, footnotes, and code that is copied."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.fake_model import rule, say

COPIES = ["clipboard-read", "clipboard-write"]
REPLY = r"""The roots[^1] are

$$
\begin{aligned}
x_{1,2} &= \frac{-b \pm \sqrt{b^2-4ac}}{2a} \\
        &= -\frac{p}{2} \pm \sqrt{\frac{p^2}{4}-q}
\end{aligned}
$$

with \(a \neq 0\), and cost $5 or $6. $\boxed{E = mc^2}$ and $\foo$ and
$$\begin{pmatrix} a_{11} & a_{12} \\ a_{21} & a_{22} \end{pmatrix} \sum_{n=1}^{\infty} \frac{1}{n^2} = \frac{\pi^2}{6}$$

|Name|Figure|
|:-|-:|
|$\alpha$|1.5|
|long|12.25|

- [x] done, see https://example.com/a_(b).
- [ ] open \(x\)

```python
def root(a, b, c):
    return (b * b - 4 * a * c) ** 0.5
```

[^1]: As far as there are **any**.
"""


@pytest.fixture
def tab(site, open_tab):
    site.plays(rule(say(REPLY)))
    chat = site.conversation()
    site.says(chat, "solve it")
    site.drive()
    tab = open_tab(permissions=COPIES).chat(chat)
    expect(tab.page.get_by_role("list", name="Footnotes")).to_be_visible()
    return tab


@pytest.fixture
def page(tab):
    return tab.page


def test_code_that_was_copied_says_so_for_two_seconds(page):
    button = page.locator(".code button")
    expect(button).to_have_text("Copy")
    page.clock.install()
    page.clock.pause_at("2040-01-01")
    button.click()
    expect(button).to_have_text("Copied")
    expect(page.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    page.clock.run_for(1_999)
    expect(button).to_have_text("Copied")
    page.clock.run_for(1)
    expect(button).to_have_text("Copy")
    assert page.evaluate("navigator.clipboard.readText()").startswith("def root(a, b, c):\n")


__all__ = ["page", "tab"]


def test_a_formula_wider_than_the_page_scrolls_by_itself(tab):
    tab.page.set_viewport_size(PHONE)
    for place in ("p", "li"):
        math = tab.page.locator(f".prose {place} > math").first
        math.evaluate(
            "each => each.append(...Array.from({length: 200}, () => each.firstChild.cloneNode(true)))"
        )
        holder = "each => each.closest('p, ul')"
        assert math.evaluate(f"each => ({holder})(each).scrollWidth > innerWidth")
    wide = "each => each.scrollWidth > each.clientWidth"
    assert not tab.page.locator("html").evaluate(wide)
    assert not tab.log.evaluate(wide)


def test_a_footnote_leads_to_its_place_and_back(page):
    page.get_by_role("link", name="1", exact=True).click()
    expect(page.locator(":target")).to_have_text(re.compile("^As far"))
    page.get_by_role("link", name="Back to note 1").click()
    expect(page.locator(":target")).to_have_text("1")
