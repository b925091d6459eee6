"""What two files still ask axe for; all else is asked by tests/nightly/states."""

from tests.nightly.states.test_pages import violations

__all__ = ["violations"]
