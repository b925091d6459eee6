"""How each provider is asked for its models, and what is read of each.

The shapes are those of the vendors' own documentation, named beside the providers in
agents/llm/known_providers.py.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from agents import http
from tests.inner import Endpoint, ModelError, ModelInfo, models_of

Answers = dict[str, Any]


@pytest.fixture
def asked() -> list[httpx.Request]:
    return []


@pytest.fixture
def list_of(
    asked: list[httpx.Request],
) -> Callable[[Endpoint, Answers], Awaitable[dict[str, ModelInfo]]]:
    """The models by id, from a server that answers by path; others of its paths are 404."""

    async def listed(endpoint: Endpoint, answers: Answers) -> dict[str, ModelInfo]:
        async def answer(request: httpx.Request) -> httpx.Response:
            asked.append(request)
            path = request.url.raw_path.decode()
            found = answers.get(path, answers.get(request.url.path))
            if callable(found):
                found = found(json.loads(await request.aread()))
            if found is None:
                return httpx.Response(404, json={"error": {"message": "no such page"}})
            return found if isinstance(found, httpx.Response) else httpx.Response(200, json=found)

        with http.use(httpx.MockTransport(answer)):
            return {model.id: model for model in await models_of(endpoint)}

    return listed


def known(model: ModelInfo) -> dict[str, Any]:
    return {
        name: value for name, value in vars(model).items() if value is not None and name != "id"
    }


async def test_openai_says_names_alone_and_a_name_tells_what_is_not_for_chat(list_of: Any) -> None:
    names = ["gpt-5-mini", "text-embedding-3-small", "gpt-image-1", "whisper-1", "o4-mini"]
    found = await list_of(
        Endpoint("openai", "https://api.openai.com/v1", "sk"),
        {"/v1/models": {"data": [{"id": name, "object": "model"} for name in names]}},
    )
    assert {name for name, model in found.items() if model.is_chat} == {"gpt-5-mini", "o4-mini"}
    assert known(found["gpt-5-mini"]) == {"is_chat": True}


@pytest.mark.parametrize(
    ("provider", "entry", "facts"),
    [
        (
            "openrouter",
            {
                "context_length": 262144,
                "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
                "pricing": {"prompt": "0.0000012", "completion": "0.000006"},
                "supported_parameters": ["tools", "temperature"],
            },
            {"context_window": 262144, "sees_images": True, "calls_tools": True,
             "price_in": 1.2, "price_out": 6.0},
        ),
        (  # the price of its router depends on the model it takes
            "openrouter",
            {"context_length": 2000000, "pricing": {"prompt": "-1", "completion": "-1"},
             "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
             "supported_parameters": []},
            {"context_window": 2000000, "sees_images": False, "calls_tools": False},
        ),
        (
            "mistral",
            {"max_context_length": 131072, "capabilities": {
                "completion_chat": True, "function_calling": True, "vision": False}},
            {"context_window": 131072, "sees_images": False, "calls_tools": True},
        ),
        ("groq", {"context_window": 131072, "active": True}, {"context_window": 131072}),
        (
            "xai",
            {"context_length": 256000, "prompt_text_token_price": 30000,
             "completion_text_token_price": 150000, "prompt_image_token_price": 30000},
            {"context_window": 256000, "sees_images": True, "price_in": 3.0, "price_out": 15.0},
        ),
        ("vllm", {"max_model_len": 40960}, {"context_window": 40960}),
        ("deepseek", {"owned_by": "deepseek"}, {}),
        (
            "anthropic",
            {"max_input_tokens": 200000, "capabilities": {"image_input": {"supported": True}}},
            {"context_window": 200000, "sees_images": True},
        ),
    ],
)  # fmt: skip
async def test_what_a_server_adds_to_the_common_list_is_read(
    list_of: Any, provider: str, entry: dict[str, Any], facts: dict[str, Any]
) -> None:
    endpoint = Endpoint(provider, "https://api.example/v1")
    found = await list_of(endpoint, {"/v1/models": {"data": [{"id": "m", **entry}]}})
    assert known(found["m"]) == {"is_chat": True, **facts}


async def test_mistrals_other_names_are_models_too_and_embeddings_are_none_to_talk_with(
    list_of: Any,
) -> None:
    can = {"completion_chat": True, "function_calling": True, "vision": True}
    data = [
        {"id": "mistral-large-2512", "aliases": ["mistral-large-latest"], "capabilities": can},
        {"id": "mistral-embed", "capabilities": {"completion_chat": False}},
    ]
    found = await list_of(
        Endpoint("mistral", "https://api.mistral.ai/v1", "k"), {"/v1/models": {"data": data}}
    )
    assert found["mistral-large-latest"].sees_images is True
    assert not found["mistral-embed"].is_chat


async def test_gemini_is_asked_natively_with_its_own_header_page_by_page(
    list_of: Any, asked: list[httpx.Request]
) -> None:
    chat, embeds = ["generateContent"], ["embedContent"]
    pages = {
        "/v1beta/models?pageSize=1000": {
            "models": [{"name": "models/gemini-3-pro", "inputTokenLimit": 1048576,
                        "supportedGenerationMethods": chat}],
            "nextPageToken": "a b",
        },
        "/v1beta/models?pageSize=1000&pageToken=a%20b": {
            "models": [{"name": "models/other", "supportedGenerationMethods": embeds}]
        },
    }  # fmt: skip
    base = "https://generativelanguage.googleapis.com/v1beta/openai"
    found = await list_of(Endpoint("gemini", base, "gk"), pages)
    assert found["gemini-3-pro"].context_window == 1048576
    assert not found["other"].is_chat
    assert [request.headers["x-goog-api-key"] for request in asked] == ["gk", "gk"]
    assert not any("Authorization" in request.headers for request in asked)


async def test_ollama_says_of_each_model_what_it_can_and_what_is_loaded(list_of: Any) -> None:
    shown = {
        "qwen3:8b": {"capabilities": ["completion", "tools"],
                     "model_info": {"qwen3.context_length": 40960}},
        "gemma3:12b": {"capabilities": ["completion", "vision"],
                       "model_info": {"gemma3.context_length": 131072}},
        "nomic-embed-text:latest": {"capabilities": ["embedding"], "model_info": {}},
    }  # fmt: skip
    answers = {
        "/api/tags": {"models": [{"name": name, "size": 5_200_000_000} for name in shown]},
        "/api/ps": {"models": [{"name": "gemma3:12b", "context_length": 4096}]},
        "/api/show": lambda body: shown[body["model"]],
    }
    found = await list_of(Endpoint("ollama", "http://127.0.0.1:11434/v1"), answers)
    assert known(found["qwen3:8b"]) == {
        "context_window": 40960, "sees_images": False, "calls_tools": True, "is_chat": True,
        "size": 5_200_000_000,
    }  # fmt: skip
    assert found["gemma3:12b"].sees_images and found["gemma3:12b"].window == 4096
    assert not found["nomic-embed-text:latest"].is_chat


async def test_lm_studio_says_what_it_has_and_what_it_has_loaded(list_of: Any) -> None:
    data = [
        {"id": "qwen2-vl-7b", "type": "vlm", "state": "not-loaded", "max_context_length": 32768},
        {"id": "qwen3-4b", "type": "llm", "state": "loaded", "max_context_length": 262144,
         "loaded_context_length": 4096, "capabilities": ["tool_use"]},
        {"id": "nomic", "type": "embeddings", "max_context_length": 2048},
    ]  # fmt: skip
    found = await list_of(
        Endpoint("lmstudio", "http://127.0.0.1:1234/v1"), {"/api/v0/models": {"data": data}}
    )
    assert found["qwen2-vl-7b"].sees_images is True
    assert (found["qwen3-4b"].context_window, found["qwen3-4b"].window) == (262144, 4096)
    assert found["qwen3-4b"].calls_tools is True and found["qwen3-4b"].sees_images is False
    assert not found["nomic"].is_chat


async def test_llama_cpp_says_in_its_props_what_it_runs_with(list_of: Any) -> None:
    answers = {
        "/v1/models": {"data": [{"id": "gemma.gguf", "meta": {"n_ctx_train": 131072}}]},
        "/props": {"default_generation_settings": {"n_ctx": 8192}, "modalities": {"vision": True}},
    }
    found = await list_of(Endpoint("llamacpp", "http://127.0.0.1:8080/v1"), answers)
    model = found["gemma.gguf"]
    assert (model.context_window, model.window, model.sees_images) == (131072, 8192, True)
    del answers["/props"]  # it can be switched off
    found = await list_of(Endpoint("llamacpp", "http://127.0.0.1:8080/v1"), answers)
    assert found["gemma.gguf"].window == 131072


async def test_openrouters_list_is_public_so_its_key_is_tried(list_of: Any) -> None:
    refused = httpx.Response(401, json={"error": {"message": "User not found."}})
    answers = {"/api/v1/key": refused, "/api/v1/models": {"data": [{"id": "qwen/qwen3-max"}]}}
    endpoint = Endpoint("openrouter", "https://openrouter.ai/api/v1", "sk-or")
    with pytest.raises(ModelError) as caught:
        await list_of(endpoint, answers)
    assert (caught.value.kind, caught.value.words) == ("key", "User not found.")
    answers["/api/v1/key"] = {"data": {}}
    assert list(await list_of(endpoint, answers)) == ["qwen/qwen3-max"]


@pytest.mark.parametrize("provider", ["ollama", "lmstudio", "llamacpp", "gemini", "openrouter"])
async def test_a_server_without_the_own_list_of_its_name_is_asked_for_the_common_one(
    list_of: Any, provider: str
) -> None:
    answers = {"/v1/models": {"data": [{"id": "m"}]}}
    assert list(await list_of(Endpoint(provider, "https://proxy.example/v1", "k"), answers)) == [
        "m"
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        None, [], {"data": None}, {"data": [None, 7, {}, {"id": 7}, {"id": ""}, {"id": "x" * 201}]},
        {"data": [{"id": "a\nb"}, {"id": "ok", "context_length": -5, "pricing": {"prompt": "NaN"},
                   "capabilities": 7, "architecture": [], "meta": "no", "aliases": 3}]},
    ],
)  # fmt: skip
async def test_a_list_of_nonsense_gives_no_nonsense(list_of: Any, wrong: Any) -> None:
    try:
        found = await list_of(Endpoint("mine", "https://x.example/v1"), {"/v1/models": wrong})
    except ModelError:
        return
    assert set(found) <= {"ok"}
    assert all(known(model) == {"is_chat": True} for model in found.values())
