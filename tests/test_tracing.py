"""Spans: a turn, its steps, its model and tool calls, and each verb of a plan."""

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from agents.db import in_db
from agents.errors import Conflict, TurnLost
from agents.models import Message, Turn
from plans import actions
from tests.fake_model import call, fails, say
from tests.fake_script import silent
from tests.inner import handle_message as say_something
from tests.inner import hooks, log_context, stop_reply, telemetry_metrics
from tests.inner import ops_tracing as console_tracing
from tests.inner import telemetry_tracing as tracing
from tests.world import (
    conversation,
    eventually,
    happening,
    plan_of,
    proposed,
    scripted,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)

READ = {"path": "README.md"}


@pytest.fixture
def spans(monkeypatch):
    """Everything that is traced while the test runs."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(tracing, "tracer", provider.get_tracer("planside"))
    return Spans(kept)


class Spans:
    def __init__(self, kept):
        self.kept = kept

    def all(self, name="", **facts):
        wanted = {key.replace("__", "."): value for key, value in facts.items()}
        return [
            span
            for span in self.kept.get_finished_spans()
            if span.name.startswith(name) and wanted.items() <= dict(span.attributes).items()
        ]

    def one(self, name="", **facts):
        [found] = self.all(name, **facts)
        return found

    def under(self, parent, name=""):
        """Names of the spans directly below, in the order they began."""
        below = [
            span
            for span in self.all(name)
            if span.parent and span.parent.span_id == parent.context.span_id
        ]
        return [span.name for span in sorted(below, key=lambda span: span.start_time)]

    def verbs(self):
        return [span.attributes["planside.plan.operation"] for span in self.all("plan.operation")]


def run_a_plan():
    """A plan of two subtasks, from /plan to its end; the first one uses a tool."""
    c = proposed("Read", "Write")
    scripted(
        call("read_file", **READ),
        call("finish_subtask", outcome="read"),
        call("finish_subtask", outcome="written"),
        call("finish_plan", state="done", outcome="All is well."),
        say("Done."),
    )
    tell(c, "go")
    assert plan_of(c).state == "done"
    return c


def keys(c):
    return [subtask.key for subtask in plan_of(c).subtasks.all()]


def test_a_run_is_a_tree_from_turn_to_step_to_model_and_tool_call(spans):
    c = run_a_plan()
    first = spans.one("invoke_agent", planside__subtask__key="s1")
    assert first.parent is None and first.kind == SpanKind.INTERNAL
    steps = [span for span in spans.all("step") if span.parent.span_id == first.context.span_id]
    steps.sort(key=lambda span: span.start_time)
    assert [spans.under(step) for step in steps] == [
        ["chat scripted"],
        ["execute_tool read_file"],
        ["chat scripted"],
        ["execute_tool finish_subtask"],
    ]
    assert {step.attributes["planside.step.handler"] for step in steps} == {
        "chat_completion",
        "execute_tool_calls",
    }
    turns = spans.all("invoke_agent")
    assert len(turns) == Turn.objects.filter(conversation=c).count()
    assert {span.context.trace_id for span in turns}.__len__() == len(turns)


def test_a_model_call_and_a_tool_call_speak_the_conventions_words(spans):
    c = run_a_plan()
    plan = plan_of(c)
    facts = {
        "gen_ai.conversation.id": str(c.pk),
        "planside.plan.id": plan.pk,
        "planside.plan.version": 1,
        "planside.subtask.key": "s1",
        "planside.attempt.number": 1,
    }
    chat = spans.all("chat", planside__subtask__key="s1")[0]
    assert chat.kind == SpanKind.CLIENT
    assert facts.items() <= dict(chat.attributes).items()
    assert chat.attributes["gen_ai.operation.name"] == "chat"
    assert chat.attributes["gen_ai.provider.name"] == "openai"
    assert chat.attributes["gen_ai.request.model"] == "scripted"
    assert chat.attributes["gen_ai.usage.input_tokens"] > 0
    assert chat.attributes["gen_ai.usage.output_tokens"] > 0
    assert chat.attributes["gen_ai.response.time_to_first_chunk"] >= 0
    assert (chat.attributes["server.address"], chat.attributes["server.port"]) == (
        "scripted.invalid",
        80,
    )
    tool = spans.one("execute_tool read_file")
    assert facts.items() <= dict(tool.attributes).items()
    assert tool.attributes["gen_ai.operation.name"] == "execute_tool"
    assert tool.attributes["gen_ai.tool.name"] == "read_file"
    assert tool.attributes["gen_ai.tool.call.id"]
    turn = spans.one("invoke_agent", planside__subtask__key="s1")
    assert turn.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert turn.attributes["gen_ai.agent.id"] == c.agent_id
    assert turn.attributes["planside.turn.kind"] == "subtask"


def test_each_verb_of_a_plan_is_a_span_with_the_plan_as_it_then_is(spans):
    c = run_a_plan()
    verbs = spans.verbs()
    for verb in ("ask_for_plan", "create_plan", "approve", "begin_attempt", "finish_plan"):
        assert verb in verbs
    made = spans.one(planside__plan__operation="create_plan")
    assert made.parent is not None, "made by a tool call of the planning turn"
    assert json.loads(made.attributes["planside.plan"])["title"] == plan_of(c).title
    approved = json.loads(
        spans.one(planside__plan__operation="approve").attributes["planside.plan"]
    )
    assert (approved["approved_version"], approved["run"]) == (1, "queued")
    ended = spans.all(planside__plan__operation="finish_plan")[-1]
    assert json.loads(ended.attributes["planside.plan"])["outcome"] == "All is well."


def test_a_refused_verb_is_a_failed_span(spans):
    c = proposed("Read")
    with pytest.raises(Conflict):
        actions.approve_plan(plan_of(c), 7, "alice")
    refused = spans.one(planside__plan__operation="approve")
    assert refused.status.status_code == StatusCode.ERROR
    assert refused.attributes["error.type"] == "VersionConflict"
    assert "planside.plan" not in refused.attributes


def test_a_deleted_plan_leaves_a_span_and_no_document(spans):
    c = proposed("Read")
    plan = plan_of(c)
    actions.delete_plan(plan, "alice")
    gone = spans.one(planside__plan__operation="delete_plan")
    assert gone.attributes["planside.plan.id"] == plan.pk
    assert gone.status.status_code == StatusCode.UNSET


def test_every_verb_is_traced():
    verbs = {name: verb for name, verb in vars(actions).items() if callable(verb)}
    assert "approve_plan" in verbs
    for name, verb in verbs.items():
        assert getattr(verb, "run", verb).__code__.co_name == "traced", name


def test_errors_are_told_by_their_class_and_not_in_words(spans):
    c = conversation()
    scripted(fails(401))
    tell(c, "hello")
    chat, step, turn = (spans.one(name) for name in ("chat", "step", "invoke_agent"))
    for span in (chat, step, turn):
        assert span.status.status_code == StatusCode.ERROR
        assert not span.events
    assert (chat.attributes["error.type"], turn.attributes["error.type"]) == ("key", "logic")


def test_a_failed_tool_is_a_failed_span_in_a_turn_that_is_fine(spans):
    c = conversation()
    scripted(call("read_file", path="nowhere.md"), say("It is not there."))
    tell(c, "read it")
    assert spans.one("execute_tool").attributes["error.type"] == "failed"
    assert spans.one("invoke_agent").status.status_code == StatusCode.UNSET


def test_a_wait_for_a_person_is_no_error(spans):
    c = conversation(tools={"read_file": "ask"})
    scripted(call("read_file", **READ))
    tell(c, "read it")
    turn = spans.one("invoke_agent")
    assert turn.attributes["planside.turn.state"] == "waiting"
    assert turn.attributes["planside.turn.waiting_for"] == "approval"
    assert {span.status.status_code for span in spans.all()} == {StatusCode.UNSET}


def test_a_turn_that_is_stopped_in_mid_sentence_ends_its_spans_in_order(spans, caplog):
    c = conversation()
    scripted(silent("The beginning"))
    say_something(c, "hello", "alice")

    async def story(worker):
        await eventually(Message.objects.filter(conversation=c, role="assistant").exists)
        await in_db(stop_reply, c, "alice")
        await eventually(Turn.objects.filter(conversation=c, state="stopped").exists)

    happening(story, at_once=True)
    turn = spans.one("invoke_agent")
    assert turn.attributes["planside.turn.state"] == "stopped"
    chat, step = spans.one("chat"), spans.one("step")
    assert chat.end_time <= step.end_time <= turn.end_time
    assert {span.status.status_code for span in spans.all()} == {StatusCode.UNSET}
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]


def everything(spans):
    return json.dumps([dict(span.attributes) for span in spans.all()])


def test_nothing_that_was_said_leaves_by_a_trace(spans):
    c = conversation()
    scripted(call("read_file", path="the-path-of-it"), say("the-words-of-the-model"))
    tell(c, "the-words-of-the-person")
    for words in ("the-path-of-it", "the-words-of-the-model", "the-words-of-the-person"):
        assert words not in everything(spans)


def test_it_does_where_the_operator_wants_it(spans, settings):
    settings.OTEL_CAPTURE_CONTENT = True
    c = conversation()
    scripted(call("read_file", path="README.md"), say("the-words-of-the-model"))
    tell(c, "the-words-of-the-person")
    first, second = sorted(spans.all("chat"), key=lambda span: span.start_time)
    [asked] = json.loads(first.attributes["gen_ai.input.messages"])
    assert asked == {
        "role": "user",
        "parts": [{"type": "text", "content": "the-words-of-the-person"}],
    }
    [answer] = json.loads(first.attributes["gen_ai.output.messages"])
    assert answer["parts"][0]["name"] == "read_file"
    kinds = [
        part["type"]
        for message in json.loads(second.attributes["gen_ai.input.messages"])
        for part in message["parts"]
    ]
    assert kinds == ["text", "tool_call", "tool_call_response"]
    assert "gen_ai.tool.call.result" in spans.one("execute_tool").attributes


def test_what_one_turn_was_about_is_not_said_of_the_next():
    c = conversation()
    turn = Turn.objects.create(conversation=c, kind="subtask", state="done")
    with hooks.turn(turn):
        hooks.add_facts(version=3, subtask="s1", attempt=1)
        assert log_context.as_attributes()["planside.plan.version"] == 3
    assert log_context.as_attributes() == {}


def test_a_turn_that_another_worker_took_is_counted_as_lost():
    c = conversation()
    turn = Turn.objects.create(conversation=c, kind="chat", state="running")
    counted = telemetry_metrics.turns.labels("chat", "lost", "")
    before = counted._value.get()
    with pytest.raises(TurnLost), hooks.turn(turn):
        raise TurnLost
    assert counted._value.get() == before + 1


@pytest.fixture
def collector():
    """A collector that takes OTLP over HTTP and keeps the spans."""

    class Collector(BaseHTTPRequestHandler):
        got = ExportTraceServiceRequest()

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            self.got.MergeFrom(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    Collector.address = f"http://127.0.0.1:{server.server_port}"
    yield Collector
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.sockets
def test_with_an_endpoint_the_spans_arrive_there(collector, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
    assert console_tracing.problem() == ""
    [provider] = started(monkeypatch)
    monkeypatch.setattr(tracing, "tracer", provider.get_tracer("planside"))
    try:
        c = conversation()
        scripted(say("hello"))
        tell(c, "hello")
        console_tracing.finish()
        [resource] = collector.got.resource_spans
        names = {span.name for scope in resource.scope_spans for span in scope.spans}
        assert {"chat scripted", f"invoke_agent {c.agent_id}"} <= names
        told = {each.key: each.value.string_value for each in resource.resource.attributes}
        assert told["service.name"] == "planside"
    finally:
        console_tracing.open_provider().shutdown()
        console_tracing.open_provider.cache_clear()


def started(monkeypatch):
    """What spans would go to from now on; OpenTelemetry takes one for good."""
    set_for_good = []
    monkeypatch.setattr(console_tracing, "set_tracer_provider", set_for_good.append)
    console_tracing.start()
    return set_for_good


def test_an_endpoint_without_the_extra_is_said_in_one_sentence(monkeypatch, caplog):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setattr(console_tracing, "PACKAGES", ("opentelemetry.nowhere",))
    assert started(monkeypatch) == []
    assert [record.message for record in caplog.records] == [
        "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is missing: make telemetry."
    ]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    assert "grpc" in console_tracing.problem()


def test_without_an_endpoint_nobody_traces(monkeypatch):
    assert started(monkeypatch) == []
