"""Run each verb on an agent's files and kill it at one line after another; account for every file.

    python -m tests.nightly.faults.killed_verbs <home> [<folder on another disk>]

Prints one JSON object: kills by verb, and what was lost, half written or left behind.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

WATCHED = ("agents/workspace/", "agents/tools/confinement.py")
OLD, NEW, PART = b"old" * 700, b"new" * 900, b"in a folder"


def main(home: Path, elsewhere: Path | None) -> None:
    os.environ |= {
        "PLANSIDE_HOME": str(home),
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "PLANSIDE_DEMO": "1",
    }
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    site = Site(elsewhere)
    for verb in sys.argv[3:] or VERBS:
        at = 0
        while site.killed(verb, at := at + 1):
            pass
    sys.stdout.write(json.dumps({"kills": site.kills, "faults": site.faults}))


class Site:
    """An agent with a workspace, and what came of the kills."""

    def __init__(self, elsewhere: Path | None) -> None:
        from django.contrib.auth.models import User

        from agents.models import AgentOwner
        from tests.inner import AgentFiles, agents_actions, change_agent, create_agent

        person = User.objects.create_superuser("alice")
        create_agent("writer", {})
        AgentOwner.objects.create(agent_id="writer", user=person)
        if elsewhere:
            change_agent("writer", {"workspace": str(elsewhere), "tools": {"write_file": "ask"}})
        self.chat = agents_actions.create_conversation(person, "writer")
        self.place = AgentFiles("writer", person.pk)
        self.root = self.place.root
        self.kills: Counter[str] = Counter()
        self.faults: list[str] = []

    def killed(self, verb: str, line: int) -> bool:
        """Whether there was such a line of this verb."""
        from django.db import connections

        self.clear()
        act = VERBS[verb](self)
        before = self.contents()
        connections.close_all()
        child = os.fork()
        if not child:
            try:
                kill_at(line)
                act()
            except BaseException as error:
                sys.stderr.write(f"{verb} at line {line}: {error!r}\n")
            finally:
                os._exit(0)
        was_killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        self.kills[verb] += was_killed
        self.sweep()
        is_over = {OLD} if verb == "discard" else set()  # what is taken back goes for good
        for fault in self.faults_after(before, is_over):
            self.faults.append(f"{verb} at line {line}: {fault}")
        return was_killed

    def sweep(self) -> None:
        """As housekeeping does, an hour later."""
        from django.utils import timezone

        from agents.models import Attachment, Trashed
        from tests.inner import attachments, trash, workspace_files

        for row in Trashed.objects.filter(state="moving"):
            row.at -= timedelta(minutes=2)
            row.save()
        for each in self.root.rglob(".*.part"):
            os.utime(each, (0, 0))
        Attachment.objects.update(created_at=timezone.now() - timedelta(minutes=2))
        trash.sweep()
        attachments.remove_cut_off()
        workspace_files.remove_cut_off()

    def faults_after(self, before: Counter[bytes], is_over: set[bytes]) -> list[str]:
        from agents.models import Attachment, Trashed
        from tests.inner import trash

        found, faults = self.contents(), []
        whole = {OLD, NEW, PART}
        faults += [f"lost {each[:9]!r}" for each in before - found if each not in is_over]
        faults += [f"half written: {len(each)} bytes" for each in found if each not in whole]
        faults += [f"{each[:9]!r} {n} times" for each, n in found.items() if n > 1]
        rows = list(Trashed.objects.all())
        faults += [f"{row} is {row.state}" for row in rows if row.state != "kept"]
        kept = {row.key for row in rows}
        faults += [f"{each.name} has no row" for each in self.trashed() if each.name not in kept]
        for row in rows:
            there = set(self.root.rglob("*"))
            trash.restore(self.place, row.key)
            if there == set(self.root.rglob("*")) and not row.was_replaced:
                faults.append(f"{row} did not come back")
        hidden = {each.name for each in self.root.rglob(".*") if each.name != ".planside-trash"}
        faults += [f"{each} is left" for each in hidden - {".gitignore"}]
        twice = [
            each.name
            for each in self.root.rglob("*")
            if each.is_file() and each.stat().st_nlink > 1
        ]
        faults += [f"{each} has a second name" for each in twice]
        attached = set(Attachment.objects.values_list("path", flat=True))
        there = {str(each.relative_to(self.root)) for each in self.root.glob("uploads/*")}
        faults += [f"{each} is no attachment" for each in there - attached]
        faults += [f"{each} is an attachment and not there" for each in attached - there]
        return faults

    def contents(self) -> Counter[bytes]:
        """Of each file, in its place or in the trash."""
        folders = [self.root, *self.trashed()]
        files = {each for folder in folders for each in folder.rglob("*") if each.is_file()}
        return Counter(each.read_bytes() for each in files if each.name != ".gitignore")

    def trashed(self) -> list[Path]:
        in_home = Path(os.environ["PLANSIDE_HOME"]).glob("deleted-files/*/*")
        beside = self.root.glob(".planside-trash/*")
        return [each for each in (*in_home, *beside) if each.is_dir()]

    def clear(self) -> None:
        from agents.models import Attachment, Trashed

        Trashed.objects.all().delete()
        Attachment.objects.all().delete()
        for each in (*self.trashed(), *self.root.iterdir()):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        (self.root / "docs").mkdir()
        (self.root / "docs" / "inner.txt").write_bytes(PART)


def kill_at(line: int) -> None:
    """End this process as it comes to so many lines of the modules that move files."""
    left = line

    def count(frame, event, _):  # type: ignore[no-untyped-def]
        nonlocal left
        if not any(each in frame.f_code.co_filename for each in WATCHED):
            return None
        if event == "line":
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
        return count

    sys.settrace(count)


def pieces(content: bytes) -> list[bytes]:
    return [content[:1000], content[1000:]]


def upload(site: Site) -> Callable[[], object]:
    from tests.inner import store

    return lambda: store(site.place, "docs", "new.txt", pieces(NEW))


def keep_both(site: Site) -> Callable[[], object]:
    from tests.inner import store

    (site.root / "a.txt").write_bytes(OLD)
    return lambda: store(site.place, "", "a.txt", pieces(NEW), "keep_both")


def replace(site: Site) -> Callable[[], object]:
    from tests.inner import store

    (site.root / "a.txt").write_bytes(OLD)
    return lambda: store(site.place, "", "a.txt", pieces(NEW), "replace")


def rename(site: Site) -> Callable[[], object]:

    (site.root / "a.txt").write_bytes(OLD)
    return lambda: site.place.rename("a.txt", "docs/b.txt")


def delete(site: Site) -> Callable[[], object]:
    from tests.inner import trash

    (site.root / "a.txt").write_bytes(OLD)
    return lambda: trash.delete(site.place, "a.txt")


def delete_folder(site: Site) -> Callable[[], object]:
    from tests.inner import trash

    return lambda: trash.delete(site.place, "docs")


def restore(site: Site) -> Callable[[], object]:
    from tests.inner import trash

    key = trash.delete(site.place, "docs").key
    return lambda: trash.restore(site.place, key)


def restore_replaced(site: Site) -> Callable[[], object]:
    from tests.inner import store, trash

    (site.root / "a.txt").write_bytes(OLD)
    _, replaced = store(site.place, "", "a.txt", pieces(NEW), "replace")
    return lambda: trash.restore(site.place, replaced.key)


def attach(site: Site) -> Callable[[], object]:
    from tests.inner import attachments_take_in

    return lambda: attachments_take_in(site.chat, "new.txt", pieces(NEW), "alice")


def discard(site: Site) -> Callable[[], object]:
    from tests.inner import attachments_take_in, remove

    attached = attachments_take_in(site.chat, "a.txt", pieces(OLD), "alice")
    return lambda: remove(site.chat, attached.pk, "alice")


VERBS = {
    each.__name__: each
    for each in (
        upload,
        keep_both,
        replace,
        rename,
        delete,
        delete_folder,
        restore,
        restore_replaced,
        attach,
        discard,
    )
}

if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
