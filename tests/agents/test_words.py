"""The words of a text: the same for question and text, in any script."""

import re

import pytest

from tests.inner import LONGEST_WORD, MOST_SIGNS, SIGNS, folded, words_of, written
from tests.inner import WORDS_MOST_BYTES as MOST_BYTES
from tests.inner import WORDS_MOST_CHARACTERS as MOST_CHARACTERS
from tests.inner import words_question_of as question_of


@pytest.mark.parametrize(
    "text, words",
    [
        ("Edit docs/api.md, edit_file!", ["edit", "docs", "api", "md", "file"]),
        ("Café NAÏVE straße", ["cafe", "naive", "strasse"]),
        ("Ещё ПЛАН", ["еще", "план"]),
        ("数据库", ["数据", "据库", "库"]),
        ("v2接口ok", ["v2", "接口", "口", "ok"]),
        ("データ", ["デー", "ータ", "タ"]),
        ("ｱ１", ["ア", "1"]),
        ("pay\u200bload \u202eevil", ["payload", "evil"]),
        ("हिन्दी", ["हिन्दी"]),
        ("한국어 검색", ["한국어", "검색"]),
        ("👍 … —", []),
        ("", []),
    ],
)
def test_words_have_no_case_no_accents_and_no_signs(text, words):
    assert words_of(text) == words


def test_each_word_counts_once_and_none_is_without_end():
    assert words_of("a A á " + "x" * 500) == ["a", "x" * LONGEST_WORD]
    many = " ".join(f"word{n}" for n in range(200_000))
    assert sum(len(word) + 1 for word in words_of(many)) <= MOST_BYTES


def test_a_question_is_plain_text_and_bounded():
    assert question_of('NEAR("a b") OR c* -d:"').parts == ("near", "a", "b", "or", "c", "d")
    assert len(question_of(" ".join(f"w{n}" for n in range(100))).words) == 12
    assert question_of("數").words == (("數", True),)
    assert question_of("数据库").words == (("数据", False), ("据库", False))


def test_no_text_takes_more_memory_or_time_than_others_by_its_signs():
    words_of("".join(chr(code) for code in range(0x20, 0x30000) if not 0xD800 <= code < 0xE000))
    assert len(SIGNS) <= MOST_SIGNS
    assert len(folded("\ufdfa" * 100_000)) == MOST_CHARACTERS, "each stands for eighteen"


@pytest.mark.parametrize("vendor", ["postgresql", "sqlite"])
def test_no_sign_of_a_question_has_a_meaning_for_the_database(vendor):
    """Quotes, brackets and operators, in whichever script or width they are written."""
    for start in range(0, 0x30000, 200):
        signs = [chr(code) for code in range(start, start + 200) if not 0xD800 <= code < 0xE000]
        for word in folded("".join(signs)).translate(SIGNS).split():
            assert word.isascii() <= word.isalnum() and not set(word) & set("'\"\\:*&|!()<>"), word
    hostile = written(vendor, "_m1", question_of("a' | 'b' & !c:* <-> (d \\' OR \"e\" NEAR(f)"))
    operators = " & " if vendor == "postgresql" else " AND "
    parts = hostile.split(operators)
    assert len(parts) > 5
    assert all(re.fullmatch(r"""(['"])\w+\1(:?\*)?""", part) for part in parts), hostile
