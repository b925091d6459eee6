"""An agent's settings as fields of a form: one field is one key of its agent.json."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_lazy
from pydantic import JsonValue

from agents.chains.store import chain_ids
from agents.config.json_text import display_json, written
from agents.config.schema import Show, WrongValue
from agents.config.store import AgentRecord, Faulty, is_admins, set_key
from agents.errors import Invalid, Refused, Stale
from console.agent_settings import ELSEWHERE, SETTINGS, Choices, Setting

CHANGED = gettext_lazy("agent.json changed on disk.")


@dataclass(frozen=True)
class Field:
    """A setting with what stands in it; `was` names its value, so that a later one is not lost."""

    setting: Setting
    text: str
    was: str
    choices: Choices


def fields_of(agent: AgentRecord) -> dict[str, Field]:
    """Every field of the form by the name that templates use."""
    chains = tuple((id, id) for id in chain_ids())
    own = [each for each in SETTINGS.values() if not each.is_servers or is_admins(agent.id)]
    return {each.name: field_of(each, agent, chains) for each in own}


def field_of(setting: Setting, agent: AgentRecord, chains: Choices) -> Field:
    """Among its choices stands what the file names, also a chain that is gone."""
    value = setting.value_in(agent.file)
    text = setting.show(value)
    choices = chains if setting.kind == "list" else setting.choices
    if choices and text not in dict(choices):
        choices = (*choices, (text, text))
    return Field(setting, text, digest_of(value), choices)


def digest_of(value: JsonValue) -> str:
    return hashlib.sha256(written(value).encode()).hexdigest()[:16]


def save_field(agent_id: str, key: str, text: str, was: str | None) -> str:
    """What was typed becomes the key's value; the sentence says so, and is empty if it was that.

    Stale where the key is not as the person saw it (`was`; None for whatever it is) any more.
    """
    if key not in SETTINGS:
        raise Invalid(gettext("There is no such field."))
    setting = SETTINGS[key]
    value = setting.read(text)
    before: list[JsonValue] = []

    def seen(record: AgentRecord) -> None:
        now = setting.value_in(record.file)
        before.append(now)
        if was is not None and now != value and digest_of(now) != was:
            raise Stale(str(CHANGED))

    after = set_key(agent_id, key, value, seen)
    is_same = digest_of(before[0]) == digest_of(setting.value_in(after.file))
    return "" if is_same else setting.sentence(after.file)


def in_form(refusal: Refused) -> str:
    """The sentence as a form says it: a field is called by its label, not by its key."""
    sentence, key = str(refusal), refusal.field
    if words := words_of(key):
        label, shown = words
        name = gettext("“{field}”").format(field=label)
        fault = refusal.fault if isinstance(refusal, Faulty) else None
        if isinstance(fault, WrongValue):
            sentence = gettext("{reason}.").format(reason=fault.said_of(name, shown))
        else:
            sentence = re.sub(f"^{re.escape(key)}(?=[:： ])", name, sentence)
    return sentence[:1].upper() + sentence[1:]


def words_of(key: str) -> tuple[str, Show] | None:
    """What the field of a key, or of a part of it, is called, and how it shows values."""
    for setting in SETTINGS.values():
        if re.match(rf"{re.escape(setting.key)}([.[]|$)", key):
            return setting.short, setting.in_words
    label = ELSEWHERE.get(re.split(r"[.[]", key)[0])
    return (str(label), display_json) if label else None
