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
