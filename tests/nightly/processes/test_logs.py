"""Log lines of a real server: what stands on its stderr, and what does not."""

import json

import httpx

from tests.console.serving import Script

KEY = "sk-abcdefghijklmnopqrstuvwx"


class TestARealServer:
    def test_json_lines_of_requests_without_their_query_and_nothing_else_on_stderr(self, start):
        server = start(PLANSIDE_LOG="json", PLANSIDE_LOG_LEVEL="debug")
        with httpx.Client(base_url=server.address) as browser:
            browser.get(server.link)
            browser.get("/plans/?q=what-i-look-for")
        _, code, out, err = server.end()
        lines = [json.loads(each) for each in err.splitlines()]
        requests = [each for each in lines if each["message"] == "request"]
        assert (code, out) == (0, "")
        asked = next(each for each in requests if each["path"] == "/plans/")
        assert (asked["method"], asked["status"], asked["user"]) == ("GET", 200, 1)
        assert asked["ms"] > 0
        assert "what-i-look-for" not in err and server.link.partition("token=")[2] not in err

    def test_by_default_requests_say_nothing(self, start):
        server = start()
        httpx.get(f"{server.address}/signin/")
        assert server.end()[2:] == ("", "")

    def test_a_failed_turn_is_one_line_without_the_key(self, start, tmp_path):
        server = start(
            OPENAI_API_KEY=KEY, OPENAI_BASE_URL="http://127.0.0.1:1/v1", PLANSIDE_LOG="json",
            PLANSIDE_MODEL_RETRY_BASE="0", PLANSIDE_LOG_LEVEL="debug",
        )  # fmt: skip
        script = Script(tmp_path / "home")
        made = script.post(server, "/conversations", {"agent": "docs-writer"})
        path = f"/conversations/{made['id']}"
        script.post(server, f"{path}/messages", {"text": "hello"})
        script.wait_until(
            server, f"{path}/events", lambda e: any(x["type"] == "turn.ended" for x in e["items"])
        )
        _, _, _, err = server.end()
        [failed] = [
            each for each in map(json.loads, err.splitlines()) if "turn failed" in each["message"]
        ]
        assert (failed["conversation"], failed["error"]) == (made["id"], "transient")
        assert KEY not in err
