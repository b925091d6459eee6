"""The models a person may choose from in a conversation: what they used lately, then what each
provider listed. Nothing is asked for this."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from django.utils.translation import gettext

from agents.config.store import AgentRecord
from agents.engine.alternatives import chat_turns
from agents.engine.handlers import CHOSEN
from agents.errors import Invalid
from agents.llm import catalog, discovery
from agents.llm.catalog import Listing
from agents.llm.lessons import lessons_for
from agents.llm.model_info import ModelInfo
from agents.llm.providers import lacks, resolve
from agents.models import Conversation
from console.conversation_state import ConversationState
from console.status_labels import ModelName, name_of_model

MOST_RECENT = 3
MOST_OF_A_PROVIDER, MOST_FOUND = 5, 20  # rows, before and while something is looked for
LOOKED_AT = 20  # turns and conversations that say which models were used lately
SILENT = ("unreachable", "silent")


@dataclass(frozen=True)
class Choice:
    """One model as a row; `value` is provider/model."""

    value: str
    name: str
    provider: str
    info: ModelInfo
    is_current: bool

    @property
    def is_blind(self) -> bool:
        """Whether it is known to see no images."""
        provider, _, model = self.value.partition("/")
        return sees_images(provider, model) is False


@dataclass(frozen=True)
class ChoiceGroup:
    """The models of one provider; `note` is where it is, or how many more it has."""

    title: str
    note: str
    rows: list[Choice]


@dataclass(frozen=True)
class Choices:
    """`silent` are providers that had models and do not answer now."""

    groups: list[ChoiceGroup]
    silent: list[str]
    find: str


def choices_of(now: ConversationState, find: str = "") -> Choices:
    return choices_beside(now.model_in_use, recent_models(now), find)


def choices_of_agent(agent: AgentRecord, owner_id: int, find: str = "") -> Choices:
    """What an agent may be answered by: its own model, then what its person chose lately."""
    own = (agent.file.provider, agent.file.model)
    names = dict.fromkeys([own, *chosen_by(owner_id)])
    return choices_beside(own, [name for name in names if can_answer(*name)][:MOST_RECENT], find)


def choices_beside(in_use: ModelName, recent: list[ModelName], find: str) -> Choices:
    """Without a search the models used lately come first; each model stands once."""
    words = find.lower().replace("/", " ").split()
    listings = known_listings()
    recent = [] if words else recent
    groups = [ChoiceGroup(gettext("Recent"), "", [choice(in_use, *name) for name in recent])]
    most = MOST_FOUND if words else MOST_OF_A_PROVIDER
    found = discovery.found_in(listings)
    for place in found.places:
        own_name = name_of_model(place.provider, "")
        around = f"{place.provider} {place.label}"
        fit = [m for m in place.models if has_words(f"{around} {own_name or m.id}", words)]
        rest = [m for m in fit if (place.provider, m.id) not in recent]
        rows = [choice(in_use, place.provider, m.id, m) for m in rest[:most]]
        more = gettext("{n} of {count}, type to find more").format(n=len(rows), count=len(fit))
        is_here = gettext("on this computer") if place.is_local else ""
        note = more if len(rest) > len(rows) else is_here
        groups.append(ChoiceGroup(place.label, note, rows))
    silent = [resolve(each.provider).label for each in listings if is_missed(each)]
    return Choices([group for group in groups if group.rows], silent, find.strip())


def has_words(text: str, words: list[str]) -> bool:
    """Whether each of the words, which are in lower case, stands in what a model is called."""
    return all(word in text.lower() for word in words)


def known_listings() -> list[Listing]:
    """What each provider that could be asked said last."""
    return [catalog.listing_of(name) for name in discovery.at_hand()]


def is_missed(listing: Listing) -> bool:
    return listing.kind in SILENT and bool(listing.models)


def recent_choices(now: ConversationState) -> list[Choice]:
    """What another reply may be asked of: not the model in use, which has a row of its own."""
    others = [name for name in recent_models(now, MOST_RECENT + 1) if name != now.model_in_use]
    return [choice(now.model_in_use, *name) for name in others[:MOST_RECENT]]


def recent_models(now: ConversationState, most: int = MOST_RECENT) -> list[ModelName]:
    """The one in use, those chosen here and in other conversations, the agent's own."""
    conversation = now.conversation
    turns = chat_turns(conversation.pk).order_by("-pk")[:LOOKED_AT]
    here = turns.values_list(f"config__{CHOSEN}", flat=True)
    elsewhere = chosen_by(conversation.owner_id)
    chosen: list[ModelName] = [(str(each[0]), str(each[1])) for each in here if each]
    names = dict.fromkeys([now.model_in_use, *chosen, *elsewhere, now.own_model])
    return [name for name in names if can_answer(*name)][:most]


def chosen_by(owner_id: int) -> list[ModelName]:
    """The models that a person has chosen for conversations, the latest first."""
    chosen = Conversation.objects.filter(owner=owner_id).exclude(model="")
    return list(chosen.order_by("-updated_at").values_list("provider", "model")[:LOOKED_AT])


def sees_images(provider: str, model: str) -> bool | None:
    """None where nobody knows: then it is tried."""
    with suppress(Invalid):
        endpoint = resolve(provider)
        if lessons_for(endpoint, model).is_blind:
            return False
        info = catalog.model_info(endpoint, model)
        return info.sees_images if info else None
    return None


def seeing_model(now: ConversationState) -> tuple[str, str]:
    """A model that sees images, as provider/model and by its name: one used lately, one of the same
    provider, or any; empty where none is listed."""
    provider = now.model_in_use[0]
    recent = [name for name in recent_models(now, LOOKED_AT) if sees_images(*name)]
    listed = [
        (place.provider, model.id)
        for place in discovery.found_in(known_listings()).places
        for model in place.models
        if model.sees_images
    ]
    same = [name for name in listed if name[0] == provider]
    for name in (*recent, *same, *listed):
        return "/".join(name), name_of_model(*name)
    return "", ""


def can_answer(provider: str, model: str) -> bool:
    with suppress(Invalid):
        return bool(model) and not lacks(resolve(provider))
    return False


def choice(in_use: ModelName, provider: str, model: str, info: ModelInfo | None = None) -> Choice:
    endpoint = resolve(provider)
    return Choice(
        value=f"{provider}/{model}",
        name=name_of_model(provider, model),
        provider="" if provider == "demo" else endpoint.label,
        info=info or catalog.model_info(endpoint, model) or ModelInfo(model),
        is_current=(provider, model) == in_use,
    )
