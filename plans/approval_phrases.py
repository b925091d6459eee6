"""The words that approve and the words that cancel: only as the whole message, never on doubt.

What is almost one of them is neither: the person is asked for a clear yes, and nothing starts.
"""

from __future__ import annotations

import re

from agents.normalization import normalized

APPROVING = frozenset(
    [
        *("go ahead", "go", "start", "start it", "start the plan", "begin", "proceed", "continue"),
        *("ok", "okay", "yes", "yes please", "y", "confirm", "confirmed", "approve", "approved"),
        *("do it", "run it", "yes go ahead", "yes, go ahead", "sure", "lgtm", "looks good"),
        *("sounds good", "make it so", "let's go", "ship it", "👍"),
        *("开始", "开始吧", "开始执行", "确认", "好", "好的", "可以", "同意", "执行", "继续"),
        *("没问题", "行", "批准", "启动", "启动计划", "开始计划"),
        *("はい", "開始", "네", "시작", "да", "начинай", "sí", "si", "adelante"),
        *("oui", "vas-y", "d'accord", "ja", "los", "los geht's", "sim"),
    ]
)

CANCELLING = frozenset(
    ["cancel", "cancel it", "cancel the plan", "abandon", "取消", "放弃"],
)

# A message almost approves when all of it is made of these, with at least one that agrees.
AGREEING = (
    frozenset(word for phrase in APPROVING for word in re.findall(r"[\w'-]+", phrase))
    - {"it", "the", "plan", "please", "make", "so", "let's"}
) | frozenset(
    [
        *("yep", "yeah", "yup", "ya", "alright", "agreed", "agree", "accept", "accepted", "fine"),
        *("great", "perfect", "nice", "cool", "excellent", "absolutely", "definitely", "certainly"),
        *(
            "awesome",
            "wonderful",
            "fantastic",
            "brilliant",
            "lovely",
            "super",
            "exactly",
            "correct",
        ),
        *("indeed", "totally", "aye", "yea", "kk", "happy", "love", "like", "course"),
        *("execute", "launch", "works", "ready", "true", "好啊", "行吧", "可以的", "没问题的"),
        *("👍", "👌", "✅", "🚀", "💯"),
    ]
)
FILLING = frozenset(
    [
        *("it", "the", "a", "plan", "please", "pls", "make", "so", "let's", "lets", "us", "now"),
        *("then", "and", "i", "me", "for", "to", "that", "that's", "this", "it's", "all", "very"),
        *("just", "thing", "thanks", "thank", "of", "on", "right", "away", "well", "🙏"),
        *("is", "are", "can", "may", "will", "that'll", "i'm", "you", "we", "with", "as"),
    ]
)
# These ask, at the beginning or before one of whom or what they ask about.
ASKING = frozenset(["is", "are", "can", "may", "will"])
ASKED_ABOUT = frozenset(["it", "that", "this", "you", "we", "i"])
LONGEST_NEARLY = 8  # words
TOKEN = re.compile(r"[\w'-]+|[^\w\s]")
PAUSES = frozenset(",.!:;~、，。！；")
SKIN_TONES = dict.fromkeys([0xFE0F, *range(0x1F3FB, 0x1F400)])


def approves(text: str) -> bool:
    return normalize(text) in APPROVING


def nearly_approves(text: str) -> bool:
    """Nothing but agreement, and yet none of the listed phrases: "yes, do it please".

    One word that could be a wish, a doubt, a refusal or a question, and it is an ordinary message.
    """
    tokens = TOKEN.findall(normalize(text).translate(SKIN_TONES))
    words = [word for word in tokens if word not in PAUSES]
    if approves(text) or not 0 < len(words) <= LONGEST_NEARLY:
        return False
    # A question without its mark, or something to be made other than it is: "make it nice".
    asks = any(
        first in ASKING and second in ASKED_ABOUT
        for first, second in zip(["", *words], words, strict=False)
    )
    if words[0] in ASKING or asks or ("make" in words and "so" not in words):
        return False
    return AGREEING.issuperset(set(words) - FILLING) and not AGREEING.isdisjoint(words)


def cancels(text: str) -> bool:
    return normalize(text) in CANCELLING


def normalize(text: str) -> str:
    """NFKC, casefold, without spaces and `.!。！` at the ends; a question mark stays."""
    word = normalized(text, "NFKC").casefold().replace("’", "'")
    return word.strip(" \t\r\n\u3000.!。！")
