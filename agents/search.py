"""Full text: what is said and planned is indexed in the transaction that writes it, and found.

SQLite has it in an FTS5 table, PostgreSQL in a tsvector with a GIN index; the words are the same.
"""

from __future__ import annotations

from typing import NamedTuple

from agents.models import Message, SearchEntry
from agents.statements import (
    FIND,
    INDEXED,
    NAMED,
    REPLACED,
    SAID,
    execute,
    kept_cursor,
    this_database,
)
from agents.words import Question, words_of

Kind = SearchEntry.Kind
KINDS = (Message.Kind.TEXT, Message.Kind.QUESTION)  # of messages; the others are no one's words


class Hit(NamedTuple):
    """Where words were found: a message, a plan, or the conversation's title."""

    entry: int
    conversation: int
    message: int | None
    plan: int | None


def index_title(conversation: int, title: str) -> None:
    index(Kind.TITLE, conversation, title)


def index_message(message: Message) -> None:
    """Once it is whole; what is being written is not found yet."""
    if message.kind in KINDS and message.text and not message.streaming:
        index(Kind.MESSAGE, message.conversation_id, message.text, message=message.pk)


def index_plan(conversation: int, plan: int, text: str) -> None:
    index(Kind.PLAN, conversation, text, plan=plan)


def forget_plan(plan: int) -> None:
    SearchEntry.objects.filter(plan=plan).delete()


def index(
    kind: str, conversation: int, text: str, message: int | None = None, plan: int | None = None
) -> None:
    words = " ".join(words_of(text))
    sql = f"{INDEXED[this_database().vendor]} ON CONFLICT {REPLACED[kind]}"
    execute(
        f"{sql} DO UPDATE SET words = excluded.words", [message, plan, kind, words, conversation]
    )


def find(owner: int, kind: str, question: Question, most: int) -> list[Hit]:
    """The newest that have all words of the question, which may go on; none for no words."""
    if not question.words:
        return []
    vendor = this_database().vendor
    wanted = written(vendor, f"_{kind}{owner}", question)
    cursor = kept_cursor()
    among = SAID if kind == Kind.MESSAGE else NAMED
    cursor.execute(FIND[vendor].format(**among), [wanted, most])
    return [Hit(*row) for row in cursor.fetchall()]


def written(vendor: str, whose: str, question: Question) -> str:
    """The question in the database's own language; words hold no sign that means anything there."""
    if vendor == "postgresql":
        words = [f"'{word}':*" if goes_on else f"'{word}'" for word, goes_on in question.words]
        return " & ".join([f"'{whose}'", *words])
    words = [f'"{word}"*' if goes_on else f'"{word}"' for word, goes_on in question.words]
    return " AND ".join([f'"{whose}"', *words])
