"""Rows by id, for the person they belong to: everybody else gets the same 404 as for none."""

from __future__ import annotations

from django.http import HttpRequest

from agents.errors import Missing
from agents.models import Conversation
from console.api.auth import person
from plans.models import Plan


def conversation_of(request: HttpRequest, id: int) -> Conversation:
    row = Conversation.objects.filter(pk=id, owner=person(request)).first()
    if row is None:
        raise Missing(f"There is no conversation {id}.")
    return row


def plan_of(request: HttpRequest, id: int) -> Plan:
    plans = Plan.objects.select_related("conversation")
    row = plans.filter(pk=id, conversation__owner=person(request)).first()
    if row is None:
        raise Missing(f"There is no plan {id}.")
    return row
