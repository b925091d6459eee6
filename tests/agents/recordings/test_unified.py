"""A diff as text is what git takes: applied to the files of before, it makes those of after."""

import subprocess
from collections import Counter

import pytest

from tests.inner import (
    Alignment,
    Evidence,
    Store,
    changes_between,
    diff_text,
    file_lines,
    hunks,
    patch_text,
    unified,
)
from tests.inner import recordings_changes as changed
from tests.inner import scan_record as record

TEXTS = [
    ("", "one\n"),
    ("one\n", ""),
    ("one\ntwo\nthree\n", "one\n2\nthree\n"),
    ("one\ntwo", "one\ntwo\n"),
    ("one\ntwo\n", "one\ntwo"),
    ("one", "two"),
    ("\n\n", "\n"),
    (
        "".join(f"{n}\n" for n in range(60)),
        "".join(f"{n}{'!' * (n % 25 == 9)}\n" for n in range(60)),
    ),
    ("a\r\nb\r\n", "a\r\nc\r\n"),
    ("b\nc\n", "a\nb\nc\nd\n"),
    ("x\x0cy\n", "x\x0cz\n"),
    ("a", "a\na\n"),
    ("a\na\n", "a"),
    ("a\na", "a\nb\na\n"),
    ("a\r", "a\r\nb"),
    ("\n", "a\n\nb"),
    ("".join(f"{n}\n" for n in range(40)) + "end", "new\n" + "".join(f"{n}\n" for n in range(41))),
    ("文档\n", "文档二\n"),
    ("a\u2028b\x85c\n", "a\u2028b\x85d\n"),
]
NAMES = ("a b.txt", "docs.md", "übung", 'q"uote', "back\\slash", "new\nline")


@pytest.mark.parametrize(("before", "after"), TEXTS)
@pytest.mark.process
def test_git_applies_it(own_home, before, after):
    root = own_home / "root"
    root.mkdir()
    for name in NAMES:
        (root / name).write_bytes(before.encode())
    with Store.of(root) as store, store.locked(root):
        first = record(root, store)
        for name in NAMES:
            (root / name).write_bytes(after.encode())
        (root / "new.txt").write_bytes(after.encode())
        changes = changes_between(store, first.tree, {}, record(root, store), Evidence(0))
        text = diff_text(store, changes, 100_000)
    (root / "new.txt").unlink()
    for name in NAMES:
        (root / name).write_bytes(before.encode())
    subprocess.run(
        ["git", "apply", "--unidiff-zero", "-"], input=text.encode(), cwd=root, check=True
    )
    for name in (*NAMES, "new.txt"):
        assert (root / name).read_bytes() == after.encode()


@pytest.mark.parametrize(("before", "after"), TEXTS)
def test_as_many_lines_are_counted_as_the_diff_has(before, after):
    signs = Counter(line[0] for line in hunks(before, after))
    assert Alignment(file_lines(before), file_lines(after)).counts == (signs["+"], signs["-"])


def test_what_is_too_long_is_named(own_home):
    root = own_home / "root"
    root.mkdir()
    with Store.of(root) as store, store.locked(root):
        first = record(root, store)
        (root / "long.txt").write_text("x\n" * 50_000)
        (root / "picture.png").write_bytes(b"\x89PNG\0")
        changes = changes_between(store, first.tree, {}, record(root, store), Evidence(0))
        text = diff_text(store, changes, 100_000)
    assert "long.txt: added, +50000" in text
    assert "Binary files a/picture.png and b/picture.png differ" in text
    assert len(text) < 1000


@pytest.mark.process
def test_git_applies_a_patch_with_binary_and_with_very_long_files(own_home):
    root = own_home / "root"
    root.mkdir()
    contents = {
        "five.txt": ("x" * 5_000_000, "y" * 5_000_000),
        "moved": ("\0" * 100, ""),
        "moved-there": ("", "\0" * 100),
        "picture": ("\0one", "\0two"),
        "huge.txt": ("", "z" * 11_000_000),
        "short.txt": ("one\n", "two\n"),
    }

    def lay(side):
        for name, texts in contents.items():
            (root / name).unlink(missing_ok=True)
            if texts[side]:
                (root / name).write_text(texts[side])

    with Store.of(root) as store, store.locked(root):
        lay(0)
        first = record(root, store)
        lay(1)
        changes = changes_between(store, first.tree, {}, record(root, store), Evidence(0))
        text = patch_text(store, changes, 20_000_000)
    named = [line for line in text.splitlines() if line.startswith("#")]
    assert named == [
        "# huge.txt: added, left out for its length",
        "# picture: modified, not in this patch",
    ]
    lay(0)
    subprocess.run(["git", "apply", "-"], input=text.encode(), cwd=root, check=True)
    assert (root / "five.txt").read_text() == contents["five.txt"][1]
    assert (root / "short.txt").read_text() == "two\n"
    assert (root / "moved-there").exists() and not (root / "moved").exists()
    assert (root / "picture").read_text() == "\0one" and not (root / "huge.txt").exists()


@pytest.mark.process
@pytest.mark.parametrize("last", ["x\x0cBinary files", "x\u2028Not recorded", "Binary files\n"])
def test_a_last_line_that_reads_like_ours_leaves_no_file_out(own_home, last):
    root = own_home / "root"
    root.mkdir()
    with Store.of(root) as store, store.locked(root):
        first = record(root, store)
        (root / "a.txt").write_text(last)
        changes = changes_between(store, first.tree, {}, record(root, store), Evidence(0))
        patch = patch_text(store, changes, 100_000)
    (root / "a.txt").unlink()
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=root, check=True)
    assert (root / "a.txt").read_text() == last


@pytest.mark.process
def test_git_applies_a_file_that_became_a_link_and_one_that_is_binary_no_more(own_home):
    root = own_home / "root"
    root.mkdir()
    with Store.of(root) as store, store.locked(root):
        (root / "config").write_text("one\n")
        (root / "data").write_bytes(b"\0one")
        first = record(root, store)
        (root / "config").unlink()
        (root / "config").symlink_to("elsewhere")
        (root / "data").write_text("one\n")
        changes = changes_between(store, first.tree, {}, record(root, store), Evidence(0))
        patch = patch_text(store, changes, 100_000)
    assert patch.startswith("# data: modified, binary, not in this patch\ndiff --git")
    (root / "config").unlink()
    (root / "config").write_text("one\n")
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=root, check=True)
    assert (root / "config").readlink().name == "elsewhere"


def test_what_would_take_long_to_compare_is_named(own_home, monkeypatch):
    monkeypatch.setattr(unified, "MOST_READ", 30)
    root = own_home / "root"
    root.mkdir()
    with Store.of(root) as store, store.locked(root):
        first = record(root, store)
        for name in "abc":
            (root / name).write_text("twenty bytes of text")
        changes = changes_between(store, first.tree, {}, record(root, store), Evidence(0))
        text = diff_text(store, changes, 100_000)
    assert "+++ b/a" in text
    assert "+++ b/b" not in text and "\nb: added" in text and "\nc: added" in text


def test_lines_are_counted_as_far_as_that_is_done_at_once(own_home, monkeypatch):
    """A turn ends once they are."""
    monkeypatch.setattr(changed, "MOST_LINES", 100)
    root = own_home / "root"
    root.mkdir()
    with Store.of(root) as store, store.locked(root):
        for name in "ab":
            (root / name).write_text("one\n" * 40)
        first = record(root, store)
        for name in "ab":
            (root / name).write_text("two\n" * 40)
        (root / "new").write_text("new\n" * 400)
        found = changes_between(store, first.tree, {}, record(root, store), Evidence(0))
    assert [(each.path, each.added) for each in found] == [("a", 40), ("b", None), ("new", None)]
