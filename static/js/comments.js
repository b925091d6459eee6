// Comments on subtasks before the yes. Kept ones stand under their subtask, and go to the agent
// together with those that are still being typed. What the buttons say follows both.
import { byId, on } from "./dom.js";
import { gettext, ngettext } from "./texts.js";
import { closeEditor, formOf, hasEdits, isComment, isDirty, ofThisPlan, openEditor, rowOf, rows } from "./editor.js";

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
