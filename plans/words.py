"""The words that approve and the words that cancel: only as the whole message, never on doubt."""

from __future__ import annotations

import unicodedata

APPROVING = frozenset(
    [
        *("go ahead", "go", "start", "start it", "start the plan", "begin", "proceed", "continue"),
        *("ok", "okay", "yes", "yes please", "y", "confirm", "confirmed", "approve", "approved"),
        *("do it", "run it"),
        *("开始", "开始吧", "开始执行", "确认", "好", "好的", "可以", "同意", "执行", "继续"),
        *("はい", "開始", "네", "시작", "да", "начинай", "sí", "si", "adelante"),
        *("oui", "vas-y", "d'accord", "ja", "los", "los geht's", "sim"),
    ]
)

CANCELLING = frozenset(
    ["cancel", "cancel it", "cancel the plan", "abandon", "取消", "放弃"],
)


def approves(text: str) -> bool:
    return normal(text) in APPROVING


def cancels(text: str) -> bool:
    return normal(text) in CANCELLING


def normal(text: str) -> str:
    """NFKC, casefold, without spaces and `.!。！` at the ends; a question mark stays."""
    word = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return word.strip(" \t\r\n\u3000.!。！")
