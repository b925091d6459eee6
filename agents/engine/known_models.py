"""Whether the model that is to answer a person exists, as far as its provider has said."""

from __future__ import annotations

from contextlib import suppress

from agents.engine.handlers import chain_of, handler_of
from agents.errors import NoModel, Refused
from agents.llm.catalog import missing_model
from agents.models import Turn
from agents.stored_text import gettext


def demand_model(turn: Turn) -> None:
    """What a person says to a model that is known not to exist is not sent. Raises NoModel.

    Nothing is asked for this. A chain that names models itself is none of its business.
    """
    provider, model = (str(turn.config.get(name) or "") for name in ("provider", "model"))
    missing = missing_model(provider, model)
    if missing and not names_models(turn):
        sentence = gettext("{missing}. Nothing was sent, and your message is kept.")
        raise NoModel(sentence.format(missing=missing))


def names_models(turn: Turn) -> bool:
    """A chain that cannot be used says so when the turn begins."""
    with suppress(Refused):
        chain = chain_of(turn, handler_of(turn).role(turn))
        return any(task.execute_config.model for task in chain.tasks)
    return True
