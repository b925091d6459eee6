"""What two files still ask axe for; all else is asked by tests/nightly/browser/states."""

from tests.nightly.browser.states.test_pages import violations

__all__ = ["violations"]
