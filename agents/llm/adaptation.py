"""What servers refused of a request, and what they are sent instead from then on.

Compatible servers differ in the parameters they take, and so do the models of one server: GPT-5
wants `max_completion_tokens` and no temperature, Mistral knows no `stream_options`, models of
Claude have each their own limit of output. A refusal says so; what it says is learnt by address
and model (agents.llm.lessons), so that it costs one request and not one each time.
"""

from __future__ import annotations

import re
from dataclasses import replace

from agents.llm.error_bodies import message_in
from agents.llm.error_kinds import IMAGES, may_mean_images
from agents.llm.images import count_images
from agents.llm.lessons import Lessons
from agents.llm.message_order import folded, with_results_answered
from agents.llm.reply import Json, as_dict, as_text
from agents.llm.request import ModelRequest
from agents.llm.simple_schemas import with_simple_schemas
from agents.llm.wanted_back import LISTS, OBJECTS, REASONING

MOST_LESSONS = 5  # of one request
# Without these there is no request.
NEEDED = ("model", "messages", "stream", "tools", "system", "input")
# Something was not known, and nobody says what.
VAGUE = (
    r"^bad request\W*$|unknown|unrecogni[sz]ed|unexpected (?!role)|not permitted"
    r"|(un|not )supported|extra|additional"
)
# The answer names a parameter and has one of these words: then it is not wanted, or not so.
UNWANTED = VAGUE + r"|n(o|')t support|not allowed|deprecated|only the default"
# Anthropic: "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens"
MOST_OUTPUT = re.compile(r"max_tokens: \d+ > (\d+)|at most (\d+) (?:completion|output) tokens")
MESSAGE_KEYS = (*REASONING, *LISTS, *OBJECTS)
# The model takes no images at all: anything else may be the fault of one image.
NO_IMAGES = re.compile(
    r"(not|n.t|that) support|not enabled|at most 0 image|must be a (valid )?string|valid string"
    r"|unknown variant|mmproj",
    re.IGNORECASE,
)
# Anthropic, of thinking that is not what it once signed: an alias has moved to another model. And
# OpenAI, of reasoning that it encrypted for another account.
UNSIGNED = re.compile(
    r"signature.*thinking|thinking.*cannot be modified|encrypted content.*could not be verified",
    re.IGNORECASE,
)
THOUGHTS = ("thinking", "redacted_thinking")
# Gemini, OpenAI, Anthropic and llama.cpp, of the schema of some tool.
SCHEMAS = re.compile(
    r"function_declarations|invalid schema for function|input_schema|parse grammar", re.IGNORECASE
)
# Mistral's, also behind LiteLLM and vLLM: of a person's words, or images, right behind results.
BEHIND_RESULTS = re.compile(r"unexpected role .user. after role .tool", re.IGNORECASE)
# OpenAI's newest models call tools in this API only where they do not think.
EFFORTLESS = re.compile(r"tools with reasoning_effort are not supported", re.IGNORECASE)
# Gemini's own stand-in for calls that it did not make (ai.google.dev/gemini-api/docs/
# thought-signatures). DeepSeek V4 takes a blank for reasoning that there is none of, but not an
# empty text.
SIGNATURE: Json = {"google": {"thought_signature": "skip_thought_signature_validator"}}
NO_REASONING = " "


def learn(
    request: ModelRequest, known: Lessons, sent: Json, status: int, body: str
) -> Lessons | None:
    """What is to be done differently, by the server's words; None where they say nothing of it.

    `sent` is what was refused, with `body` as the answer. Images are suspected where it speaks of
    them, and where nothing else can be meant.
    """
    found, is_blind = known, replace(known, drops_images=True)
    if NO_IMAGES.search(body):
        is_blind = replace(known, is_blind=True)
    may_be_blind = count_images(request.messages) > 0 and may_mean_images(status, body)
    if may_be_blind and IMAGES.search(body):
        return is_blind
    if status in (400, 422, 500):
        found = from_words(known, sent, status, body)
    if found == known and may_be_blind:
        found = is_blind
    return None if found == known else found


def from_words(known: Lessons, sent: Json, status: int, body: str) -> Lessons:
    words, found = message_in(body), known
    if "reasoning_content" in body and re.search(r"passed back|missing", words, re.I):
        found = replace(known, wants_reasoning=True)
    elif EFFORTLESS.search(words):
        found = replace(known, calls_without_effort=True)
    elif SCHEMAS.search(words) and sent.get("tools"):
        found = replace(known, simplifies_schemas=True)
    elif UNSIGNED.search(words):
        found = replace(known, drops_thinking=True)
    elif re.search(r"missing a `?thought_?signature", words, re.I):
        found = replace(known, wants_signatures=True)
    elif BEHIND_RESULTS.search(words) and has_unanswered_results(sent):
        found = replace(known, answers_results=True)
    elif re.search(r"system message must be at the begin|unexpected role .system", words, re.I):
        found = replace(known, folds_system=True)
    elif status == 500:
        return known
    elif match := MOST_OUTPUT.search(words):
        found = replace(known, most_output=int(match[1] or match[2]))
    elif "max_completion_tokens" in body and "max_tokens" in sent:
        found = replace(known, renames_max_tokens=True)
    elif name := refused_message_key(sent, words):
        found = replace(known, bare=known.bare | {name})
    elif name := refused_parameter(sent, words, body):
        found = replace(known, without=known.without | {name})
    return found


def has_unanswered_results(sent: Json) -> bool:
    messages = sent.get("messages")
    return isinstance(messages, list) and with_results_answered(messages) != messages


def refused_parameter(sent: Json, words: str, body: str) -> str:
    """The optional parameter that the answer names; nothing if it names none.

    `stream_options` is also suspected where no reason is given: servers that do not know it often
    say no more than that the request is bad.
    """
    optional = [name for name in sent if name not in NEEDED]
    named = [name for name in optional if is_named(name, body) or is_named(camel(name), body)]
    if named and re.search(UNWANTED, f"{words} {body}", re.I):
        return named[0]
    if "include_usage" in body and "stream_options" in sent:
        return "stream_options"
    is_vague = not words or re.search(VAGUE, words, re.I)
    return "stream_options" if is_vague and "stream_options" in sent else ""


def is_named(name: str, body: str) -> bool:
    return bool(re.search(rf"(?<![\w.]){name}(?!\w)", body))


def camel(name: str) -> str:
    """As xAI names parameters in its answers: presencePenalty."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def refused_message_key(sent: Json, words: str) -> str:
    """What was given back to the model that does not want it; nothing if the words name none."""
    messages = sent.get("messages")
    keys = {key for each in (messages if isinstance(messages, list) else []) for key in each}
    named = [key for key in MESSAGE_KEYS if key in keys and re.search(rf"\b{key}\b", words)]
    return named[0] if named and re.search(UNWANTED, words, re.I) else ""


def heeding(lessons: Lessons, body: Json) -> Json:
    """The request as this model wants it."""
    if lessons == Lessons():
        return body
    body = {name: value for name, value in body.items() if name not in lessons.without}
    most = body.get("max_tokens")
    if lessons.most_output and isinstance(most, int):
        body["max_tokens"] = min(most, lessons.most_output)
    if lessons.renames_max_tokens and "max_tokens" in body:
        body["max_completion_tokens"] = body.pop("max_tokens")
    if lessons.calls_without_effort and "tools" in body:
        body["reasoning_effort"] = "none"
    tools, messages = body.get("tools"), body.get("messages")
    if isinstance(tools, list) and lessons.simplifies_schemas:
        body["tools"] = with_simple_schemas(tools)
    if isinstance(messages, list) and lessons.folds_system:
        messages = folded(messages)
    if isinstance(messages, list) and lessons.answers_results:
        messages = with_results_answered(messages)
    items = body.get("input")
    if isinstance(items, list) and lessons.drops_thinking:
        body["input"] = [item for item in items if as_dict(item).get("type") != "reasoning"]
    if isinstance(messages, list):
        body["messages"] = [message_heeding(lessons, as_dict(each)) for each in messages]
    return body


def message_heeding(lessons: Lessons, message: Json) -> Json:
    if message.get("role") != "assistant":
        return message
    bare = lessons.bare.union(LISTS) if lessons.drops_thinking else lessons.bare
    message = {key: value for key, value in message.items() if key not in bare}
    if lessons.wants_reasoning and not as_text(message.get("reasoning_content")):
        message["reasoning_content"] = NO_REASONING
    blocks = message.get("content")
    if lessons.drops_thinking and isinstance(blocks, list):
        kept = [block for block in map(as_dict, blocks) if block.get("type") not in THOUGHTS]
        message["content"] = kept or blocks
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return message
    first = as_dict(calls[0])
    signature = as_dict(as_dict(first.get("extra_content")).get("google")).get("thought_signature")
    if lessons.wants_signatures and not as_text(signature):
        message["tool_calls"] = [{**first, "extra_content": SIGNATURE}, *calls[1:]]
    return message
