import json
import os
import re
import subprocess
import sys

import pytest

from agents.errors import Conflict, Invalid, NotFound
from tests.inner import WORKSPACES_SAMPLE as SAMPLE
from tests.inner import (
    copy_agent,
    create_agent,
    file_tools,
    files_folder,
    list_agents,
    opened_folder,
    prepare_home,
    read_agent,
    replace_agent_text,
    trash,
)
from tests.inner import store_delete_agent as delete_agent

pytestmark = pytest.mark.django_db  # whose file it is decides what may stand in it

# What the demo has to find. (page, link) and (page, heading); the sample itself does not tell.
BROKEN_LINKS = {
    ("README.md", "docs/quick-start.md"),
    ("README.md", "docs/configuration.md#files-that-stayed"),
    ("docs/quickstart.md", "config.md"),
    ("docs/quickstart.md", "configuration.md#journal"),
    ("docs/configuration.md", "../example/rules.json"),
    ("docs/api.md", "quickstart.md#undo"),
    ("docs/changelog.md", "../README.md#install"),
}
EMPTY_SECTIONS = {
    ("README.md", "Usage"),
    ("README.md", "Exit codes"),
    ("docs/quickstart.md", "Undo a run"),
    ("docs/configuration.md", "Name clashes"),
    ("docs/api.md", "`plan_moves(folder, rules, now)`"),
}


@pytest.fixture(autouse=True)
def home(tmp_path, settings):
    settings.PLANSIDE_HOME = tmp_path / "home"
    return tmp_path / "home"


# The home


def test_the_first_start_makes_a_private_home_with_the_sample_agent(home):
    prepare_home()
    assert home.stat().st_mode & 0o777 == 0o700
    [record] = list_agents()
    assert (record.file.name, record.problem) == ("Docs writer", None)
    assert record.file.plan.enabled and set(record.file.tools.values()) == {"allow"}
    assert (record.file.provider, record.file.model) == ("demo", "docs")
    assert (files_folder(record) / "docs" / "quickstart.md").exists()
    assert (home / "chains").is_dir()


def test_the_sample_uses_the_model_that_is_configured(settings):
    settings.PLANSIDE_MODEL = "ollama/qwen3:8b/q4"
    prepare_home()
    file = read_agent("docs-writer").file
    assert (file.provider, file.model) == ("ollama", "qwen3:8b/q4")


def test_a_deleted_sample_stays_deleted(home):
    prepare_home()
    delete_agent("docs-writer")
    prepare_home()
    assert list_agents() == []


def test_later_starts_change_nothing(home):
    prepare_home()
    path = read_agent("docs-writer").path
    path.write_text('{"name": "Mine"}')
    before = (home / "agent.schema.json").stat().st_mtime_ns
    prepare_home()
    assert path.read_text() == '{"name": "Mine"}'
    assert (home / "agent.schema.json").stat().st_mtime_ns == before


def test_a_home_that_holds_only_the_secret_key_is_still_a_first_start(home):
    home.mkdir(mode=0o700)
    (home / "secret.key").write_text("x")
    prepare_home()
    assert len(list_agents()) == 1


def test_the_schema_knows_every_key_of_the_sample(home):
    prepare_home()
    schema = json.loads((home / "agent.schema.json").read_text())
    assert json.loads((SAMPLE / "agent.json").read_text()).keys() <= schema["properties"].keys()


# Create, copy, delete


def test_a_new_agent_is_off_until_told_otherwise_and_its_file_is_complete(home):
    record = create_agent("bob", {"name": "Bob", "x-note": "kept", "plan": {"enforce": True}})
    text = json.loads(record.path.read_text())
    assert text["plan"] == record.file.plan.model_dump() and text["tools"] == {}
    assert text["x-note"] == "kept" and record.text.startswith('{\n  "$schema"')
    assert text["plan"]["attempt_timeout_s"] == 600 and "600.0" not in record.text


def test_an_agent_that_exists_is_not_made_again(home):
    create_agent("bob", {})
    for act in (lambda: create_agent("bob", {}), lambda: copy_agent("bob", "bob")):
        with pytest.raises(Conflict, match='The id "bob" is taken'):
            act()


def test_a_refused_agent_is_not_there(home):
    with pytest.raises(Invalid, match=r"plan\.enabled"):
        create_agent("bob", {"plan": {"enabled": 1}})
    with pytest.raises(NotFound):
        read_agent("bob")
    assert create_agent("bob", {}).id == "bob"


def test_a_copy_has_its_own_id_name_and_files(home):
    prepare_home()
    copy = copy_agent("docs-writer", "docs-writer-2")
    assert (copy.file.id, copy.file.name) == ("docs-writer-2", "Docs writer (copy)")
    (files_folder(copy) / "README.md").write_text("mine")
    assert "Tidybox" in (files_folder(read_agent("docs-writer")) / "README.md").read_text()


def test_a_copy_leaves_pipes_out_and_links_as_they_are(home):
    record = create_agent("bob", {})
    os.mkfifo(files_folder(record) / "pipe")
    (files_folder(record) / "link").symlink_to("/etc")
    copied = files_folder(copy_agent("bob", "alice"))
    assert list(copied.iterdir()) == [copied / "link"] and (copied / "link").is_symlink()


def test_a_copy_ends_where_folders_lie_in_each_other_without_end(home):
    record = create_agent("bob", {})
    inside = os.open(files_folder(record), os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=inside)
        inside, above = os.open("d", os.O_RDONLY, dir_fd=inside), inside
        os.close(above)
    os.close(inside)
    (files_folder(record) / "d" / "a.txt").write_text("a")
    copied = files_folder(copy_agent("bob", "alice"))
    assert (copied / "d" / "a.txt").read_text() == "a"
    assert (copied / "/".join("d" * 50)).is_dir()
    with opened_folder(files_folder(record).parent, ()) as above:
        trash.remove(above, "files")  # pytest's own clean-up calls itself for each folder


def test_deleting_moves_the_folder_to_the_trash_each_time(home):
    for _ in range(2):
        record = create_agent("bob", {})
        (files_folder(record) / "work.md").write_text("precious")
        delete_agent("bob")
    left = home / "workspaces" / ".trash"
    assert len(list(left.glob("bob-*/files/work.md"))) == 2
    with pytest.raises(NotFound):
        delete_agent("bob")


def test_asking_for_agents_that_are_not_there_leaves_no_trace(home):
    for number in range(3):
        with pytest.raises(NotFound):
            delete_agent(f"nobody{number}")
    assert not home.exists() or not list(home.rglob("nobody*"))


# The folder the tools see


def test_tools_see_the_files_folder_or_the_one_that_is_named(home, tmp_path):
    record = create_agent("bob", {})
    assert files_folder(record) == (home / "workspaces" / "bob" / "files").resolve()
    project = tmp_path / "project"
    project.mkdir()
    assert files_folder(create_agent("alice", {"workspace": str(project)})) == project.resolve()


def test_a_workspace_is_a_folder_apart_from_the_home(home, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(home)
    create_agent("bob", {})
    for workspace in [
        "/",
        str(tmp_path),
        str(home),
        str(home / "workspaces" / "bob"),
        str(tmp_path / "link"),
        str(tmp_path / "file"),
        "files",
        "",
        "~nobody-of-that-name/x",
        "a\0",
    ]:
        with pytest.raises(Invalid):
            create_agent("alice", {"workspace": workspace})


def test_a_workspace_that_has_gone_is_said_when_it_is_needed(home, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    record = create_agent("bob", {"workspace": str(project)})
    project.rmdir()
    with pytest.raises(Invalid, match="is not a folder"):
        files_folder(read_agent("bob"))
    assert replace_agent_text("bob", record.text.replace('"bob"', '"bob"', 1)).problem is None


def test_a_files_folder_that_is_a_link_into_the_home_is_refused(home):
    record = create_agent("bob", {})
    (record.path.parent / "files").symlink_to(home)
    with pytest.raises(Invalid, match="own folder"):
        files_folder(record)


# The sample


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def headings(page):
    return re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.S), re.M)


def is_broken(page, link):
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return True
    return bool(anchor) and anchor not in map(slug, headings(target))


def test_the_sample_has_just_the_faults_we_planted():
    root = SAMPLE / "files"
    links, empty = set(), set()
    for page in root.rglob("*.md"):
        name = page.relative_to(root).as_posix()
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            if "://" not in link and is_broken(page, link):
                links.add((name, link))
        for heading, body in re.findall(
            r"^##+ ([^\n]+)\n(.*?)(?=^##|\Z)", page.read_text(), re.M | re.S
        ):
            if body.strip() in ("", "TODO"):
                empty.add((name, heading))
    assert links == BROKEN_LINKS
    assert empty == EMPTY_SECTIONS


@pytest.mark.process
def test_the_samples_program_does_what_its_pages_say(tmp_path):
    for name in ("a.pdf", "b.txt", ".hidden.pdf"):
        (tmp_path / name).touch()
    files = SAMPLE / "files"

    def run(*arguments):
        command = [sys.executable, "-B", str(files / "tidybox.py"), str(tmp_path), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    rules = ["--rules", str(files / "examples" / "rules.json")]
    assert run(*rules, "--dry-run").stdout == "a.pdf: papers/a.pdf\nb.txt: no rule fits\n"
    assert run(*rules).returncode == 0 and (tmp_path / "papers" / "a.pdf").exists()
    assert run("--undo").returncode == 0 and (tmp_path / "a.pdf").exists()
    (tmp_path / "papers" / "a.pdf").touch()
    assert run(*rules).returncode == 1
    assert run("--rules", "nowhere.json").returncode == 2


async def test_the_file_tools_can_read_the_whole_sample(home):
    prepare_home()
    tools = {tool.name: tool for tool in file_tools(files_folder(read_agent("docs-writer")))}
    listing = (await tools["list_files"].run({})).text.splitlines()
    assert listing == [
        "README.md",
        "rules.py",
        "tidybox.py",
        "docs/api.md",
        "docs/changelog.md",
        "docs/configuration.md",
        "docs/quickstart.md",
        "examples/rules.json",
    ]
    for path in listing:
        assert (await tools["read_file"].run({"path": path})).text.endswith("\n")
