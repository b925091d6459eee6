"""Settings > People, for admins: who may come in, and who is an admin. Others find nothing here."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_GET

from agents.errors import Conflict
from console.auth import people
from console.auth.signin import LINK_LASTS, signin_path
from console.components import alert, replace
from console.htmx import person, posted

MOST_LISTED = 200

View = Callable[..., HttpResponse]

NOT_YOURSELF = gettext_lazy("Another admin can do that for you.")
HAS_SIGNED_IN = gettext_lazy(
    "{name} has signed in before: whoever runs this server can make a link for them."
)


def hidden_from_others(do: View) -> View:
    @wraps(do)
    def view(request: HttpRequest, **where: int) -> HttpResponse:
        if not person(request).is_superuser:
            raise Http404
        return do(request, **where)

    return view


@hidden_from_others
@require_GET
def listed(request: HttpRequest) -> HttpResponse:
    return render(request, "settings/people.html", {"page": "people"} | context_of(request))


@hidden_from_others
@posted("people-add-alert")
def add(request: HttpRequest) -> HttpResponse:
    """They come in by a link, which this answer alone shows."""
    form = request.POST
    user = people.add_person(form.get("name", "").strip(), is_admin="admin" in form)
    return with_link(
        request, user, said=gettext("Added {username}.").format(username=user.username)
    )


@hidden_from_others
@posted("people-alert")
def make_link(request: HttpRequest, who: int) -> HttpResponse:
    """Only until they have signed in: nobody becomes somebody else by it."""
    user = other(request, who)
    if not never_signed_in(user):
        raise Conflict(HAS_SIGNED_IN.format(name=user.username))
    return with_link(request, user)


@hidden_from_others
@posted("people-alert")
def make_admin(request: HttpRequest, who: int) -> HttpResponse:
    user = other(request, who)
    people.make_admin(user)
    return drawn(request, said=gettext("{username} is an admin.").format(username=user.username))


@hidden_from_others
@posted("people-alert")
def take_back_admin(request: HttpRequest, who: int) -> HttpResponse:
    user = other(request, who)
    people.take_back_admin(user)
    return drawn(
        request, said=gettext("{username} is no admin any more.").format(username=user.username)
    )


@hidden_from_others
@posted("people-alert")
def deactivate(request: HttpRequest, who: int) -> HttpResponse:
    user = other(request, who)
    people.deactivate(user)
    return drawn(request, said=gettext("{username} is deactivated.").format(username=user.username))


@hidden_from_others
@posted("people-alert")
def activate(request: HttpRequest, who: int) -> HttpResponse:
    user = other(request, who)
    people.activate(user)
    return drawn(
        request, said=gettext("{username} may sign in again.").format(username=user.username)
    )


def other(request: HttpRequest, who: int) -> User:
    """Nobody locks themselves out."""
    user = get_object_or_404(User, pk=who)
    if user.pk == request.user.pk:
        raise Conflict(str(NOT_YOURSELF))
    return user


def never_signed_in(user: User) -> bool:
    return user.last_login is None and not user.has_usable_password()


def with_link(request: HttpRequest, user: User, said: str = "") -> HttpResponse:
    link = {
        "address": request.build_absolute_uri(signin_path(user)),
        "until": timezone.now() + LINK_LASTS,
        "name": user.username,
    }
    return drawn(request, said=said, link=link)


def drawn(request: HttpRequest, said: str = "", **shown: object) -> HttpResponse:
    html = render_to_string("settings/_people.html", context_of(request) | shown)
    return HttpResponse(replace("people-list", html) + alert("people-said", said))


def context_of(request: HttpRequest) -> dict[str, object]:
    """With the search that is in the page's field, which each of its forms names."""
    wanted = (request.POST.get("q") or request.GET.get("q", "")).strip()[:150]
    found = User.objects.filter(username__icontains=wanted).order_by("username")
    rows = [
        {
            "user": each,
            "is_you": each.pk == request.user.pk,
            "wants_link": each.is_active and never_signed_in(each),
        }
        for each in found[:MOST_LISTED]
    ]
    return {"rows": rows, "wanted": wanted, "more": max(0, found.count() - MOST_LISTED)}
