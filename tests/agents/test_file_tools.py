import asyncio
import math
import os
import random
import re
import shutil
import socket
import stat
import tempfile
import threading
import tracemalloc
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest
from django import conf
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import world
from tests.inner import FILES_MOST_LINES as MOST_LINES
from tests.inner import (
    LARGEST_READ,
    LARGEST_WRITE,
    ToolFailed,
    copy_agent,
    file_tools,
    files_folder,
    matching_lines,
    read_agent,
)
from tests.waiting import gives_up_after

SECRET = "the secret of the house next door"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "deep.txt").write_text(SECRET)
    folder = tmp_path / "files"
    (folder / "docs").mkdir(parents=True)
    (folder / "README.md").write_text("# Tidybox\n\nSee [the API](docs/api.md).\n")
    (folder / "docs" / "api.md").write_text("# API\n\nTODO\n")
    return folder


async def call(root, tool, **arguments):
    tools = {tool.name: tool for tool in file_tools(root)}
    return (await tools[tool].run(arguments)).text


def names(folder):
    return sorted(path.name for path in folder.iterdir())


async def refusal(root, tool, **arguments):
    with pytest.raises(ToolFailed) as failed:
        await call(root, tool, **arguments)
    sentence = str(failed.value)
    assert sentence.endswith(".") and "\n" not in sentence and "Errno" not in sentence
    return sentence


def test_what_may_be_repeated_after_a_crash_is_marked(tmp_path):
    marks = {tool.name: (tool.read_only, tool.idempotent) for tool in file_tools(tmp_path)}
    assert marks == {
        "list_files": (True, False),
        "read_file": (True, False),
        "search_files": (True, False),
        "write_file": (False, True),
        "edit_file": (False, False),
    }


def test_every_tool_and_argument_is_described_to_the_model(tmp_path):
    for tool in file_tools(tmp_path):
        function = tool.as_function()["function"]
        assert len(function["description"]) > 20
        assert all(
            "description" in field for field in function["parameters"]["properties"].values()
        )


# Listing


async def test_a_listing_names_every_file_by_a_path_that_can_be_read(root):
    listing = await call(root, "list_files")
    assert listing.splitlines() == ["README.md", "docs/api.md"]
    assert await call(root, "list_files", path="docs") == "docs/api.md"


async def test_a_listing_leaves_out_what_no_person_wrote(root):
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("x")
    assert "HEAD" not in await call(root, "list_files")
    assert await call(root, "list_files", path=".git") == ".git/HEAD"


async def test_a_listing_shows_links_and_pipes_as_what_they_are(root):
    (root / "out").symlink_to(root.parent / "outside")
    os.mkfifo(root / "pipe")
    listing = await call(root, "list_files")
    assert "out (link)" in listing and "pipe (not an ordinary file)" in listing
    assert "deep" not in listing


async def test_a_listing_is_cut_and_says_so(root):
    for number in range(1_005):
        (root / "docs" / f"{number:04}.txt").touch()
    rows = (await call(root, "list_files")).splitlines()
    assert len(rows) == 1_001 and "first 1,000" in rows[-1]


async def test_a_file_name_cannot_forge_rows_of_a_listing(root):
    (root / "a\nb.txt").touch()
    (root / os.fsdecode(b"\xff.txt")).touch()
    listing = await call(root, "list_files")
    assert "a\\nb.txt" in listing.splitlines()
    listing.encode()


async def test_an_empty_and_a_missing_folder_are_told_apart(root):
    (root / "empty").mkdir()
    assert await call(root, "list_files", path="empty") == "empty holds no files."
    assert "does not exist" in await refusal(root, "list_files", path="nowhere")


async def test_a_folder_deeper_than_any_project_does_not_break_the_walk(root):
    here = os.open(root, os.O_RDONLY)
    for _ in range(200):
        os.mkdir("d" * 100, dir_fd=here)
        deeper = os.open("d" * 100, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    assert "README.md" in await call(root, "list_files")


# Reading


async def test_a_whole_file_is_read_to_the_letter(root):
    assert await call(root, "read_file", path="docs/api.md") == "# API\n\nTODO\n"


async def test_a_window_says_how_to_read_on(root):
    (root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 31)))
    text = await call(root, "read_file", path="long.txt", start=11, end=20)
    assert text.startswith("line 11\n") and "line 21" not in text
    assert text.endswith("[Lines 11–20 of 30. Read on with start=21.]")


async def test_a_long_file_comes_in_windows(root):
    (root / "long.txt").write_text("x\n" * 5_000)
    text = await call(root, "read_file", path="long.txt")
    assert f"[Lines 1–{MOST_LINES} of 5,000. Read on with start={MOST_LINES + 1}.]" in text
    last = await call(root, "read_file", path="long.txt", start=4_001)
    assert last.endswith("[Lines 4001–5000 of 5,000.]")


async def test_one_endless_line_is_cut(root):
    (root / "line.txt").write_text("x" * 200_000)
    text = await call(root, "read_file", path="line.txt")
    assert len(text) < 61_000 and "A line is cut" in text


async def test_lines_that_are_not_there_are_named(root):
    assert "has 3 lines" in await refusal(root, "read_file", path="docs/api.md", start=9)
    assert "has 3 lines" in await refusal(root, "read_file", path="docs/api.md", start=3, end=1)
    assert "start" in await refusal(root, "read_file", path="docs/api.md", start=0)


async def test_a_form_feed_is_no_line_end(root):
    (root / "a.txt").write_text("one\x0cstill one\u2028and still\ntwo\n")
    assert await call(root, "read_file", path="a.txt", start=2) == "two\n[Lines 2–2 of 2.]"


async def test_files_without_text_are_refused_and_odd_letters_are_marked(root):
    (root / "a.bin").write_bytes(b"\x89PNG\0\1")
    (root / "latin.txt").write_bytes("café\n".encode("latin-1"))
    (root / "none.txt").touch()
    assert await refusal(root, "read_file", path="a.bin") == "a.bin is not a text file."
    assert (
        "caf�" in (text := await call(root, "read_file", path="latin.txt")) and "Not UTF-8" in text
    )
    assert await call(root, "read_file", path="none.txt") == "[none.txt is empty.]"


async def test_a_huge_file_is_refused_with_the_limit(root):
    with (root / "huge").open("wb") as file:
        file.truncate(LARGEST_READ + 1)
    assert "10,000,000 bytes" in await refusal(root, "read_file", path="huge")
    with (root / "huge").open("wb") as file:
        file.truncate(100_000_000_000)  # takes no room on disk, must take none in memory
    assert "too large" in await refusal(root, "read_file", path="huge")


async def test_byte_order_marks_and_windows_line_ends_do_not_show(root):
    (root / "win.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    assert await call(root, "read_file", path="win.txt") == "a\nb\n"


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as server, tempfile.TemporaryDirectory() as short:
        server.bind(f"{short}/s")  # the name of a socket may have about 100 letters only
        Path(f"{short}/s").rename(path)


async def test_folders_pipes_sockets_and_devices_are_not_read_and_never_block(root):
    os.mkfifo(root / "pipe")
    make_socket(root / "socket")
    (root / "zero").symlink_to("/dev/zero")
    assert "folder" in await refusal(root, "read_file", path="docs")
    assert "folder" in await refusal(root, "read_file", path=".")
    assert "ordinary" in await refusal(root, "read_file", path="pipe")
    assert "ordinary" in await refusal(root, "read_file", path="socket")
    assert "ordinary" in await refusal(root, "write_file", path="pipe", content="x")
    assert "inside the workspace" in await refusal(root, "read_file", path="zero")
    await call(root, "search_files", pattern="x")


# Staying inside

LEADING_OUT = [
    "../secret.txt",
    "docs/../../secret.txt",
    "docs/../../outside/deep.txt",
    "..",
    "/etc/passwd",
    "//etc/passwd",
    "./../files/../secret.txt",
    "docs/\0/../api.md",
    "\ud800",
]


@pytest.mark.parametrize("path", LEADING_OUT)
async def test_no_tool_follows_a_path_that_leads_out(root, path):
    for tool, more in [
        ("read_file", {}),
        ("list_files", {}),
        ("search_files", {"pattern": "secret"}),
        ("write_file", {"content": "mine"}),
        ("edit_file", {"old": SECRET, "new": "mine"}),
    ]:
        assert SECRET not in await refusal(root, tool, path=path, **more)
    assert (root.parent / "secret.txt").read_text() == SECRET


@pytest.mark.parametrize("target", ["../secret.txt", "../outside", "/etc", "loop"])
async def test_links_that_lead_out_or_nowhere_are_refused_as_file_and_as_folder(root, target):
    (root / "loop").symlink_to(target)
    for path in ("loop", "loop/deep.txt", "docs/../loop", "loop/new.txt"):
        await refusal(root, "read_file", path=path)
        await refusal(root, "write_file", path=path, content="mine")
        await refusal(root, "edit_file", path=path, old="secret", new="mine")
    assert SECRET not in await call(root, "search_files", pattern="secret")
    assert names(root.parent / "outside") == ["deep.txt"]
    assert (root.parent / "outside" / "deep.txt").read_text() == SECRET


async def test_a_link_that_stays_inside_works_and_stays_a_link(root):
    (root / "index.md").symlink_to("README.md")
    (root / "manual").symlink_to("docs")
    assert "Tidybox" in await call(root, "read_file", path="index.md")
    await call(root, "edit_file", path="index.md", old="Tidybox", new="Neatbox")
    await call(root, "write_file", path="manual/new.md", content="new")
    assert (root / "index.md").is_symlink() and "Neatbox" in (root / "README.md").read_text()
    assert (root / "docs" / "new.md").read_text() == "new"


async def test_the_agents_own_file_beside_the_folder_is_out_of_reach(root):
    (root.parent / "agent.json").write_text("{}")
    await refusal(root, "write_file", path="../agent.json", content='{"tools": {"*": "allow"}}')
    (root / "mine.json").symlink_to("../agent.json")
    await refusal(root, "write_file", path="mine.json", content="x")
    assert (root.parent / "agent.json").read_text() == "{}"


async def test_a_link_swapped_in_again_and_again_never_leads_out(root):
    """The race between check and use: a folder that turns into a link and back."""
    (root / "swap").mkdir()
    (root / "swap" / "deep.txt").write_text("inside")
    done = threading.Event()

    def swap():
        (root / "link").symlink_to(root.parent / "outside")
        while not done.is_set():
            (root / "swap").rename(root / "kept")
            while (root / "link").is_symlink():
                shutil.rmtree(root / "swap", ignore_errors=True)
                with suppress(OSError):
                    (root / "link").rename(root / "swap")
            (root / "swap").rename(root / "link")
            while (root / "kept").exists():  # a write may just have made the folder anew
                shutil.rmtree(root / "swap", ignore_errors=True)
                with suppress(OSError):
                    (root / "kept").rename(root / "swap")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(300):
            with suppress(ToolFailed):
                assert await call(root, "read_file", path="swap/deep.txt") == "inside"
            with suppress(ToolFailed):
                await call(root, "write_file", path="swap/deep.txt", content="inside")
    finally:
        done.set()
        thread.join()
    assert (root.parent / "outside" / "deep.txt").read_text() == SECRET
    assert names(root.parent / "outside") == ["deep.txt"]


pieces = st.sampled_from(
    ["..", ".", "docs", "README.md", "out", "up", "", "~", "a\\b", "ＡＢ", "n" * 300, "\0", "\n"]
)
paths = st.one_of(st.lists(pieces, max_size=6).map("/".join), st.text(max_size=40))


@given(path=paths, content=st.text(max_size=20))
@settings(max_examples=150, deadline=None)
async def test_no_path_whatever_it_is_escapes(path, content):
    with tempfile.TemporaryDirectory() as place:
        house = Path(place)
        root = house / "files"
        (root / "docs").mkdir(parents=True)
        (root / "README.md").write_text("read me")
        (house / "secret.txt").write_text(SECRET)
        (root / "out").symlink_to("../secret.txt")
        (root / "up").symlink_to("..")
        for tool, more in [
            ("list_files", {}),
            ("read_file", {}),
            ("write_file", {"content": content}),
            ("edit_file", {"old": "secret", "new": content}),
            ("search_files", {"pattern": "secret"}),
        ]:
            try:
                assert SECRET not in await call(root, tool, path=path, **more)
            except ToolFailed as failed:
                assert SECRET not in str(failed)
        assert names(house) == ["files", "secret.txt"]
        assert (house / "secret.txt").read_text() == SECRET


# Writing


async def test_writing_makes_folders_and_says_what_is_new(root):
    assert (
        await call(root, "write_file", path="a/b/c.md", content="1\n2\n")
        == "Created a/b/c.md (2 lines)."
    )
    assert (
        await call(root, "write_file", path="a/b/c.md", content="1") == "Wrote a/b/c.md (1 lines)."
    )
    assert (root / "a/b/c.md").read_text() == "1"
    assert names(root / "a/b") == ["c.md"]


async def test_writing_keeps_permissions_and_spares_other_names_of_the_file(root):
    script = root / "run.sh"
    script.write_text("old")
    script.chmod(0o755)
    os.link(script, root.parent / "twin")
    await call(root, "write_file", path="run.sh", content="new")
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert (root.parent / "twin").read_text() == "old"


async def test_what_cannot_be_written_is_said(root):
    (root / "fixed.md").write_text("x")
    (root / "fixed.md").chmod(0o444)
    assert "write-protected" in await refusal(root, "write_file", path="fixed.md", content="y")
    assert "folder" in await refusal(root, "write_file", path="docs", content="y")
    assert "not a folder" in await refusal(root, "write_file", path="README.md/x", content="y")
    assert "too long" in await refusal(root, "write_file", path="n" * 300, content="y")
    assert "2,000,000" in await refusal(
        root, "write_file", path="b", content="x" * (LARGEST_WRITE + 1)
    )
    assert "half a character" in await refusal(root, "write_file", path="b", content="\ud800")
    assert "content" in await refusal(root, "write_file", path="b")


# Editing


async def test_an_edit_changes_one_place_and_nothing_else(root):
    said = await call(root, "edit_file", path="docs/api.md", old="TODO", new="Two functions.")
    assert said == "Edited docs/api.md at line 3."
    assert (root / "docs/api.md").read_text() == "# API\n\nTwo functions.\n"


async def test_an_edit_wants_exactly_one_match_and_counts_the_others(root):
    (root / "a.txt").write_text("one\ntwo\none\naaa\n")
    assert "found 0 times" in await refusal(root, "edit_file", path="a.txt", old="three", new="x")
    sentence = await refusal(root, "edit_file", path="a.txt", old="one", new="x")
    assert "found 2 times" in sentence and "lines 1, 3" in sentence
    assert "found 2 times" in await refusal(root, "edit_file", path="a.txt", old="aa", new="x")
    assert "empty" in await refusal(root, "edit_file", path="a.txt", old="", new="x")
    assert "same" in await refusal(root, "edit_file", path="a.txt", old="two", new="two")


async def test_an_edit_keeps_windows_line_ends_and_the_mark(root):
    (root / "win.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\r\nc\r\n")
    await call(root, "edit_file", path="win.txt", old="a\nb", new="a\nb\nb2")
    await call(root, "edit_file", path="win.txt", old="c", new="c\nd")
    assert (root / "win.txt").read_bytes() == b"\xef\xbb\xbfa\r\nb\r\nb2\r\nc\r\nd\r\n"


async def test_an_edit_of_mixed_line_ends_leaves_each_as_it_was(root):
    (root / "mixed.txt").write_bytes(b"a\nb\r\nc\r\n")
    await call(root, "edit_file", path="mixed.txt", old="b\nc", new="b\nC")
    await call(root, "edit_file", path="mixed.txt", old="a\n", new="A\n")
    assert (root / "mixed.txt").read_bytes() == b"A\nb\r\nC\r\n"


async def test_a_file_that_is_not_utf8_is_not_edited(root):
    (root / "latin.txt").write_bytes("café here".encode("latin-1"))
    assert "UTF-8" in await refusal(root, "edit_file", path="latin.txt", old="here", new="there")
    assert (root / "latin.txt").read_bytes() == "café here".encode("latin-1")


async def test_edits_at_the_same_time_are_all_kept(root):
    (root / "many.txt").write_text("".join(f"<{n}>\n" for n in range(30)))
    await asyncio.gather(
        *(
            call(root, "edit_file", path="many.txt", old=f"<{n}>", new=f"done {n}.")
            for n in range(30)
        )
    )
    assert (root / "many.txt").read_text() == "".join(f"done {n}.\n" for n in range(30))


# Searching


async def test_a_search_says_where_each_line_stands(root):
    assert await call(root, "search_files", pattern="TODO") == "docs/api.md:3: TODO"
    assert await call(root, "search_files", pattern="TODO", path="docs") == "docs/api.md:3: TODO"
    assert (
        await call(root, "search_files", pattern="API", path="README.md")
        == "README.md:3: See [the API](docs/api.md)."
    )


async def test_expressions_work_and_broken_ones_are_plain_text(root):
    (root / "a.md").write_text("f(x\n## Two\n")
    assert (
        await call(root, "search_files", pattern=r"\]\((.+)\)")
        == "README.md:3: See [the API](docs/api.md)."
    )
    assert await call(root, "search_files", pattern="f(x") == "a.md:1: f(x"
    assert await call(root, "search_files", pattern="(?i)^# tidy") == "README.md:1: # Tidybox"
    assert await call(root, "search_files", pattern=r"^## \w+$") == "a.md:2: ## Two"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*,){25}P", r"^(\w+\s?)*$", "a*" * 60])
async def test_no_expression_takes_longer_than_the_text_is_long(root, pattern):
    lines = ["a" * 50_000 + "!", "a," * 5_000, "word " * 9_000 + "!"]
    (root / "evil.txt").write_text("\n".join(lines))
    with gives_up_after(4):
        assert "evil.txt" in await call(root, "search_files", pattern=f"{pattern}|!$")


@pytest.mark.parametrize(
    ("pattern", "part"),
    [("(?=a)b", "(?="), ("(?<!a)b", "(?<"), (r"(a)\1", r"\1"), ("(?>a)", "(?>")],
)
async def test_what_only_other_engines_match_is_refused_and_named(root, pattern, part):
    told = await refusal(root, "search_files", pattern=pattern)
    assert told.startswith(f"A pattern is one of RE2, which has no {part}")


@pytest.mark.parametrize("pattern", ["[ab]*a[ab]{900}c", "(([ab]{30}){30})+c"])
async def test_what_would_keep_a_thread_beyond_the_limit_is_not_begun(root, pattern):
    (root / "long.txt").write_text("ab" * 400_000)
    with gives_up_after(4):
        assert "simpler pattern" in await refusal(root, "search_files", pattern=pattern)


LINES = ["one two", "", "TWO", "  three", "a", "é中文", "x" * 400, "a\tb", "two one", "c++", "end"]
ENDS = ["", "^", "$", r"\b", r"\A", r"\s*"]
MIDDLES = ["two", "(?i:two)", "[^a]", ".", r"\w+ \w+", "x{3,}", "one|end", "中", r"\t", "(a|b)+"]


def test_lines_are_found_as_each_would_be_alone():
    """Many are looked at as one text first, in which an expression may reach over their ends."""
    chance = random.Random(5)
    for begin, middle, end in product(ENDS, MIDDLES, [*ENDS[:4], r"\z"]):
        lines = chance.choices(LINES, k=2_500)
        pattern = f"{begin}(?:{middle}){end}"
        python = re.compile(pattern.replace(r"\z", r"\Z"), re.ASCII)
        wanted = [place for place, line in enumerate(lines) if python.search(line)]
        assert list(matching_lines(pattern, lines, math.inf)) == wanted, pattern


async def test_a_piece_that_is_everywhere_is_not_counted_for_ever(root):
    (root / "same.txt").write_text("a" * 200_000)
    told = await refusal(root, "edit_file", path="same.txt", old="a" * 100_000, new="b")
    assert told.startswith("old was found over 100 times in same.txt (lines 1, 1, 1, 1, 1).")


async def test_a_search_says_what_it_left_out(root):
    (root / "pic.bin").write_bytes(b"TODO\0")
    (root / "big.txt").write_text("TODO\n" * 250_000)
    text = await call(root, "search_files", pattern="TODO")
    assert text.splitlines() == [
        "docs/api.md:3: TODO",
        "[Not searched: 2 files that are not text or over 1,000,000 bytes.]",
    ]
    (root / "many.txt").write_text("TODO\n" * 150)
    text = await call(root, "search_files", pattern="TODO")
    assert "[The first 100 of 151 lines." in text


async def test_a_search_through_very_many_lines_takes_neither_long_nor_much(root):
    (root / "empty.txt").write_text("\n" * 999_990 + "TODO\n")
    tracemalloc.start()
    try:
        told = await call(root, "search_files", pattern="TODO", path="empty.txt")
        assert told == "empty.txt:999991: TODO"
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


async def test_a_search_without_hits_says_so(root):
    assert (await call(root, "search_files", pattern="nowhere to be found")).startswith(
        "No line matches."
    )
    assert "from 1 to 500" in await refusal(root, "search_files", pattern="")
    assert "from 1 to 500" in await refusal(root, "search_files", pattern="(" * 501)
    assert "does not exist" in await refusal(root, "search_files", pattern="x", path="nowhere")


# A second name of a file (a hard link) never leads a tool out of its workspace.

HOME_SECRET = "the secret of another agent"
READINGS = {
    "read_file": {"path": "notes.md"},
    "edit_file": {"path": "notes.md", "old": "secret", "new": "open"},
    "write_file": {"path": "notes.md", "content": "mine"},
}


def own_workspace():
    return files_folder(read_agent(world.agent()))


def outside(tmp_path):
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def other_agents_file():
    return (
        Path(conf.settings.PLANSIDE_HOME)
        / "workspaces"
        / world.agent(name=HOME_SECRET)
        / "agent.json"
    )


def own_agents_file(root):
    return root.parent / "agent.json"


def key():
    return Path(conf.settings.PLANSIDE_HOME) / "secret.key"


@pytest.mark.parametrize("tool", READINGS)
async def test_no_file_tool_touches_agent_json_through_a_hard_link(tool):
    root = own_workspace()
    before = own_agents_file(root).read_text()
    (root / "notes.md").hardlink_to(own_agents_file(root))
    with pytest.raises(ToolFailed, match=r"^notes\.md is a hard link, which may lead out"):
        await call(root, tool, **READINGS[tool])
    assert own_agents_file(root).read_text() == before


@pytest.mark.parametrize("tool", READINGS)
async def test_a_persons_own_folder_is_no_way_into_the_home(tool, tmp_path):
    root = outside(tmp_path)
    for inside in (other_agents_file(), key()):
        (root / "notes.md").unlink(missing_ok=True)
        (root / "notes.md").hardlink_to(inside)
        with pytest.raises(ToolFailed, match="hard link"):
            await call(root, tool, **READINGS[tool])


async def test_a_search_and_a_listing_show_nothing_of_what_is_linked(tmp_path):
    for root in (own_workspace(), outside(tmp_path)):
        (root / "notes.md").hardlink_to(other_agents_file())
        (root / "own.md").write_text("nothing here")
        found = await call(root, "search_files", pattern="secret|agent|nothing")
        assert found.splitlines()[0] == "own.md:1: nothing here" and HOME_SECRET not in found
        told = "[Not searched: 1 hard link, which may lead out of the workspace.]"
        assert found.splitlines()[1:] == [told]
        with pytest.raises(ToolFailed, match=r"^notes\.md is a hard link, which may lead out"):
            await call(root, "search_files", pattern="secret", path="notes.md")
        assert await call(root, "list_files") == "notes.md (hard link)\nown.md"
        with pytest.raises(ToolFailed):
            await call(root, "search_files", pattern="secret", path="nowhere.md")


async def test_links_among_a_persons_own_files_are_their_business(tmp_path):
    root = outside(tmp_path)
    (tmp_path / "store.md").write_text("packed once")
    (root / "package.md").hardlink_to(tmp_path / "store.md")
    assert await call(root, "read_file", path="package.md") == "packed once"
    assert await call(root, "list_files") == "package.md"
    await call(root, "edit_file", path="package.md", old="once", new="twice")
    assert (tmp_path / "store.md").read_text() == "packed once"


def test_a_copied_agent_gets_nothing_that_was_linked():
    root = own_workspace()
    (root / "notes.md").hardlink_to(other_agents_file())
    (root / "own.md").write_text("mine")
    copied = files_folder(copy_agent(root.parent.name, f"{root.parent.name}-copy"))
    assert [path.name for path in copied.iterdir()] == ["own.md"]
