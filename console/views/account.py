"""Settings > Account: a person's name and password, where they are signed in, and what acts for
them."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth import logout, update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from django_htmx.http import HttpResponseClientRedirect

from agents.errors import Invalid
from console.auth import browsers, people
from console.auth.signin import demand_password, signin_path
from console.auth.tokens import create_token, live_tokens, revoke_token
from console.components import alert, replace
from console.htmx import person, posted

LINK_LASTS = timedelta(minutes=10)
MOST_TOKENS = 200


@never_cache
@require_GET
def account(request: HttpRequest) -> HttpResponse:
    browsers.note(request)
    return render(request, "settings/account.html", {"page": "account"} | context_of(request))


@posted("account-name-alert")
def rename(request: HttpRequest) -> HttpResponse:
    user = person(request)
    demand_password(request, user)
    people.rename(user, request.POST.get("name", "").strip())
    return drawn(request, "you")


@posted("account-password-alert")
def change_password(request: HttpRequest) -> HttpResponse:
    """Every other browser is signed out; this one goes on, with another session key."""
    user, new = person(request), request.POST.get("password", "")
    if new != request.POST.get("again", ""):
        raise Invalid(gettext("The two passwords are not the same."), field="again")
    demand_password(request, user)
    people.set_password(user, new, keep=request.session.session_key or "")
    update_session_auth_hash(request, user)
    browsers.note(request)
    said = gettext("Your password is set. Every other browser is signed out.")
    return drawn(request, "you", "sessions", said=said)


@posted("account-link-alert")
def make_link(request: HttpRequest) -> HttpResponse:
    """Shown in this answer, and by no other."""
    demand_password(request, person(request))
    path = signin_path(person(request), LINK_LASTS)
    link = {"address": request.build_absolute_uri(path), "until": timezone.now() + LINK_LASTS}
    return drawn(request, "you", link=link)


@posted("account-sessions-alert")
def end_session(request: HttpRequest, session: int) -> HttpResponse:
    own = browsers.live(person(request)).filter(session_id=request.session.session_key)
    if own.filter(pk=session).exists():
        logout(request)
        return HttpResponseClientRedirect(reverse("signin"))
    browsers.end_session(person(request), session)
    return drawn(request, "sessions", said=gettext("Signed out there."))


@posted("account-sessions-alert")
def end_others(request: HttpRequest) -> HttpResponse:
    browsers.end_sessions(person(request), keep=request.session.session_key or "")
    return drawn(request, "sessions", said=gettext("Signed out everywhere else."))


@posted("account-token-alert")
def new_token(request: HttpRequest) -> HttpResponse:
    """Its secret is shown in this answer, and by no other."""
    demand_password(request, person(request))
    name = request.POST.get("name", "").strip()
    secret = create_token(person(request), name)
    return drawn(request, "tokens", secret=secret, secret_of=name)


@posted("account-revoke-alert")
def revoke(request: HttpRequest, token: int) -> HttpResponse:
    found = get_object_or_404(live_tokens(), pk=token, user_id=request.user.pk)
    revoke_token(person(request), found.name)
    return drawn(request, "tokens", said=gettext("Revoked “{name}”.").format(name=found.name))


def drawn(request: HttpRequest, *parts: str, said: str = "", **shown: object) -> HttpResponse:
    """These cards as they are now, and what has happened in words."""
    context = context_of(request) | shown
    cards = [
        replace(f"account-{part}", render_to_string(f"settings/_account_{part}.html", context))
        for part in parts
    ]
    return HttpResponse("".join([*cards, alert("account-said", said)]))


def context_of(request: HttpRequest) -> dict[str, object]:
    user = person(request)
    now = timezone.now()
    signed_in = [
        {
            "pk": each.pk,
            "device": browsers.device_of(each.user_agent),
            "since": each.since,
            "seen_at": None if each.seen_at > now - browsers.NOW else each.seen_at,
            "is_this": each.session_id == request.session.session_key,
        }
        for each in browsers.browsers_of(user)
    ]
    return {
        "user": user,
        "has_password": user.has_usable_password(),
        "is_local": settings.PLANSIDE_IS_LOCAL,
        "sessions": sorted(signed_in, key=lambda each: not each["is_this"]),
        "tokens": live_tokens().filter(user=user).order_by("name")[:MOST_TOKENS],
    }
