"""Ways in which a running turn leaves its loop before it is through."""

from __future__ import annotations

from agents.models import Turn


class Interruption(Exception):
    is_no_failure = True


class TurnLost(Interruption):
    """Somebody else owns the turn now, or it is over. Nothing more may be written."""


class TurnStopped(Interruption):
    """A person has stopped it."""


class TurnWaits(Interruption):
    """It waits, without a worker, for a person or a child; `because` may say more."""

    def __init__(self, waiting_for: Turn.WaitingFor, because: str = "") -> None:
        super().__init__(waiting_for)
        self.waiting_for = waiting_for
        self.because = because


class NothingToDo(Interruption):
    """It turned out that there is nothing to work on any more."""


class TurnFailed(Interruption):
    """The work itself failed: `error_class` as in Attempt.FailureClass, one sentence as text.

    `remedy` is where it can be mended: "models", "agent", or nowhere in the settings.
    """

    is_no_failure = False

    def __init__(
        self, error_class: str, sentence: str, title: str = "", advice: str = "", remedy: str = ""
    ) -> None:
        super().__init__(sentence)
        self.remedy = remedy
        self.error_class = error_class
        self.title = title
        self.advice = advice


class TaskFailed(TurnFailed):
    """A task of a chain failed; `output` is what is known of it for the task that goes on."""

    def __init__(self, sentence: str, output: dict[str, object]) -> None:
        super().__init__("logic", sentence)
        self.output = output
