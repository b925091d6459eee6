"""The real server and the lean model, each a process of its own, and a person's access to them."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.wire import Http, Socket
from tests.console.serving import ROOT, Script, Started


class Model:
    """`python -m tests.benchmarks.model`, each token after `pause` seconds, `count` in all."""

    def __init__(self, pause=0.0, count=20):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.model", str(pause), str(count)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = self.process.stdout.readline().strip()

    async def log(self):
        http = Http(self.url, {})
        _, said = await http.ask("GET", "/log")
        http.close()
        return said

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Console:
    """A running Planside with an agent that has no tools."""

    def __init__(self, stack, model, **environment):
        self.home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="planside-bench-")))
        self.environment = environment
        self.server = Started(
            self.home,
            OPENAI_BASE_URL=model.url,
            OPENAI_API_KEY="bench",
            PLANSIDE_MODEL="openai/bench",
            **environment,
        )
        stack.callback(self.end)
        self.headers = script_headers(self.home, environment)
        self.http = Http(self.server.address, self.headers)
        self.cookie = ""

    def end(self):
        if self.server.process.poll() is None:
            self.server.end()

    async def sign_in(self):
        """The session cookie that the printed link gives."""
        http = Http(self.server.address, {})
        await http.send("GET", self.server.link.removeprefix(self.server.address))
        _, fields = await http.read_head()
        http.close()
        self.cookie = re.match(r"[^;]+", fields["set-cookie"])[0].replace("sessionid", "sessionid")
        return self

    async def ask(self, method, path, body=None):
        status, said = await self.http.ask(method, f"/api{path}", body)
        assert status < 300, (method, path, status, said)
        return said

    async def agent(self):
        await self.ask("POST", "/agents", {"id": "bench", "name": "Bench", "tools": {}})

    async def conversation(self):
        return (await self.ask("POST", "/conversations", {"agent": "bench"}))["id"]

    async def socket(self, conversation):
        if not self.cookie:
            await self.sign_in()
        path = f"/ws/conversations/{conversation}/"
        return await Socket(self.server.address, path, self.cookie).open()

    def memory(self):
        """Resident MB of the server process."""
        status = Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def cpu(self):
        """Seconds of processor time the server has used."""
        fields = (
            Path(f"/proc/{self.server.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def script_headers(home, environment):
    if "DATABASE_URL" not in environment:
        return Script(home).headers
    from tests.console.serving import surroundings

    made = subprocess.run(
        [sys.executable, "manage.py", "token", "create", "script"],
        cwd=ROOT,
        env=surroundings(home) | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return {"Authorization": f"Bearer {made.stdout.strip()}"}
