"""Sentences and their parts, put together as their language does it."""

import pytest
from django.template import Context, Template
from django.utils.translation import override

from tests.inner import Times, beside, gap_behind, listed, sentences


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        (("It is done.", "", "It stays."), "It is done. It stays."),
        (("计划已完成。", "不能再更改。"), "计划已完成。不能再更改。"),
        (("计划 v3", "等待确认。"), "计划 v3 等待确认。"),
        (("它说：“不行。”", "请重试。"), "它说：“不行。”请重试。"),
        (("It said “no”", "Try again."), "It said “no” Try again."),
        ((), ""),
    ],
)
def test_a_space_stands_where_the_sentence_before_brings_no_room(parts, joined):
    assert sentences(*parts) == joined


def test_nothing_stands_before_the_first():
    assert gap_behind("") == ""


def test_templates_join_their_sentences_likewise():
    page = Template("{% sentences %}\n <b>一。</b>\n 二。\n three.\n four.\n{% endsentences %}")
    assert page.render(Context()) == "<b>一。</b>二。three. four."


@pytest.mark.parametrize(
    ("language", "words", "half"),
    [("en", "0:42 working, 0:10 paused", "50 %"), ("zh-hans", None, "50%")],
)
def test_parts_and_shares_have_the_signs_of_the_language(language, words, half):
    with override(language):
        said = Times(42, 0, 10).words
        assert Template("{{ 50|percent }}").render(Context()) == half
    assert said == words or (words is None and ", " not in said and "、" in said)


@pytest.mark.parametrize(
    ("name", "words", "asks"),
    [
        ("文档助手", "给文档助手发消息", "文档助手的提问"),
        ("Docs writer", "给 Docs writer 发消息", "Docs writer 的提问"),
        ("文档 AI", "给文档 AI 发消息", "文档 AI 的提问"),
        ("", "给  发消息", " 的提问"),
    ],
)
def test_a_name_has_a_space_beside_chinese_only_where_it_ends_in_another_script(name, words, asks):
    assert beside(f"给 {name} 发消息", name) == words
    page = Template("{% about name %} {{ name }} 的提问 {% endabout %}")
    assert page.render(Context({"name": name})).strip() == asks.strip()
    assert beside(f"Message {name}, or", name) == f"Message {name}, or"


@pytest.mark.parametrize(
    ("parts", "words"),
    [(["1", "3"], "1 和 3"), (["1", "2", "3"], "1、2 和 3"), (["读", "写"], "读和写")],
)
def test_the_last_of_a_list_is_spaced_by_its_script(parts, words):
    with override("zh-hans"):
        assert listed(parts) == words
