import json

from tests.inner import create_agent


def read(home, agent_id="alice-writer"):
    return json.loads((home / "workspaces" / agent_id / "agent.json").read_text())


def test_one_sees_ones_own_agents_alone(alice, bob):
    listed = alice.get("/agents").json()
    assert [agent["id"] for agent in listed["items"]] == ["alice-writer"]
    assert listed["count"] == 1


def test_an_agent_is_its_file(alice):
    agent = alice.get("/agents/alice-writer").json()
    assert agent["plan"]["enabled"] is True
    assert agent["tools"] == {"read_file": "allow"}
    assert agent["problem"] is None


def test_someone_elses_agent_is_not_there(alice, bob, said):
    for verb in ("get", "delete"):
        said(getattr(alice, verb)("/agents/bob-writer"), 404)
    said(alice.patch("/agents/bob-writer", {"name": "mine"}), 404)
    said(alice.put("/agents/bob-writer", {"name": "mine"}), 404)
    said(alice.post("/conversations", {"agent": "bob-writer"}), 404)


def test_an_agent_found_on_disk_belongs_to_the_admins(alice, bob, said):
    alice.user.is_superuser = True
    alice.user.save()
    create_agent("found", {})
    assert alice.get("/agents/found").status_code == 200
    said(bob.get("/agents/found"), 404)


def test_a_new_agent_belongs_to_who_made_it(alice, bob, said):
    made = alice.post("/agents", {"id": "reader", "name": "Reader"})
    assert (made.status_code, made.json()["name"]) == (201, "Reader")
    assert alice.get("/agents/reader").status_code == 200
    said(bob.get("/agents/reader"), 404)


def test_an_id_that_is_taken_is_refused_in_the_same_words_whosesoever_it_is(alice, bob, said):
    create_agent("found", {})  # the admins'
    bob.post("/agents", {"id": "gone", "name": "x"})
    bob.post("/conversations", {"agent": "gone"})
    assert bob.delete("/agents/gone").status_code == 204  # its conversations stay
    said(bob.get("/agents/gone"), 404)
    for values in ({"name": "x"}, {"plan": "no object"}):
        for id in ("alice-writer", "bob-writer", "found", "gone"):
            answer = alice.post("/agents", {"id": id} | values)
            assert said(answer, 409) == f'The id "{id}" is taken.'
    assert alice.get("/agents").json()["count"] == 1


def test_an_id_that_leads_elsewhere_is_refused(alice, said):
    for bad in ("../x", "a/b", "", ".", "x" * 200):
        said(alice.post("/agents", {"id": bad}), 422)
    said(alice.post("/agents", {}), 422)


def test_a_patch_changes_only_its_keys_and_keeps_the_rest(alice, home):
    before = read(home)
    alice.patch("/agents/alice-writer", {"plan": {"enabled": False}, "own": {"key": 1}})
    after = read(home)
    assert after.pop("own") == {"key": 1}
    assert after.pop("plan") == {**before.pop("plan"), "enabled": False}
    assert after == before


def test_a_patch_with_a_bad_value_changes_nothing(alice, home, said):
    before = read(home)
    said(alice.patch("/agents/alice-writer", {"plan": {"enabled": "perhaps"}}), 422)
    assert read(home) == before


def test_a_patch_of_a_file_that_changed_meanwhile_is_stale(alice, said):
    tag = alice.get("/agents/alice-writer").headers["ETag"]
    first = alice.patch("/agents/alice-writer", {"description": "one"}, If_Match=tag)
    assert first.status_code == 200
    said(alice.patch("/agents/alice-writer", {"description": "two"}, If_Match=tag), 412)
    tag = first.headers["ETag"]
    again = alice.patch("/agents/alice-writer", {"description": "two"}, If_Match=tag)
    assert again.status_code == 200


def test_what_was_read_can_be_put_back(alice, home):
    agent = alice.get("/agents/alice-writer").json()
    assert alice.put("/agents/alice-writer", agent).json() == agent
    assert "problem" not in read(home)


def test_a_broken_file_is_shown_with_its_reason_and_can_be_replaced(alice, home):
    path = home / "workspaces" / "alice-writer" / "agent.json"
    path.write_text('{"id": "alice-writer"\n"name": "x"}')
    broken = alice.get("/agents/alice-writer").json()
    assert broken["problem"].startswith("Line 1: a comma")
    assert broken["problem_line"] == 1
    assert broken["name"] == "alice's writer"
    mended = alice.put("/agents/alice-writer", {"name": "Mended"}).json()
    assert (mended["name"], mended["problem"]) == ("Mended", None)


def test_a_deleted_agent_is_gone_and_its_id_free_for_anyone(alice, bob, said):
    assert alice.delete("/agents/alice-writer").status_code == 204
    said(alice.get("/agents/alice-writer"), 404)
    assert bob.post("/agents", {"id": "alice-writer"}).status_code == 201
