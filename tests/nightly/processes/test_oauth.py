"""Signing in to an MCP server through the pages of Planside, both of them real servers."""

import subprocess
import sys

import httpx
import pytest

pytest.importorskip("mcp", reason="the package mcp is not installed")

from tests.console.serving import ROOT, Started, free_port
from tests.patience import until_connected
from tests.world import HTMX

pytestmark = [
    pytest.mark.server("MCP behind OAuth"),
    pytest.mark.shows("sign-in, renewal, revocation with the SDK in Python"),
]

SCRIPT = ROOT / "tests" / "agents" / "oauth_server.py"


@pytest.fixture
def guarded():
    """The address of an MCP server that wants somebody to sign in."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(SCRIPT), str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until_connected(port)
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()


def test_a_sign_in_by_the_pages_of_a_running_server(guarded, tmp_path):
    planside = Started(tmp_path, is_first=True)
    try:
        with httpx.Client(base_url=planside.address, follow_redirects=True) as browser:
            browser.get(planside.link)
            browser.get("/settings/tools/")
            csrf = {**HTMX, "X-CSRFToken": browser.cookies["csrftoken"], "Origin": planside.address}
            form = {"name": "guarded", "kind": "mcp", "where": f"{guarded}/mcp"}
            added = browser.post("/settings/tools/add", data=form, headers=csrf)
            assert added.headers["HX-Redirect"] == "/settings/tools/?source=guarded"
            sent = browser.post("/settings/tools/guarded/connect", headers=csrf)
            page = browser.get(sent.headers["HX-Redirect"])
    finally:
        planside.end()
    assert str(page.url) == f"{planside.address}/settings/tools/?source=guarded"
    assert "signed in" in page.text and "guarded__secret" in page.text
