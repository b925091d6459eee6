"""Every hostile name at every door, by an ordinary person and by an admin."""

import pytest

from tests.security import test_doors as doors

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nobody_answers")]

world, alice, bob, outside = doors.world, doors.alice, doors.bob, doors.outside


@pytest.mark.parametrize("is_admin", [False, True])
def test_no_name_given_at_any_door_leads_outside(alice, outside, is_admin):
    alice.user.is_superuser = is_admin
    alice.user.save()
    assert doors.tried(alice, outside, doors.all_of_them) > 5_000


def test_no_name_that_a_command_is_given_leads_outside(outside):
    assert doors.tried_at_commands(outside, doors.all_of_them) > 500
