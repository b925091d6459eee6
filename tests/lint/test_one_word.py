"""Pages call a thing by one word: subtask, replan, skip. For what is said: tests/plans/test_one_word.py."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TAG = re.compile(r"<[^>]*>|{%.*?%}|{{.*?}}|{#.*?#}", re.DOTALL)
OTHER_WORDS = re.compile(r"\bsteps?\b|\banew\b", re.IGNORECASE)


def test_no_page_calls_a_subtask_a_step_or_replanning_otherwise():
    found = {
        str(page.relative_to(ROOT)): OTHER_WORDS.findall(TAG.sub(" ", page.read_text()))
        for page in sorted(ROOT.glob("templates/**/*.html"))
    }
    assert {page: words for page, words in found.items() if words} == {}
