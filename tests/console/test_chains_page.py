"""Settings > Chains: read by everybody, changed by admins, run with an agent of one's own."""

import json

import pytest

from agents.models import Turn
from tests.fake_model import say
from tests.inner import of_chain, queue_chain, read_text, set_owner
from tests.markup import html
from tests.world import HTMX, agent, conversation, drive, person, scripted

pytestmark = pytest.mark.django_db(transaction=True)


def written(id, handler, **more):
    """A chain of one task, a key a line."""
    task = {"id": id, "handler": handler, **more}
    return json.dumps({"id": "mine.v2", "description": "Mine", "tasks": [task]}, indent=2)


GOOD = written("only", "chat_completion")


@pytest.fixture(autouse=True)
def own_home(tmp_path, settings):
    settings.PLANSIDE_HOME = tmp_path
    return tmp_path


@pytest.fixture
def chain(own_home):
    (own_home / "chains").mkdir(exist_ok=True)
    (own_home / "chains" / "mine.v2.json").write_text(GOOD)
    return "mine.v2"


def post(client, address, **values):
    return client.post(f"/settings/chains/{address}", values, headers=HTMX)


def test_the_list_has_every_chain_and_the_opened_one_whole(admin, chain):
    set_owner(person("alice"), agent(name="Thinker", chains={"planner": "planner"}))
    page = html(admin.get("/settings/chains/?chain=planner"))
    assert "Thinker (planner)" in page
    for id in ("default-chain", "executor", "planner", "mine·v2"):
        assert f'id="chain-{id}"' in page
    assert 'aria-label="planner.json"' in page
    assert 'hx-post="/settings/chains/planner/run"' in page
    opened = html(admin.get(f"/settings/chains/{chain}/file?card", headers=HTMX))
    assert 'hx-target="#chain-mine·v2-settings"' in opened


def test_what_is_wrong_stands_under_its_line(admin, chain):
    named = next(iter(of_chain(GOOD.replace("only", "end"), chain)))
    assert named.line == 6
    assert named.sentence == "A task cannot be called end."
    broken = GOOD.replace(",", "", 1)
    [fault] = of_chain(broken, chain)
    assert fault.sentence == "A comma is missing."
    page = html(post(admin, f"{chain}/check", text=broken))
    assert f'data-line="{fault.line}"' in page
    assert "A comma is missing." in page
    assert "Nothing is wrong with it." in html(post(admin, f"{chain}/check", text=GOOD))


def test_only_a_valid_chain_is_saved_and_what_was_typed_is_judged(admin, chain):
    digest = html(admin.get(f"/settings/chains/{chain}/file?edit")).partition(
        'name="digest" value="'
    )
    digest = digest[2][:64]
    changed = GOOD.replace("only", "other")
    refused = post(
        admin, f"{chain}/save", text=changed.replace("chat_completion", "no"), digest=digest
    )
    assert refused.status_code == 422
    assert "Not saved: the last good version stays in use." in html(refused)
    assert read_text(chain) == GOOD
    assert "Saved." in html(post(admin, f"{chain}/save", text=changed, digest=digest))
    assert read_text(chain) == changed
    stale = post(admin, f"{chain}/save", text=GOOD, digest=digest)
    assert stale.status_code == 412
    assert "The file changed on disk." in html(stale)
    assert post(admin, f"{chain}/save", text=GOOD, digest=digest, keep="mine").status_code == 200
    assert read_text(chain) == GOOD


def test_an_open_page_is_told_of_a_change_on_disk_and_of_nothing_else(admin, chain, own_home):
    page = html(admin.get(f"/settings/chains/{chain}/file"))
    since = page.partition("?since=")[2][:64]
    assert admin.get(f"/settings/chains/{chain}/file?since={since}").status_code == 204
    (own_home / "chains" / "mine.v2.json").write_text(GOOD.replace("only", "other"))
    assert "other" in html(admin.get(f"/settings/chains/{chain}/file?since={since}"))


def test_a_chain_is_made_copied_and_deleted(admin, chain):
    made = post(admin, "new", **{"name": "My own", "from": chain})
    assert made["HX-Redirect"].endswith("?chain=My-own")
    assert json.loads(read_text("My-own"))["id"] == "My-own"
    taken = post(admin, "new", **{"name": "My-own", "from": chain})
    assert taken.status_code == 409
    assert "There is already a chain My-own." in html(taken)
    assert post(admin, "new", **{"name": "ä", "from": chain}).status_code == 422
    assert post(admin, f"{chain}/copy")["HX-Redirect"].endswith("?chain=mine.v2-copy")
    assert post(admin, f"{chain}/copy")["HX-Redirect"].endswith("?chain=mine.v2-copy-2")
    set_owner(person("alice"), agent(chains={"chat": "My-own"}))
    used = post(admin, "My-own/delete")
    assert used.status_code == 409
    assert "is in use" in html(used)
    assert post(admin, f"{chain}/delete").status_code == 200
    assert admin.get(f"/settings/chains/{chain}/file").status_code == 404


def test_others_read_and_change_nothing(bob, chain):
    page = html(bob.get(f"/settings/chains/?chain={chain}"))
    assert "Admins change chains." in page
    assert "New chain" not in page
    assert "Delete chain" not in page
    for address in ("new", f"{chain}/save", f"{chain}/copy", f"{chain}/delete"):
        assert post(bob, address, text=GOOD, name="x").status_code == 403
    assert read_text(chain) == GOOD


def test_a_run_shows_each_task_and_what_came_of_it(bob, chain):
    own = agent(name="Mine")
    set_owner(person("bob"), own)
    scripted(say("Well, hello."))
    begun = html(post(bob, f"{chain}/run", input="Hello", agent=own))
    assert "Running" in begun
    assert "not yet" in begun
    turn = Turn.objects.get()
    link = f"/c/{turn.conversation_id}/"
    assert link not in html(bob.get("/sidebar")), "a list of chats is no list of runs"
    assert link in html(bob.get("/archive/"))
    drive()
    address = f"/settings/chains/{chain}/runs/{turn.pk}"
    page = html(bob.get(address))
    assert "Done" in page
    assert "Well, hello." in page
    assert "not yet" not in page
    assert 'hx-trigger="every 1s"' not in page
    assert f"/c/{turn.conversation_id}/" in page


def test_a_run_that_fails_says_why(bob, chain, own_home):
    text = written("stop", "raise_error", prompt_template="No way on.")
    (own_home / "chains" / "mine.v2.json").write_text(text)
    own = agent()
    set_owner(person("bob"), own)
    post(bob, f"{chain}/run", input="Hello", agent=own)
    drive()
    page = html(bob.get(f"/settings/chains/{chain}/runs/{Turn.objects.get().pk}"))
    assert "No way on." in page
    assert 'data-state="failed"' in page


def test_a_run_needs_an_input_and_an_agent_of_ones_own(bob, chain):
    alices = conversation("alice")
    set_owner(person("alice"), alices.agent_id)
    assert post(bob, f"{chain}/run", input="Hello", agent=alices.agent_id).status_code == 404
    own = agent()
    set_owner(person("bob"), own)
    empty = post(bob, f"{chain}/run", input="  ", agent=own)
    assert empty.status_code == 422
    assert "chain-mine·v2-run-alert" in html(empty)
    assert not Turn.objects.filter(chain=chain).exists()


def test_someone_elses_run_is_not_there(admin, chain):
    own = agent()
    set_owner(person("bob"), own)
    turn = queue_chain(person("bob"), chain, "secret", own)
    assert admin.get(f"/settings/chains/{chain}/runs/{turn.pk}").status_code == 404
