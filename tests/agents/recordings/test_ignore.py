"""The rules of `.gitignore` files: git's own, and none that anybody has to wait for."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from tests.inner import NO_RULES, ignore
from tests.waiting import gives_up_after

NAMES = ["a", "b", "ab", "aab", "a.b", "!a", "#a", "a b", "x[1]", "[", "a\\b", "ba", "abab"]
BITS = [
    *("a", "b", "*", "**", "?", "/", "/", "[ab]", "[!a]", "[a-b]", "\\*", "\\a", ".", "**/"),
    *("/**", "/**/", "[a/b]", "#", "!", "[", "]", " "),
]


def kept(root, rules, parts=()):
    """What a walk through the folder finds under these rules."""
    for entry in os.scandir(Path(root, *map(os.fsdecode, parts))):
        path = (*parts, os.fsencode(entry.name))
        if entry.name == ".git" or rules.leave_out(path, entry.is_dir()):
            continue
        if entry.is_dir():
            yield from kept(root, rules, path)
        else:
            yield b"/".join(path)


@pytest.mark.process
def test_patterns_mean_what_they_mean_to_git(tmp_path):
    chance = random.Random(7)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for _ in range(120):
        *above, name = chance.choices(NAMES, k=chance.randint(1, 4))
        folder = tmp_path.joinpath(*above)
        if not any(each.is_file() for each in (folder, *folder.parents)):
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / name).exists():
                (folder / name).write_text("x")
    git = ["git", "-C", tmp_path, "ls-files", "-o", "-z", "--exclude-standard"]
    for _ in range(80):
        lines = ["".join(chance.choices(BITS, k=chance.randint(1, 6))) for _ in range(2)]
        content = "\n".join(lines).encode() + b"\n"
        (tmp_path / ".git" / "info" / "exclude").write_bytes(content)
        wanted = subprocess.run(git, check=True, capture_output=True).stdout
        found = set(kept(tmp_path, NO_RULES.with_file(content, 0)))
        assert found == set(wanted.split(b"\0")) - {b""}, content


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (b"*a*a*a*a*a*a*a*a*a*b", (b"a" * 255,)),
        (b"?*" * 120 + b"b", (b"a" * 255,)),
        (b"/x" + b"*[a-z]" * 40 + b"!", (b"x" + b"a" * 254,)),
        (b"**/a/" * 12 + b"b", (b"a",) * 100),
        (b"a/" + b"**/*a*a*a/" * 12 + b"b", (b"a" * 200,) * 100),
    ],
)
def test_no_pattern_tries_every_way_to_divide_a_name(pattern, path):
    with gives_up_after(10):
        assert not NO_RULES.with_file(pattern, 0).leave_out(path, False)


def test_of_endless_rules_only_so_many_are_in_force(monkeypatch):
    monkeypatch.setattr(ignore, "MOST_PATTERNS", 3)
    ignore.patterns_of.cache_clear()
    rules = NO_RULES.with_file(b"a\nb\n", 0).with_file(b"c\nd\ne\n", 1)
    assert [rules.leave_out((b"in", name), False) for name in (b"a", b"b", b"c", b"d")] == [
        *(True, True, True, False)
    ]
    ignore.patterns_of.cache_clear()


def test_a_megabyte_of_rules_is_read_in_no_time():
    with gives_up_after(20):
        rules = NO_RULES.with_file(b"".join(b"a%d*b\n" % n for n in range(120_000)), 0)
        assert not rules.leave_out((b"c",), False)


def test_rules_that_are_too_large_an_automaton_leave_nothing_out(monkeypatch):
    monkeypatch.setattr(ignore, "MOST_MEMORY", 10_000)
    ignore.patterns_of.cache_clear()
    rules = NO_RULES.with_file(b"".join(b"*a%d*[ab]\n" % n for n in range(1_500)), 0)
    assert not rules.leave_out((b"xa1xa",), False)
    ignore.patterns_of.cache_clear()
