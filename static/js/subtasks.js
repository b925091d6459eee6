// A check of a subtask, changed in the place of its line. The form comes from the server, with what the
// agent may run now; what it shares with other editors is in editor.js.
import { byId, gettext, ngettext, on } from "./dom.js";
import {
  closeEditor,
  complain,
  editors,
  formOf,
  hasEdits,
  isCheck,
  isComment,
  isDirty,
  move,
  ofThisPlan,
  openEditor,
  removeCheck,
  rowOf,
  rows
} from "./editor.js";
import { fetched, sayUntilReached } from "./requests.js";

on("click", "[data-edit-check]", (button) => {
  const place = button.closest(".check-place");
  edit(place ?? rowOf(button).querySelector(".check-place[id$='-new']"));
});

async function edit(place) {
  if (formOf(place)) return firstField(place).focus();
  const { text, error } = await fetched(`/c/${byId("app").dataset.conversation}/plan/check-editor`);
  if (!text) return sayUntilReached(byId("plan-alert"), error);
  keepForm(text);
  const there = byId(place.id);
  if (!there || formOf(there)) return;
  const number = rows().indexOf(rowOf(there)) + 1;
  const isNew = !there.dataset.check;
  const label = isNew
    ? gettext("Add a check to subtask {number}", { number })
    : gettext("Edit a check of subtask {number}", { number });
  openEditor(there, "check-editor", label);
  there.dataset.checkOf = there.dataset.of;
  const form = formOf(there);
  form.querySelector("[data-remove-check]").hidden = isNew;
  show(form);
  form.scrollIntoView({ block: "nearest" });
  (isNew ? form.querySelector("[name=kind]:checked") : firstField(there)).focus();
}

/** Anew each time: what an agent may run changes elsewhere. */
function keepForm(text) {
  const template = byId("check-editor") ?? document.body.appendChild(document.createElement("template"));
  template.id = "check-editor";
  template.innerHTML = text;
}

function firstField(place) {
  const form = formOf(place);
  return form.querySelector(`[data-first="${form.elements.kind.value}"] .field`);
}

/** The fields of its kind, and whether that can be saved at all. What is in the others stays. */
function show(form) {
  const kind = form.elements.kind.value;
  form.dataset.kind = kind;
  form.dataset.form = form.elements.form.value;
  const off = form.querySelector(`.permission-hint[data-for="${kind}"][data-off] span`);
  const save = form.querySelector("[data-save]");
  if (off) save.setAttribute("aria-disabled", "true");
  else save.removeAttribute("aria-disabled");
  save.title = off ? off.firstChild.textContent.trim() : "";
}

on("change", ".check-form", show);
on("input", ".check-form", show);
on("change", ".check-form [name=kind]", ({ form }) => {
  form.querySelector("[role=alert]").textContent = ""; // of another kind
  form.scrollIntoView({ block: "nearest" });
});

on("click", ".check-form [data-save][aria-disabled]", (button, event) => {
  event.preventDefault();
  complain(button.form, button.title);
});

on("click", ".check-form [data-remove-check]", (button) => removeCheck(button.closest("[data-editing]")));

// One that was opened again with half typed text says what its kind is.
document.addEventListener("planside:typed", () => {
  for (const place of editors().filter(isCheck)) show(formOf(place));
});

// Comments on subtasks before the yes. Kept ones stand under their subtask, and go to the agent
// together with those that are still being typed. What the buttons say follows both.

const PLACE = ".subtask-comment-place";

on("click", "#subtasks [data-comments]", (button) => {
  const row = rowOf(button);
  const place = row.querySelector(PLACE);
  const label = gettext("Comment on subtask {number}", { number: rows().indexOf(row) + 1 });
  openEditor(place, "comment-editor", label);
  formOf(place).querySelector("label > span").textContent = label;
  place.dataset.ofSubtask = row.dataset.key;
});

const typed = (place) => formOf(place)?.elements.comment.value.trim();
/** Those of the list; what belongs to no subtask any more is not sent. */
const open = () => ofThisPlan().filter((place) => isComment(place) && place.matches(`#subtasks ${PLACE}`));
const unsent = () => open().filter((place) => isDirty(place) && typed(place));

const places = () => [...document.querySelectorAll(`#subtasks ${PLACE}`)];

function count() {
  return places().filter((place) => typed(place) || place.dataset.comment).length;
}

// Sent, or left behind, with what is being typed

const FORMS = ["start", "ask-changes-form"];
/** The subtasks whose comments have gone with the last of these forms. */
let carried = [];

document.addEventListener("htmx:config:request", (event) => {
  const { sourceElement, request } = event.detail.ctx;
  if (!FORMS.includes(sourceElement.id)) return;
  carried = unsent().map(({ dataset }) => dataset.ofSubtask);
  for (const place of unsent()) {
    request.body.append("comment_key", place.dataset.ofSubtask);
    request.body.append("comment_text", typed(place));
  }
  for (const { dataset } of places().filter(({ dataset }) => dataset.comment)) {
    request.body.append("comments", dataset.digest);
  }
});

document.addEventListener("planside:answered", ({ detail: { element, ok } }) => {
  if (!FORMS.includes(element.id) || !ok) return;
  const places = ofThisPlan().filter(isComment);
  places.filter(({ dataset }) => carried.includes(dataset.ofSubtask)).forEach(closeEditor);
});

// What the buttons say

document.addEventListener("planside:typed", () => {
  const button = byId("start-button");
  const comments = button ? count() : 0;
  byId("app")?.toggleAttribute("data-unsaved", hasEdits() || unsent().length > 0);
  if (!button) return;
  const n = { n: comments };
  const label = hasEdits() ? gettext("Start with my edits") : button.dataset.label;
  const without = ngettext("Start without the {n} comment", "Start without the {n} comments", n);
  labelStart(button, comments ? gettext("Start without") : label, comments && without);
  labelAsking(comments);
  showNote(!comments);
  const going = ngettext("{n} comment goes to the agent.", "{n} comments go to the agent together.", n);
  byId("comments-note").querySelector("span").textContent = going;
  const counted = ngettext("{n} comment", "{n} comments", n);
  if (byId("comment-count")) byId("comment-count").textContent = comments ? counted : "";
});

/** It makes the list shorter: what is being typed stays in view. */
function showNote(isHidden) {
  const note = byId("comments-note");
  const comes = note.hidden && !isHidden;
  note.hidden = isHidden;
  if (comes) document.activeElement.closest(`${PLACE} > form`)?.scrollIntoView({ block: "nearest" });
}

function labelStart(button, words, name) {
  button.querySelector("span").textContent = words;
  button.dataset.kind = name ? "quiet" : "go";
  setName(button, name);
}

/** Two buttons, of which the one that sends comes before the start. */
function labelAsking(comments) {
  byId("ask-changes").hidden = comments > 0;
  const button = byId("send-comments");
  button.hidden = !comments;
  const name = ngettext("Ask for changes {n}, comment", "Ask for changes {n}, comments", { n: comments });
  button.setAttribute("aria-label", name);
  button.querySelector("span").textContent = comments;
  const [first, second] = comments ? [button.form, byId("start")] : [byId("start"), button.form];
  if (first.nextElementSibling !== second) second.before(first);
}

function setName(button, name) {
  if (name) button.setAttribute("aria-label", name);
  else button.removeAttribute("aria-label");
}

// Moving a subtask by its grip, with the mouse or a finger.

let drag = null;

on("pointerdown", ".grip", (grip, event) => {
  if (event.button !== 0) return;
  event.preventDefault();
  drag = { row: rowOf(grip), to: 0 };
  drag.row.dataset.dragged = "";
  grip.setPointerCapture(event.pointerId);
});

document.addEventListener("pointermove", (event) => {
  if (!drag) return;
  clearDrop();
  const over = rows().find((row) => isAcross(row, event.clientY));
  if (!over || over === drag.row || !("editable" in over.dataset)) return;
  const from = rows().indexOf(drag.row);
  const at = rows().indexOf(over);
  over.dataset.drop = at < from ? "before" : "after";
  drag.to = at + 1;
});

function isAcross(row, y) {
  const box = row.getBoundingClientRect();
  return y >= box.top && y < box.bottom;
}

function clearDrop() {
  drag.to = 0;
  for (const row of document.querySelectorAll("[data-drop]")) delete row.dataset.drop;
}

function endDrag(event) {
  if (!drag) return;
  const { row, to } = drag;
  clearDrop();
  delete row.dataset.dragged;
  drag = null;
  if (to && event.type === "pointerup") move(row, () => to);
}

document.addEventListener("pointerup", endDrag);
document.addEventListener("pointercancel", endDrag);
