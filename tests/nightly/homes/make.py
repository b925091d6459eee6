"""`python -m tests.nightly.homes.make`: records the home anew, by the code as it is now.

A server is brought to where many conversations are in the midst of something, and killed. What is
left of its home is written down beside this file, for `tests/nightly/homes/test_recorded.py`. Recording anew
replaces what older code has left, which is the point of keeping it: do it in another folder, or for
a reason.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from tests.console.serving import Started, token_for
from tests.fake_model import FakeModelServer
from tests.nightly.homes.home import write_down
from tests.nightly.homes.scenes import SCENES, Scene, Talk, rules

SAVED = 1.5  # seconds until streamed text is in the row


def record(home: Path) -> None:
    with FakeModelServer({"rules": rules("before")}) as model:
        server = Started(
            home,
            OPENAI_BASE_URL=model.url,
            OPENAI_API_KEY="k",
            PLANSIDE_MODEL="openai/scripted",
        )
        try:
            headers = {"Authorization": f"Bearer {token_for(home)}"}

            def begin(scene: Scene) -> None:
                talk = Talk(server.address, headers, scene.name, model)
                scene.prepare(talk)
                talk.open()
                scene.begin(talk)

            last = "call-in-flight"  # its call does not take for ever
            with ThreadPoolExecutor(4) as people:
                list(people.map(begin, [each for each in SCENES if each.name != last]))
            time.sleep(SAVED)
            begin(next(each for each in SCENES if each.name == last))
        finally:
            server.process.kill()
            server.process.communicate()


def account(home: Path) -> str:
    """Which turns were open, and what their checkpoints hold."""
    with closing(sqlite3.connect(home / "planside.sqlite3")) as database:
        rows = database.execute(
            "SELECT c.agent_id, t.kind, t.state, t.waiting_for, t.checkpoint FROM agents_turn t"
            " JOIN agents_conversation c ON c.id = t.conversation_id"
            " WHERE t.state IN ('queued', 'running', 'waiting') ORDER BY t.id"
        ).fetchall()
    lines = []
    for agent, kind, state, waiting_for, checkpoint in rows:
        keys = " ".join(sorted(json.loads(checkpoint)))
        lines.append(f"{agent:<16}{kind:<9}{state:<8}{waiting_for:<9}{keys}")
    return "\n".join(lines)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="planside-recorded-") as folder:
        home = Path(folder) / "home"
        record(home)
        write_down(home)
        sys.stdout.write(re.sub(r" +\n", "\n", account(home) + "\n"))


if __name__ == "__main__":
    main()
