"""`git apply` takes every patch, and makes of the files of before those of after, byte by byte."""

import os
import random
import shutil
import subprocess

import pytest

from tests.inner import Evidence, Store, changes_between, patch_text, path_bytes
from tests.inner import scan_record as record

SEEDS = 500
NAMES = [
    *("plain", "a b.md", "übung", "文档.md", "deep/er/f.py", " lead", "trail ", "-- dash", "#hash"),
    *('q"uote', "back\\slash", "tab\there", "new\nline", os.fsdecode(b"raw\xff"), "a\u2028b"),
]
LINES = [
    *("", "a", "b", "x\x0cy", "u\u2028v", "n\x85l", "文档", "\t", "a\rb", "} else {", "\x0c", "\\"),
    *("Binary files a and b differ", "Not recorded", "--- a/plain", "+++ b/plain", "@@ -1 +1 @@"),
]


def content(chance):
    """A text of odd lines, with one of the ends that lines have, or with none at its end."""
    if chance.random() < 0.1:
        return b"\0" + chance.randbytes(5)
    end = chance.choice(["\n", "\n", "\r\n"])
    text = end.join(chance.choice(LINES) for _ in range(chance.choice([0, 1, 3, 30])))
    return (text + end * (chance.random() < 0.7)).encode()


def edited(chance, old):
    lines = old.split(b"\n")
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(lines) + 1)
        lines[at : at + chance.randrange(3)] = [chance.choice(LINES).encode()]
    return b"\n".join(lines) if chance.random() < 0.8 else content(chance)


def put(root, name, data, mode=0o644):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).unlink(missing_ok=True)
    if data.startswith(b"-> "):
        (root / name).symlink_to(os.fsdecode(data[3:]))
    else:
        (root / name).write_bytes(data)
        (root / name).chmod(mode)


def lay(root, chance):
    for name in chance.sample(NAMES, chance.randrange(6)):
        is_link = chance.random() < 0.1
        put(root, name, b"-> some\xffwhere" if is_link else content(chance))


def change(root, chance):
    for name, (mode, data) in files_of(root).items():
        what = chance.random()
        if what < 0.15:
            (root / name).unlink()
        elif what < 0.3:
            moved = root / f"{name}-moved"
            (root / name).rename(moved)
            if what < 0.2 and not moved.is_symlink():
                moved.write_bytes(edited(chance, data))
        elif what < 0.4:
            put(root, name, data, mode=mode ^ 0o111)
        elif what < 0.45:
            put(root, name, b"-> elsewhere" if mode else content(chance))
        elif what < 0.9 and mode:
            put(root, name, edited(chance, data), mode=mode)
    lay(root, chance)


def files_of(root):
    """What is there: mode and content; a link has no mode."""
    found = {}
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = (0, b"-> " + os.fsencode(path.readlink()))
        elif path.is_file():
            found[name] = (0o755 if path.stat().st_mode & 0o100 else 0o644, path.read_bytes())
    return found


@pytest.mark.process
@pytest.mark.parametrize("start", range(0, SEEDS, 50))
def test_git_apply_makes_the_side_of_after(own_home, start):
    for seed in range(start, start + 50):
        chance = random.Random(seed)
        root = own_home / f"root-{seed}"
        root.mkdir()
        with Store.of(root) as store, store.locked(root):
            lay(root, chance)
            before, first = files_of(root), record(root, store)
            change(root, chance)
            after = files_of(root)
            changes = changes_between(store, first.tree, {}, record(root, store), Evidence(0))
            patch = patch_text(store, changes, 1_000_000)
        shutil.rmtree(root)
        root.mkdir()
        for name, (mode, data) in before.items():
            put(root, name, data, mode=mode)
        named = [line[2:].partition(": ")[0] for line in patch.split("\n") if line[:2] == "# "]
        for each in changes:  # what git cannot be told stays as it was, and is binary
            for path in {each.path, each.was} - {""} if each.path in named else ():
                name = os.fsdecode(path_bytes(path))
                assert b"\0" in before.get(name, (0, b""))[1] + after.pop(name, (0, b""))[1]
                after.update({name: before[name]} if name in before else {})
        raw = patch.encode(errors="surrogateescape")
        apply = ["git", "apply", "--allow-empty", "-"]
        done = subprocess.run(apply, input=raw, cwd=root, capture_output=True)
        assert not done.returncode, (seed, done.stderr, patch)
        assert files_of(root) == after, seed
