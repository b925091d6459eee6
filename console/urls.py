"""Every address of Planside."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from console.views import (
    agents,
    api_docs,
    conversations,
    first_run,
    messages,
    models,
    plan_list,
    plans,
    tools,
)

CONVERSATION = "c/<int:pk>/"
PLAN = CONVERSATION + "plan/"
SUBTASK = PLAN + "subtasks/<slug:key>/"
AGENT = "settings/agents/<slug:agent_id>/"
MODEL = "settings/models/<slug:name>/"
TOOL = "settings/tools/<slug:name>/"

handler400 = "console.serving.handler.bad_request"
handler500 = "console.serving.handler.internal_error"

# Patterns are tried in this order: what programs ask often stands before the pages.
urlpatterns: list[URLPattern | URLResolver] = [
    path("api/", RedirectView.as_view(pattern_name="api-docs"), name="api"),
    path("api/docs", api_docs.api_docs, name="api-docs"),
    path("", include("console.api.urls")),
    path("", conversations.home, name="home"),
    path("sidebar", conversations.sidebar, name="sidebar"),
    path("c/new", conversations.new, name="new"),
    path(CONVERSATION, conversations.conversation, name="conversation"),
    path(CONVERSATION + "earlier", conversations.show_earlier, name="earlier"),
    path(CONVERSATION + "changes", conversations.changes, name="changes"),
    path(CONVERSATION + "drawer", conversations.drawer, name="drawer"),
    path(CONVERSATION + "rename", conversations.rename, name="rename"),
    path(CONVERSATION + "delete", conversations.delete, name="delete"),
    path(CONVERSATION + "model", first_run.of_conversation, name="conversation-model"),
    path(CONVERSATION + "draft", conversations.draft, name="draft"),
    path(CONVERSATION + "say", messages.say, name="say"),
    path(CONVERSATION + "stop", messages.stop, name="stop"),
    path(CONVERSATION + "retry", messages.retry, name="retry"),
    path(CONVERSATION + "messages/<int:message>/discard", messages.discard, name="discard"),
    path(CONVERSATION + "messages/<int:message>/try", messages.try_now, name="try-now"),
    path(CONVERSATION + "calls/<int:call>/decide", messages.decide, name="decide"),
    path(PLAN + "approve", plans.approve, name="plan-approve"),
    path(PLAN + "cancel", plans.cancel, name="plan-cancel"),
    path(PLAN + "cancel-asking", plans.cancel_asking, name="plan-cancel-asking"),
    path(PLAN + "beside", plans.beside, name="plan-beside"),
    path(PLAN + "pause", plans.pause, name="plan-pause"),
    path(PLAN + "resume", plans.resume, name="plan-resume"),
    path(PLAN + "stop", plans.stop, name="plan-stop"),
    path(PLAN + "raise", plans.raise_budget, name="plan-raise"),
    path(PLAN + "replan", plans.replan, name="plan-replan"),
    path(PLAN + "again", plans.again, name="plan-again"),
    path(CONVERSATION + "plans", plans.listed, name="plans-here"),
    path(
        CONVERSATION + "plans/<int:plan>/activate",
        plans.activate,
        name="plan-activate",
    ),
    path(CONVERSATION + "plans/<int:plan>/delete", plans.delete, name="plan-delete"),
    path(
        CONVERSATION + "plans/<int:plan>/use-again",
        plans.use_again,
        name="plan-use-again",
    ),
    path(PLAN + "edit", plans.edit, name="plan-edit"),
    path(PLAN + "subtasks", plans.add, name="subtask-add"),
    path(PLAN + "versions", plans.versions, name="plan-versions"),
    path(PLAN + "go-back", plans.go_back, name="plan-go-back"),
    path(SUBTASK + "edit", plans.update, name="subtask-edit"),
    path(SUBTASK + "move", plans.move, name="subtask-move"),
    path(SUBTASK + "remove", plans.remove, name="subtask-remove"),
    path(SUBTASK + "retry", plans.retry, name="subtask-retry"),
    path(SUBTASK + "skip", plans.skip, name="subtask-skip"),
    path(SUBTASK + "replan", plans.replan, name="subtask-replan"),
    path("plans/", plan_list.plans, name="plans"),
    path("plans/<int:pk>/", plan_list.plan, name="plan"),
    path("plans/<int:pk>/attempts/<int:attempt_id>/", plan_list.attempt, name="attempt"),
    path("plans/<int:pk>/versions/<int:n>/", plan_list.version, name="plan-version"),
    path("plans/<int:pk>/export.md", plan_list.export, name="plan-export"),
    path("settings/", RedirectView.as_view(pattern_name="agents"), name="settings"),
    path("settings/agents/", agents.agents, name="agents"),
    path("settings/agents/models", first_run.of_agents, name="agents-models"),
    path("settings/agents/new", agents.new, name="agent-new"),
    path(AGENT + "plan-mode", agents.plan_mode, name="agent-plan-mode"),
    path(AGENT + "model", agents.model, name="agent-model"),
    path(AGENT + "tool", agents.grant, name="agent-tool"),
    path(AGENT + "operations/<slug:source>", agents.operations, name="agent-operations"),
    path(AGENT + "always", agents.take_back, name="agent-take-back"),
    path(AGENT + "use-model", first_run.use, name="agent-use-model"),
    path(AGENT + "found-models", first_run.found_models, name="agent-found-models"),
    path(AGENT + "offers", first_run.offers, name="agent-offers"),
    path(AGENT + "file", agents.file, name="agent-file"),
    path(AGENT + "save", agents.save_file, name="agent-save"),
    path(AGENT + "copy", agents.copy, name="agent-copy"),
    path(AGENT + "delete", agents.delete, name="agent-delete"),
    path("settings/models/", models.models, name="models"),
    path("settings/models/add", models.add, name="model-add"),
    path(MODEL + "list", models.listed, name="model-list"),
    path(MODEL + "key", models.set_key, name="model-key"),
    path(MODEL + "key/remove", models.remove_key, name="model-key-remove"),
    path(MODEL + "change", models.change, name="model-change"),
    path(MODEL + "remove", models.remove, name="model-remove"),
    path(MODEL + "test", models.test, name="model-test"),
    path(MODEL + "lessons/<int:lesson>/forget", models.forget_lesson, name="model-lesson-forget"),
    path("settings/tools/", tools.tools, name="tools"),
    path("settings/tools/add", tools.add, name="tool-add"),
    path("settings/tools/signed-in", tools.signed_in, name="tool-signed-in"),
    path(TOOL + "connect", tools.connect, name="tool-connect"),
    path(TOOL + "disconnect", tools.disconnect, name="tool-disconnect"),
    path(TOOL + "refresh", tools.refresh, name="tool-refresh"),
    path(TOOL + "trust", tools.trust, name="tool-trust"),
    path(TOOL + "change", tools.change, name="tool-change"),
    path(TOOL + "remove", tools.remove, name="tool-remove"),
    path("", include("console.auth.signin")),
    path("", include("console.ops.health")),
    path("", include("console.ops.metrics")),
]
