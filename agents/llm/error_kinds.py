"""What an error status of a model's server means, by the words that stand beside it.

Statuses alone say too little: an empty account is a 400, 402, 403 or 429, a conversation that is
too long a 400, 413, 429 or 500, and some of what a server calls an error of its own never passes.
"""

from __future__ import annotations

import re

KINDS = {401: "key", 402: "key", 403: "key", 404: "missing", 405: "missing", 408: "silent"}
KINDS |= {409: "busy", 413: "too_long", 425: "busy", 429: "busy", 503: "busy", 529: "busy"}
KINDS |= {498: "busy"}  # Groq's, where the flex tier is full
TOO_LONG = re.compile(
    r"context[ _]?(length|window|size|limit)|maximum (context|prompt|number of tokens)"
    r"|too many tokens|token limit reached"
    r"|(prompt|input|request|conversation) (is|was)? ?too (long|large)"
    r"|exceeds? the (available|model)",
    re.IGNORECASE,
)
# Anthropic's 429, of a conversation beyond what the account's plan covers.
EXTRA_USAGE = re.compile(r"extra usage is required for long context", re.IGNORECASE)
# A 429 for one request: OpenAI's, of more tokens than a minute allows. No wait makes it fit.
NEVER_FITS = re.compile(rf"request too large for|{EXTRA_USAGE.pattern}", re.IGNORECASE)
A_MINUTE = re.compile(r"tokens per minute|\bTPM\b")  # what the account allows, not the model
NO_CREDIT = re.compile(
    r"insufficient_quota|insufficient (credit|balance|fund)|credit balance is too low"
    r"|payment_required|billing_(not_active|hard_limit)|API usage limits|spend(ing)? limit"
    r"|(no|any) credits|credits? (limit|exhausted)|out of credits|spending cap|credits are depleted"
    r"|enforced_spend_limit_reached|\blimit: 0\b|OpenAIException - You exceeded your current quota",
    re.IGNORECASE,
)
# Whatever else they say: Anthropic's, Gemini's for models that a free account may not use and for
# money that is used up, and OpenAI's as LiteLLM passes them on, without the code.
EMPTY = re.compile(
    r"enforced_spend_limit_reached|\blimit: 0\b|spending cap|credits are depleted"
    r"|OpenAIException - You exceeded your current quota"
)
# Of several words for the same 429 these are plain: the account is not empty, only too quick.
LIMITED = re.compile(r"rate_?limit_?(exceeded|error)|RetryInfo|try again in", re.IGNORECASE)
BAD_KEY = re.compile(
    r"(in|not )(valid|correct) (x-)?api[-_ ]?key|api[-_ ]key (is )?(not valid|invalid|expired)"
    r"|API_KEY_INVALID|invalid_api_key|incorrect api key",
    re.IGNORECASE,
)
OVERLOADED = re.compile(r"overloaded_error|model is overloaded", re.IGNORECASE)
# What was said is not to be answered, by a filter before the model: OpenRouter's, which may go on
# with "No credits were charged", Azure's and OpenAI's.
FLAGGED = re.compile(
    r"requires moderation|input was flagged|ResponsibleAIPolicyViolation"
    r"|violating our usage policy|content management policy",
    re.IGNORECASE,
)
# A model that does not exist, told with another status than 404: OpenAI, DeepSeek, Mistral, Groq
# and OpenRouter.
NO_MODEL = re.compile(
    r"model_not_found|model not exist|invalid_model\b|model_decommissioned|not a valid model ID",
    re.IGNORECASE,
)
BUSY = re.compile(r"rate.?limit|overload|too many requests|capacity", re.IGNORECASE)
# Groq, and Gemini as why a reply ended: the model wrote a call, or an answer, that cannot be read.
# The next try is another.
BAD_CALL = re.compile(r"tool_use_failed|output_parse_failed|MALFORMED_FUNCTION_CALL")
# Nothing that passes, though some say it with a 500: too little memory (Ollama), or an option that
# the server was not started with (llama.cpp, vLLM).
NO_MEMORY = re.compile(r"requires more system memory", re.IGNORECASE)
NO_OPTION = re.compile(r"\brequires? (?P<option>--[a-z][\w-]*)", re.IGNORECASE)
# OpenAI, Azure and Groq, of how many tools were offered at once.
MANY_TOOLS = re.compile(
    r"'tools' ?: (array too long|maximum number of items)|too many tools", re.IGNORECASE
)
IMAGES = re.compile(r"image|vision|multi-?modal|mmproj", re.IGNORECASE)


def may_mean_images(status: int, body: str) -> bool:
    """May the server have refused a request for its images? Some do without a word about them."""
    if kind_of(status, body) == "too_long":
        return False
    return status in (400, 404, 415, 422) or (status >= 500 and bool(IMAGES.search(body)))


def kind_of(status: int, body: str, wait: float | None = None) -> str:
    """What went wrong; a server that asks for a `wait` is busy and not empty."""
    if status in (400, 413, 422, 500) and TOO_LONG.search(body):
        return "too_long"
    if status == 429 and NEVER_FITS.search(body):
        return "too_long"
    if status in (400, 403) and FLAGGED.search(body):
        return "bad_request"
    if status in (400, 500) and (NO_MEMORY.search(body) or NO_OPTION.search(body)):
        return "bad_request"
    if status in (400, 403) and NO_MODEL.search(body):
        return "missing"
    if status in (400, 402, 403, 429) and NO_CREDIT.search(body):
        is_limited = wait is not None or LIMITED.search(body)
        return "busy" if is_limited and not EMPTY.search(body) else "key"
    if status == 402 and wait is not None:
        return "busy"
    if status == 400 and BAD_KEY.search(body):
        return "key"
    if status == 400 and BAD_CALL.search(body):
        return "bad_call"
    if status < 400:
        return "missing"
    if status >= 500 and OVERLOADED.search(body):  # behind LiteLLM, which makes a 500 of a 529
        return "busy"
    return KINDS.get(status) or ("server" if status >= 500 else "bad_request")
