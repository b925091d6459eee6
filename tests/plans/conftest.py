"""What several files begin with."""

import pytest

from plans import actions
from tests.inner import claim
from tests.world import plan_of, proposed


@pytest.fixture
def running(request):
    """A conversation whose plan is at its first subtask, and the turn that a worker has.

    `request.param` is what agent.json says of plans.
    """
    own = getattr(request, "param", {})
    c = proposed("Read", "Write", plan={"enabled": True, "max_attempts": 1, **own})
    actions.approve_plan(plan_of(c), 1, "alice")
    [turn] = claim(5)
    actions.begin_attempt(turn)
    return c, turn
