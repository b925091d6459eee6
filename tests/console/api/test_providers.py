import httpx
import pytest

from agents import http
from agents.models import Provider
from tests.inner import BY_NAME, remember, resolve

GROQ = {"name": "router", "base_url": "https://api.router.invalid/openai/v1", "key": "gsk-secret-1"}
PRICES = {"llama": {"input": 0.4, "output": 1.6}}


@pytest.fixture
def groq(admin):
    body = {**GROQ, "headers": {"X-Team": "hidden-value"}, "prices": PRICES}
    assert admin.post("/providers", body).status_code == 201
    return admin


def served(status=200, **answer):
    """A server that gives one answer to everything, and what it was asked."""
    asked = []

    def answers(request):
        asked.append(request)
        return httpx.Response(status, json=answer)

    http.use(httpx.MockTransport(answers))
    return asked


def test_the_built_in_providers_are_listed_and_marked(alice):
    items = {each["name"]: each for each in alice.get("/providers").json()["items"]}
    assert list(items) == [*BY_NAME, "demo"]
    assert not any(each["own"] or each["key_set"] for each in items.values())


def test_a_key_goes_in_and_never_comes_out(groq):
    for answer in (groq.get("/providers"), groq.get("/providers/router")):
        assert "gsk-secret" not in answer.content.decode()
        assert "hidden-value" not in answer.content.decode()
    shown = groq.get("/providers/router").json()
    assert shown["key_set"] is True
    assert shown["headers"] == ["X-Team"]
    assert shown["prices"] == {m: {**each, "cached_input": None} for m, each in PRICES.items()}
    assert Provider.objects.get().key == "gsk-secret-1"


def test_a_change_leaves_what_it_does_not_name(groq):
    assert groq.patch("/providers/router", {"flags": {"stream_options": False}}).status_code == 200
    row = Provider.objects.get()
    assert (row.key, row.headers, row.prices) == (
        "gsk-secret-1",
        {"X-Team": "hidden-value"},
        PRICES,
    )
    assert row.flags == {"stream_options": False}
    groq.patch("/providers/router", {"key": "", "headers": {}})
    assert groq.get("/providers/router").json()["key_set"] is False


def test_a_key_never_moves_to_another_server(groq, said):
    told = said(groq.patch("/providers/router", {"base_url": "https://elsewhere.invalid/v1"}), 422)
    assert "enter key and headers again" in told
    assert Provider.objects.get().base_url == GROQ["base_url"]
    same = {"base_url": "https://api.router.invalid/v2"}
    assert groq.patch("/providers/router", same).status_code == 200
    moved = {"base_url": "https://elsewhere.invalid/v1", "key": "other", "headers": {}}
    assert groq.patch("/providers/router", moved).status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "Router"},
        {"name": "demo"},
        {"name": ""},
        {"base_url": "ftp://x/v1"},
        {"base_url": "router"},
        {"base_url": "https://me:pass@x/v1"},
        {"base_url": "https://x/v1?key=1"},
        {"key": "half a key"},
        {"headers": {"X Team": "1"}},
        {"headers": {"X-Team": "one\ntwo"}},
        {"headers": {"Host": "elsewhere"}},
        {"prices": {"llama": {"input": -1, "output": 1}}},
        {"prices": {"llama": {"input": 1}}},
        {"flags": {"unheard_of": True}},
        {"unheard": "of"},
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(admin, said, wrong):
    told = said(admin.post("/providers", {**GROQ, **wrong}), 422)
    assert "half a key" not in told
    assert not Provider.objects.exists()


def test_a_name_is_taken_once(groq, said):
    said(groq.post("/providers", GROQ), 409)


def test_only_admins_write_and_everybody_reads(groq, bob, said):
    assert bob.get("/providers/router").json()["key_set"] is True
    said(bob.post("/providers", {**GROQ, "name": "mine"}), 403)
    said(bob.patch("/providers/router", {"key": "mine"}), 403)
    said(bob.delete("/providers/router"), 403)
    assert Provider.objects.get().key == "gsk-secret-1"


def test_one_is_removed_and_a_built_in_one_stays(groq, said):
    assert groq.delete("/providers/router").status_code == 204
    said(groq.get("/providers/router"), 404)
    said(groq.delete("/providers/ollama"), 404)
    said(groq.patch("/providers/ollama", {"key": "x"}), 404)


def test_testing_lists_the_models_and_sends_the_key(groq):
    asked = served(data=[{"id": "llama-b"}, {"id": "llama-a"}])
    tested = groq.post("/providers/router/test").json()
    assert tested == {"models": ["llama-a", "llama-b"], "problem": "", "advice": ""}
    assert str(asked[0].url) == "https://api.router.invalid/openai/v1/models"
    assert asked[0].headers["Authorization"] == "Bearer gsk-secret-1"


def test_testing_says_in_plain_words_what_is_wrong_and_what_to_do(groq):
    served(401, error={"message": "Incorrect API key provided: gsk-secret-1"})
    tested = groq.post("/providers/router/test").json()
    assert tested["models"] == []
    assert "401" in tested["problem"]
    assert "key" in tested["advice"]
    assert "gsk-secret-1" not in str(tested)


def test_a_provider_there_is_not_cannot_be_tested(alice, said):
    said(alice.post("/providers/nowhere/test"), 404)


def test_the_protocol_is_named_and_changed(groq):
    assert groq.get("/providers/router").json()["api"] == "chat_completions"
    changed = groq.patch("/providers/router", {"api": "anthropic_messages"}).json()
    assert changed["api"] == "anthropic_messages"
    assert groq.patch("/providers/router", {"api": "telegrams"}).status_code == 422
    assert groq.get("/providers/anthropic").json()["api"] == "anthropic_messages"


def test_what_models_refused_is_listed_and_forgotten(groq, bob, said):
    remember(resolve("router"), "m", {("without", "temperature"): "Unsupported parameter."})
    (lesson,) = bob.get("/providers/router/lessons").json()["items"]
    assert lesson["model"] == "m" and lesson["words"] == "Unsupported parameter."
    assert lesson["sentence"] == "Leaves out temperature: the server refused it"
    path = f"/providers/router/lessons/{lesson['id']}"
    said(bob.delete(path), 403)
    assert groq.delete(path).status_code == 204
    said(groq.delete(path), 404)
    assert groq.get("/providers/router/lessons").json()["count"] == 0
    said(bob.get("/providers/nowhere/lessons"), 404)


def test_a_person_may_have_servers_tested_so_often_a_minute(groq, bob, said, settings):
    settings.TESTS_PER_MINUTE = 2
    asked = served(data=[])
    for _ in range(2):
        assert bob.post("/providers/router/test").status_code == 200
    answer = bob.post("/providers/router/test")
    told = said(answer, 429)
    assert told.startswith("You have had 2 servers asked within a minute: wait ")
    assert int(answer.headers["Retry-After"]) > 0
    assert len(asked) == 2
    assert groq.post("/providers/router/test").status_code == 200, "each person has a limit"
