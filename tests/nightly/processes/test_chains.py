"""A chain that the API runs while a server works."""

import pytest

from tests.console.serving import Script, Started
from tests.fake_model import FakeModelServer, say

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_chain_is_run_for_one_input_and_its_output_is_the_answer(tmp_path):
    with FakeModelServer([say("Hello!")]) as model:
        settings = {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "k",
            "PLANSIDE_MODEL": "openai/m",
        }
        server = Started(tmp_path / "home", **settings)
        try:
            body = {"input": "hi", "agent": "docs-writer"}
            answer = Script(tmp_path / "home").post(server, "/chains/default-run-chain/run", body)
        finally:
            server.end()
    assert (answer["state"], answer["output"], answer["error"]) == ("done", "Hello!", "")
