"""Real documents are loaded and called, and real generators make clients of ours: `make real`."""

import asyncio
import json
import logging
import subprocess
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from asgiref.sync import sync_to_async

from agents.models import ToolSource
from agents.tools.confinement import Workspace
from agents.tools.integrations import actions
from agents.tools.integrations.openapi import http
from agents.tools.integrations.tools import source_tools
from console.api.urls import api
from tests.console.serving import free_port
from tests.peers import programs, python_programs, serving

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.server("OpenAPI documents")]
log = logging.getLogger(__name__)

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def packages():
    return programs(HERE).parent


@pytest.fixture(scope="module")
def python():
    """A Python with FastAPI and openapi-python-client."""
    return python_programs(HERE / "requirements" / "openapi.txt")


async def longest_stall(work):
    """What the work gives, and the longest time that nothing else on the loop could run."""
    ticks = [time.perf_counter()]

    async def tick():
        while True:
            await asyncio.sleep(0.001)
            ticks.append(time.perf_counter())

    ticking = asyncio.create_task(tick())
    try:
        return await work, max(b - a for a, b in pairwise(ticks))
    finally:
        ticking.cancel()


@contextmanager
def published(path, document):
    """The document at its address, and the service behind it, which says how it was called."""

    def answer(request):
        if request.url.path == path:
            return httpx.Response(200, content=document)
        return httpx.Response(200, json={"method": request.method, "path": request.url.path})

    with http.use(httpx.MockTransport(answer)):
        yield


DOCUMENTS = {
    "GitHub": ("@octokit/openapi/generated/api.github.com.json", "https://api.github.com",
     "repos_get", {"owner": "a", "repo": "b"}, "/repos/a/b", (1223, 1223)),
    "Directus": ("@directus/specs/dist/openapi.json", "https://cms.example",
     "getActivities", {}, "/activity", (135, 136)),
    "Petstore 2.0": ("@readme/oas-examples/2.0/json/petstore.json", "https://petstore.swagger.io",
     "getPetById", {"petId": 3}, "/v2/pet/3", (20, 20)),
    "Train travel, 3.1 in YAML": ("@readme/oas-examples/3.1/yaml/train-travel.yaml", "https://api.example.com",
     "get-stations", {}, "/stations", (7, 7)),
    "Star Trek, 3.0 in YAML": ("@readme/oas-examples/3.0/yaml/star-trek.yaml", "http://stapi.co",
     "get_animal_search", {}, "/rest/animal/search", (120, 120)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("file", "host", "name", "arguments", "path", "loaded"),
    [
        pytest.param(*facts, id=label, marks=pytest.mark.shows(label))
        for label, facts in DOCUMENTS.items()
    ],
)
async def test_a_published_document_is_loaded_and_called(
    packages, file, host, name, arguments, path, loaded
):
    document = (packages / file).read_bytes()
    where = f"/docs/{Path(file).name}"
    with published(where, document):
        add = sync_to_async(actions.add_source)
        source = await add("real", kind="openapi", url=host + where, by="alice")
        began = time.perf_counter()
        source, stall = await longest_stall(actions.register(source, "alice"))
        seconds = time.perf_counter() - began
        tools = {tool.name: tool for tool in await sync_to_async(source_tools)()}
        result = await tools[f"real__{name}"].run(arguments)
    count = len(source.tools)
    log.info("%s: %s of %s in %.1f s, longest stall %.0f ms, %s → %s", Path(file).name, count,
             count + len(source.skipped), seconds, stall * 1000, name, result.text)  # fmt: skip
    for each in source.skipped:
        log.info("   left out: %s: %s", each["operation"], each["why"])
    assert json.loads(result.body)["path"].endswith(path)
    assert (count, count + len(source.skipped)) == loaded
    assert stall < 0.25


@pytest.mark.server("FastAPI")
@pytest.mark.shows("an upload")
async def test_a_file_of_the_workspace_is_uploaded_to_fastapi(python, tmp_path):
    (tmp_path / "a.txt").write_text("Grüße")
    (tmp_path / "b.bin").write_bytes(b"12345")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [python / "uvicorn", "--app-dir", HERE, "upload_app:app", "--port", str(port)]
    with serving(command, f"{url}/openapi.json"):
        add = sync_to_async(actions.add_source)
        await actions.register(await add("files", kind="openapi", url=url, by="alice"), "alice")
        (tool,) = await sync_to_async(source_tools)(Workspace(tmp_path).read)
        body = {"file": "a.txt", "note": "hello", "more": ["b.bin", "a.txt"]}
        result = await tool.run({"body": body})
    log.info("FastAPI: %s", result.text)
    assert json.loads(result.body) == {
        "name": "a.txt", "type": "text/plain", "text": "Grüße", "note": "hello", "more": [5, 7],
    }  # fmt: skip
    assert await sync_to_async(ToolSource.objects.count)() == 1


@pytest.mark.server("generators of clients")
@pytest.mark.shows("openapi-python-client, openapi-typescript: nothing dropped, compiles")
def test_generated_clients_leave_nothing_out_and_compile(packages, python, tmp_path):
    document = api.get_openapi_schema()
    (tmp_path / "own.json").write_text(json.dumps(document, default=str))
    count = sum(len(methods) for methods in document["paths"].values())

    def run(*command):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    # It knows no ZIP of its own accord, and has a setting for what it does not know.
    (tmp_path / "settings.json").write_text(json.dumps({"content_type_overrides": {"application/zip": "application/octet-stream"}}))  # fmt: skip
    made = run(python / "openapi-python-client", "generate", "--path", "own.json", "--output-path", "own", "--meta", "none", "--config", "settings.json")  # fmt: skip
    assert "WARNING" not in made and "removal" not in made
    run(python / "python", "-m", "compileall", "-q", "own")
    endpoints = [
        each for each in (tmp_path / "own" / "api").rglob("*.py") if each.name != "__init__.py"
    ]
    schemas = len(document["components"]["schemas"])
    log.info(
        "openapi-python-client: %s of %s operations; %s schemas", len(endpoints), count, schemas
    )
    assert len(endpoints) == count
    run(packages / ".bin" / "openapi-typescript", "own.json", "-o", "own.ts")
    run(packages / ".bin" / "tsc", "--noEmit", "--strict", "own.ts")
    written = (tmp_path / "own.ts").read_text()
    for name in document["components"]["schemas"]:
        assert (
            f"        {name}: " in written
            or f'        "{name}": ' in written
            or f"        /** {name}" in written
        ), name
