"""The providers that are known by name: address, key, API and how each lists its models.

One table and nothing else, so that settings may read it. Each line was checked against the pages
under `sources`; whoever changes an address or a rule reads them again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from agents.normalization import split_url

Api = Literal["chat_completions", "anthropic_messages", "openai_responses"]
PROTOCOLS: dict[Api, str] = {
    "chat_completions": "OpenAI chat completions",
    "anthropic_messages": "Anthropic Messages",
    "openai_responses": "OpenAI Responses",
}
# Who has a list of its own beside the one of the API, GET {address}/models.
Listing = Literal["openai", "gemini", "openrouter", "ollama", "lmstudio", "llamacpp"]


@dataclass(frozen=True)
class KnownProvider:
    """`keys` are the variables its key is read from, the first that is set counts.

    `address_variable` names another address for the same key. `lists_all`: a model that is not
    in its list does not exist. `loads_less`: a model may be loaded with a smaller window than it
    could have, and longer prompts are cut without a word.
    """

    name: str
    label: str
    address: str
    sources: tuple[str, ...]
    keys: tuple[str, ...] = ()
    address_variable: str = ""
    api: Api = "chat_completions"
    listing: Listing = "openai"
    lists_all: bool = True
    loads_less: bool = False

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine and needs no key."""
        return self.address.startswith("http://127.0.0.1")

    @property
    def needs_key(self) -> bool:
        return not self.is_local


OPENAI_REFERENCE = "https://platform.openai.com/docs/api-reference"

# The order in which they are offered: what runs here first.
KNOWN_PROVIDERS = (
    KnownProvider(
        "ollama",
        "Ollama",
        "http://127.0.0.1:11434/v1",
        (
            "https://docs.ollama.com/api/openai-compatibility",
            "https://docs.ollama.com/api/tags",
            "https://docs.ollama.com/api-reference/show-model-details",
            "https://docs.ollama.com/context-length",
        ),
        listing="ollama",
        loads_less=True,
    ),
    KnownProvider(
        "lmstudio",
        "LM Studio",
        "http://127.0.0.1:1234/v1",
        (
            "https://lmstudio.ai/docs/developer/openai-compat",
            "https://lmstudio.ai/docs/api/rest-api",
        ),
        listing="lmstudio",
        loads_less=True,
    ),
    # It answers with the model it has loaded, whatever name is sent.
    KnownProvider(
        "llamacpp",
        "llama.cpp",
        "http://127.0.0.1:8080/v1",
        ("https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",),
        keys=("LLAMA_API_KEY",),
        listing="llamacpp",
        lists_all=False,
    ),
    KnownProvider(
        "vllm",
        "vLLM",
        "http://127.0.0.1:8000/v1",
        ("https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",),
        keys=("VLLM_API_KEY",),
        address_variable="VLLM_BASE_URL",
    ),
    KnownProvider(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        (
            f"{OPENAI_REFERENCE}/chat",
            f"{OPENAI_REFERENCE}/responses",
            f"{OPENAI_REFERENCE}/models/list",
        ),
        keys=("OPENAI_API_KEY",),
        address_variable="OPENAI_BASE_URL",
    ),
    # Short names such as claude-sonnet-4-5 are not in its list; the dated ones they mean are.
    KnownProvider(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        (
            "https://platform.claude.com/docs/en/api/messages",
            "https://platform.claude.com/docs/en/api/models/list",
        ),
        keys=("ANTHROPIC_API_KEY",),
        address_variable="ANTHROPIC_BASE_URL",
        api="anthropic_messages",
    ),
    KnownProvider(
        "gemini",
        "Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        (
            "https://ai.google.dev/gemini-api/docs/openai",
            "https://ai.google.dev/gemini-api/docs/api-key",
            "https://ai.google.dev/api/models",
        ),
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        listing="gemini",
    ),
    KnownProvider(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        (
            "https://openrouter.ai/docs/api-reference/overview",
            "https://openrouter.ai/docs/api/api-reference/models/get-models",
            "https://openrouter.ai/docs/api/api-reference/api-keys/get-current-key",
        ),
        keys=("OPENROUTER_API_KEY",),
        listing="openrouter",
    ),
    KnownProvider(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        ("https://api-docs.deepseek.com/", "https://api-docs.deepseek.com/api/list-models"),
        keys=("DEEPSEEK_API_KEY",),
    ),
    KnownProvider(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        ("https://docs.mistral.ai/api/", "https://docs.mistral.ai/api/endpoint/models"),
        keys=("MISTRAL_API_KEY",),
    ),
    KnownProvider(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        ("https://console.groq.com/docs/openai", "https://console.groq.com/docs/models"),
        keys=("GROQ_API_KEY",),
    ),
    KnownProvider(
        "xai",
        "xAI",
        "https://api.x.ai/v1",
        (
            "https://docs.x.ai/developers/rest-api-reference/inference/chat",
            "https://docs.x.ai/developers/rest-api-reference/inference/models",
        ),
        keys=("XAI_API_KEY",),
    ),
    # Each resource has an address of its own, and what an agent names as its model is a
    # deployment. The v1 API takes the key as a bearer and wants no api-version. Its list is of
    # the models that could be deployed.
    KnownProvider(
        "azure",
        "Azure OpenAI",
        "",
        ("https://learn.microsoft.com/en-us/azure/foundry-classic/openai/api-version-lifecycle",),
        keys=("AZURE_OPENAI_API_KEY",),
        address_variable="AZURE_OPENAI_ENDPOINT",
        lists_all=False,
    ),
)
BY_NAME = {known.name: known for known in KNOWN_PROVIDERS}
LOOPBACK = ("127.0.0.1", "localhost", "::1")
VERSIONED = re.compile(r"/v\d+$")
AZURE_HOSTS = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")


def known_provider(name: str, address: str = "") -> KnownProvider | None:
    """Whom a provider is like: the one of its name, or the hosted one at its address."""
    if name in BY_NAME:
        return BY_NAME[name]
    host = host_of(address)
    if host.endswith(AZURE_HOSTS):
        return BY_NAME["azure"]
    hosted = (known for known in KNOWN_PROVIDERS if known.needs_key and known.address)
    return next((known for known in hosted if host_of(known.address) == host), None)


def api_at(name: str, address: str) -> Api:
    """What is spoken where nobody says otherwise."""
    known = known_provider(name, address)
    return known.api if known else "chat_completions"


def whole_address(name: str, address: str, api: str = "") -> str:
    """The address that requests go to: of an Azure resource, the v1 API below it.

    Where `api` says that a server speaks Anthropic's Messages, its address is written as for
    Anthropic's own clients, which add /v1 to it; so is ANTHROPIC_BASE_URL.
    """
    url, host = address.rstrip("/"), host_of(address)
    if not host:
        return url
    has_path = url.partition("//")[2].count("/") > 0
    if api == "anthropic_messages":
        return url if VERSIONED.search(url) else f"{url}/v1"
    if (name == "azure" or host.endswith(AZURE_HOSTS)) and not has_path:
        return f"{url}/openai/v1"
    if (name == "anthropic" or host == "api.anthropic.com") and not has_path:
        return f"{url}/v1"
    return url


def host_of(url: str) -> str:
    """Empty where it is no address."""
    try:
        return split_url(url).hostname or ""
    except ValueError:
        return ""
