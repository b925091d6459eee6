import json

import pytest
from django.contrib.auth.models import User

from agents.errors import Invalid, NotFound
from agents.models import ApiToken
from tests.inner import bearer_of, create_token, revoke_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice():
    return User.objects.create_user("alice")


def test_a_token_opens_for_its_person_alone(alice):
    User.objects.create_user("bob")
    assert bearer_of(create_token(alice, "laptop")) == alice


def test_the_database_never_holds_the_token_itself(alice):
    secret = create_token(alice, "laptop")
    row = ApiToken.objects.get()
    assert secret not in (row.name, row.digest)
    assert bearer_of(row.digest) is None


@pytest.mark.parametrize("wrong", ["", "planside_", "planside_nonsense", "x" * 10_000, "\x00"])
def test_a_wrong_token_opens_nothing(alice, wrong):
    create_token(alice, "laptop")
    assert bearer_of(wrong) is None


def test_a_revoked_token_opens_nothing(alice):
    secret = create_token(alice, "laptop")
    revoke_token(alice, "laptop")
    assert bearer_of(secret) is None


def test_a_token_of_someone_who_may_not_sign_in_opens_nothing(alice):
    secret = create_token(alice, "laptop")
    User.objects.update(is_active=False)
    assert bearer_of(secret) is None


def test_revoking_touches_only_the_named_person(alice):
    bob = User.objects.create_user("bob")
    create_token(alice, "laptop")
    with pytest.raises(NotFound):
        revoke_token(bob, "laptop")
    assert ApiToken.objects.filter(revoked_at=None).count() == 1


def test_two_live_tokens_of_one_person_have_different_names(alice):
    create_token(alice, "laptop")
    with pytest.raises(Invalid):
        create_token(alice, "laptop")
    revoke_token(alice, "laptop")
    create_token(alice, "laptop")


@pytest.mark.parametrize("name", ["", "   ", "x" * 101])
def test_a_token_needs_a_name_that_can_be_read(alice, name):
    with pytest.raises(Invalid):
        create_token(alice, name)


def test_the_last_use_is_noted_but_not_at_every_request(alice):
    secret = create_token(alice, "laptop")
    bearer_of(secret)
    first = ApiToken.objects.get().last_used_at
    bearer_of(secret)
    assert first is not None
    assert ApiToken.objects.get().last_used_at == first


@pytest.fixture
def done(cli):
    """What the command prints where it has to work."""

    def printed(*words):
        code, out, err = cli("token", *words)
        assert (code, err) == (0, "")
        return out

    return printed


def test_the_command_prints_the_token_once_and_makes_it_the_owners(done):
    secret = done("create", "script").strip()
    assert bearer_of(secret).username == "owner"
    listed = done("list")
    assert "script" in listed and secret not in listed


def test_the_command_speaks_json(done, alice):
    made = json.loads(done("create", "script", "--user", "alice", "--json"))
    assert bearer_of(made["token"]) == alice
    assert [row["name"] for row in json.loads(done("list", "--json"))] == ["script"]


def test_the_command_revokes(done):
    secret = done("create", "script").strip()
    done("revoke", "script")
    assert bearer_of(secret) is None


def test_a_token_for_nobody_is_refused(cli):
    code, out, err = cli("token", "create", "script", "--user", "nobody")
    assert (code, out) == (1, "") and "no user named 'nobody'" in err
