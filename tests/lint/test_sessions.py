"""The server ends what became its child in another session, as a command's; so it starts none there."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_only_the_supervisor_begins_a_session():
    files = [
        path for name in ("agents", "plans", "console") for path in (ROOT / name).rglob("*.py")
    ]
    begins = {
        path.name
        for path in files
        if any(word in path.read_text() for word in ("start_new_session", "setsid", "webbrowser"))
    }
    assert begins == {"supervisor.py"}
