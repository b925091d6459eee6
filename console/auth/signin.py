"""Signing in: by the one-time link that `serve` prints, or by password."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth import authenticate, login, logout
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from agents.errors import Invalid, RateLimited
from agents.models import SigninToken
from console import throttling
from console.auth.tokens import digest_of
from console.auth.users import known_username

# A printed link works once, until another is printed, and never longer than this.
LINK_LASTS = timedelta(hours=24)
BACKEND = "django.contrib.auth.backends.ModelBackend"

SPENT = gettext_lazy(
    "This sign-in link was used before or is too old. For a new one run: manage.py signin-link"
)
NOT_CURRENT = gettext_lazy("This is not your present password. Nothing was changed.")
WRONG = gettext_lazy("This username and password do not belong together.")


def signin_path(user: User, lasts: timedelta = LINK_LASTS) -> str:
    """A fresh one-time link for this person; the ones made before it stop working."""
    SigninToken.objects.filter(user=user).delete()
    secret = secrets.token_urlsafe(32)
    expires_at = timezone.now() + lasts
    SigninToken.objects.create(user=user, digest=digest_of(secret), expires_at=expires_at)
    return f"/signin/?token={secret}"


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def signin(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return by_link(request) if "token" in request.POST else by_password(request)
    purpose = request.headers.get("Sec-Purpose", "") + request.headers.get("Purpose", "")
    if "prefetch" in purpose.lower():
        # A browser that loads ahead throws this away and asks again when a person follows: it must
        # not use up a link.
        return HttpResponse(status=503)
    has_link = request.method == "GET" and "token" in request.GET
    if has_link and (other := somebody_else(request)):
        return render(request, "signin_as.html", {"other": other, "next": target(request)})
    if has_link and (user := use_link(request.GET["token"])):
        login(request, user, backend=BACKEND)
    elif not request.user.is_authenticated:
        return page(request, str(SPENT), status=403) if has_link else page(request)
    return HttpResponseRedirect(target(request))


@require_POST
def signout(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("signin")


def somebody_else(request: HttpRequest) -> User | None:
    """Whom the link would sign in in the place of who is signed in. A page elsewhere can lead here
    unasked, so this one asks first: what is typed from then on would be another person's."""
    link = open_links(request.GET["token"]).select_related("user").first()
    is_other = link and request.user.is_authenticated and link.user_id != request.user.pk
    return link.user if link and is_other else None


def by_link(request: HttpRequest) -> HttpResponse:
    """After the question who goes on."""
    user = use_link(request.POST["token"])
    if user is None:
        return page(request, str(SPENT), status=403)
    login(request, user, backend=BACKEND)
    return HttpResponseRedirect(target(request))


def open_links(secret: str) -> QuerySet[SigninToken]:
    rows = SigninToken.objects.filter(digest=digest_of(secret), used_at=None)
    return rows.filter(expires_at__gt=timezone.now(), user__is_active=True)


def use_link(secret: str) -> User | None:
    """The person of this link, for the first caller only."""
    if not open_links(secret).update(used_at=timezone.now()):
        return None
    return SigninToken.objects.select_related("user").get(digest=digest_of(secret)).user


def by_password(request: HttpRequest) -> HttpResponse:
    username = known_username(request.POST.get("username", ""))
    address = address_of(request)
    try:
        throttling.count_signin(username, address)
    except RateLimited as refusal:
        response = page(request, str(refusal), status=refusal.status)
        response.headers["Retry-After"] = refusal.headers["Retry-After"]
        return response
    user = authenticate(request, username=username, password=request.POST.get("password", ""))
    if user is None:
        return page(request, str(WRONG), status=403)
    throttling.forget_failures(username, address)
    login(request, user)
    return HttpResponseRedirect(target(request))


def address_of(request: HttpRequest) -> str:
    """Whence a request comes: on a server the last address that is named, which its proxy wrote."""
    forwarded = "" if settings.PLANSIDE_IS_LOCAL else request.headers.get("X-Forwarded-For", "")
    return forwarded.rpartition(",")[2].strip() or request.META.get("REMOTE_ADDR", "")


def demand_password(request: HttpRequest, user: User) -> None:
    """Whoever only holds a session may not take the account over: the password that is set is
    asked for, and guesses are counted with those of sign-ins. Raises Invalid or RateLimited."""
    if not user.has_usable_password():
        return
    address = address_of(request)
    throttling.count_signin(user.username, address)
    if not user.check_password(request.POST.get("current_password", "")):
        raise Invalid(str(NOT_CURRENT), field="current_password")
    throttling.forget_failures(user.username, address)


def page(request: HttpRequest, problem: str = "", status: int = 200) -> HttpResponse:
    username = request.POST.get("username", "")
    context = {"problem": problem, "next": target(request), "username": username}
    return render(request, "signin.html", context, status=status)


def target(request: HttpRequest) -> str:
    """Where to go afterwards: `next` if it is a path of this site, else the start page."""
    wanted = request.POST.get("next") or request.GET.get("next") or "/"
    hosts = {request.get_host()}
    is_local = wanted.startswith("/") and wanted.isprintable()
    is_safe = url_has_allowed_host_and_scheme(wanted, hosts, require_https=request.is_secure())
    return wanted if is_local and is_safe else "/"


urlpatterns = [
    path("signin/", signin, name="signin"),
    path("signout/", signout, name="signout"),
]
