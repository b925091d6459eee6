"""What the environment says, and how it is refused before anything is made."""

import runpy

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.console.serving import ROOT

SETTINGS = ROOT / "console" / "settings.py"
WRONG = [
    ("PLANSIDE_PORT", "eighty"),
    ("PLANSIDE_PORT", "70000"),
    ("PLANSIDE_HOST", "0.0.0.0"),
    ("PLANSIDE_WORKERS", "some"),
    ("PLANSIDE_PORT", "inf"),
    ("PLANSIDE_MODEL_IDLE_TIMEOUT", "nan"),
    ("PLANSIDE_LEASE_SECONDS", "Infinity"),
    ("PLANSIDE_HSTS", "everywhere"),
    ("DATABASE_URL", "mysql://x/y"),
    ("REDIS_URL", "localhost"),
]


@pytest.fixture
def refusal(monkeypatch, tmp_path):
    """Why these settings are refused; `main` makes the one line of it that a person reads."""

    def why(**environment):
        for name, value in ({"PLANSIDE_HOME": str(tmp_path / "home")} | environment).items():
            monkeypatch.setenv(name, value)
        with pytest.raises(ImproperlyConfigured) as refused:
            runpy.run_path(str(SETTINGS))
        assert "\n" not in str(refused.value)
        return str(refused.value)

    return why


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_setting_is_refused_in_one_sentence(refusal, name, value):
    assert name in refusal(**{name: value})


def test_a_home_that_cannot_be_made_is_refused_in_one_sentence(refusal, tmp_path):
    (tmp_path / "file").write_text("")
    assert "PLANSIDE_HOME" in refusal(PLANSIDE_HOME=str(tmp_path / "file" / "home"))


@pytest.fixture
def read(monkeypatch, tmp_path):
    """The settings that an environment makes."""

    def settings(**environment):
        for name, value in ({"PLANSIDE_HOME": str(tmp_path / "home")} | environment).items():
            monkeypatch.setenv(name, value)
        return runpy.run_path(str(SETTINGS))

    return settings


def test_a_word_for_workers_is_taken_in_any_case(read):
    assert read(PLANSIDE_WORKERS="External")["PLANSIDE_WORKERS"] == "external"


def test_behind_a_proxy_on_the_same_machine_it_is_a_server_like_any_other(read):
    alone = read()
    assert alone["PLANSIDE_IS_LOCAL"] and not alone["SESSION_COOKIE_SECURE"]
    named = read(PLANSIDE_ALLOWED_HOSTS="planside.example")
    assert (named["PLANSIDE_HOST"], named["PLANSIDE_IS_LOCAL"]) == ("127.0.0.1", False)
    assert named["SESSION_COOKIE_SECURE"] and named["CSRF_COOKIE_SECURE"]
    assert named["SECURE_SSL_REDIRECT"] and named["SECURE_HSTS_SECONDS"] > 0
    assert named["MESSAGES_PER_MINUTE"] < alone["MESSAGES_PER_MINUTE"]


@pytest.mark.parametrize(
    ("wanted", "subdomains", "preload"),
    [("", False, False), ("subdomains", True, False), ("preload", True, True)],
)
def test_other_names_are_bound_to_tls_only_where_that_is_asked_for(
    read, wanted, subdomains, preload
):
    found = read(PLANSIDE_ALLOWED_HOSTS="planside.example", PLANSIDE_HSTS=wanted)
    assert found["SECURE_HSTS_INCLUDE_SUBDOMAINS"] is subdomains
    assert found["SECURE_HSTS_PRELOAD"] is preload


def test_a_host_may_be_named_with_its_port(read):
    found = read(PLANSIDE_ALLOWED_HOSTS="planside.example:8443,[2001:db8::1]:8443,*")
    assert found["ALLOWED_HOSTS"][3:] == ["planside.example", "[2001:db8::1]", "*"]
    assert found["CSRF_TRUSTED_ORIGINS"] == [
        "https://planside.example:8443",
        "https://[2001:db8::1]:8443",
    ]


def test_what_stands_behind_the_databases_address_reaches_it(read):
    address = "postgres://u:p@db.example:5433/name?sslmode=require&target_session_attrs=read-write"
    database = read(DATABASE_URL=address)["DATABASES"]["default"]
    assert database["NAME"] == "name"
    options = database["OPTIONS"]
    assert (options["sslmode"], options["target_session_attrs"]) == ("require", "read-write")
    assert "options" not in options, "poolers refuse start-up parameters"
    own = read(DATABASE_URL=f"{address}&connect_timeout=9&options=-c%20search_path%3Da")
    options = own["DATABASES"]["default"]["OPTIONS"]
    assert options["connect_timeout"] == "9"
    assert options["options"] == "-c search_path=a"
