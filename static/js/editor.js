// Changing the plan by hand: in its place, with the mouse, a finger or the keyboard alone.
//
// A row with an open editor is the person's: fragments from the server go around it
// (hx-morph-skip); versions.js says so when the text underneath has changed.
import { always, byId, gettext, on } from "./dom.js";
import { follow, inTurn, loseChange, sayUntilReached, send, show, swap } from "./requests.js";
import { isAdrift } from "./swaps.js";

/** It said already that the text underneath is another one. */
const isClash = (form) => form.querySelector("[data-see]")?.hidden === false;
/** What the server has drawn of a place since its editor was opened there: shown when that is closed. */
export const missed = new WeakMap();
/** What an editor remembers: the text, the plan and version it was opened for, and the newest version
 * that the person was warned of. */
export const HELD = ["editing", "ofPlan", "ofSubtask", "checkOf", "fromVersion", "knows"];
const plan = () => byId("plan");
const base = () => `/c/${byId("app").dataset.conversation}/plan/`;
export const rows = () => [...document.querySelectorAll("#subtasks > li[data-key]")];
export const editors = () => [...document.querySelectorAll("#plan [data-editing]")];
export const formOf = (place) => place.querySelector(":scope > form.editor");
/** It holds a comment on a subtask (subtasks.js), not the plan's text. */
export const isComment = (place) => "ofSubtask" in place.dataset;
/** It holds a check of a subtask (subtasks.js). */
export const isCheck = (place) => place.matches(".check-place") || "checkOf" in place.dataset;
/** It has to say something: kept as it was opened, it would say nothing. */
const isNewCheck = (place) => isCheck(place) && !place.dataset.check;
const isCommentPlace = (place) => place?.matches(".subtask-comment-place");

// Opening and closing

/** The form's fields are what can be edited; `place` has their present text as data of those names. */
export function openEditor(place, template, label) {
  if (formOf(place)) return formOf(place).querySelector("textarea").focus();
  for (const other of editors()) if (!isDirty(other)) closeEditor(other);
  const form = byId(template).content.firstElementChild.cloneNode(true);
  for (const name of Object.keys(valuesOf(form))) form.elements[name].value = place.dataset[name] ?? "";
  const values = valuesOf(form);
  form.setAttribute("aria-label", label);
  place.dataset.editing = JSON.stringify(values);
  place.dataset.ofPlan = plan().dataset.planId;
  place.dataset.fromVersion = place.dataset.knows = plan().dataset.version;
  place.setAttribute("hx-morph-skip", "");
  place.append(form);
  const first = form.querySelector("textarea");
  first.focus();
  first.setSelectionRange(first.value.length, first.value.length);
  form.scrollIntoView({ block: "nearest" }); // its buttons too, where they fit
  document.dispatchEvent(new CustomEvent("planside:opened"));
}

export function closeEditor(place) {
  formOf(place)?.remove();
  for (const name of HELD) delete place.dataset[name];
  place.removeAttribute("hx-morph-skip");
  if (place.id.endsWith("-lost")) place.remove();
  else if (missed.has(place)) swap(partial(place.id, missed.get(place)));
  missed.delete(place);
  relabel();
}

const partial = (id, html) =>
  `<hx-partial hx-target="#${id}" hx-swap="outerMorph">${html}</hx-partial>`;

function editSubtask(row) {
  const number = rows().indexOf(row) + 1;
  openEditor(row, "subtask-editor", gettext("Edit subtask {number}", { number }));
  nameTools(formOf(row), number);
  const refusal = row.querySelector(".tools [data-refusal]");
  if (refusal) formOf(row).querySelector("[data-remove]").replaceWith(refusal.cloneNode(true));
}

function nameTools(form, number) {
  const words = {
    up: gettext("Move subtask {number} up", { number }),
    down: gettext("Move subtask {number} down", { number }),
  };
  for (const button of form.querySelectorAll("[data-move]")) {
    button.title = words[button.dataset.move];
    button.setAttribute("aria-label", button.title);
  }
  const remove = form.querySelector("[data-remove]");
  remove.title = gettext("Remove subtask {number}", { number });
  remove.setAttribute("aria-label", remove.title);
}

function addSubtask(place) {
  openEditor(place, "subtask-editor", gettext("Add a subtask"));
  formOf(place).querySelector("[data-placing]").remove();
}

const valuesOf = (form) => Object.fromEntries(new FormData(form));

export function isDirty(place) {
  const before = JSON.parse(place.dataset.editing);
  return Object.entries(valuesOf(formOf(place))).some(([name, value]) => value !== before[name]);
}

// Saving

async function save(place) {
  const form = formOf(place);
  const typed = valuesOf(form);
  const needed = form.querySelector("[name=name], [name=title], [name=comment]");
  if (needed && !needed.value.trim()) return complainAt(needed, missing(place));
  if (!isDirty(place) && !isNewCheck(place)) return cancel(place);
  // Pressed twice, it may be saved and closed by now.
  await inTurn("plan", () => formOf(place) === form && store(place, form, typed));
}

async function store(place, form, typed) {
  const seen = aboutOf(place);
  const answer = await ask(base() + addressOf(place), { ...typed, ...seen });
  if (answer.ok) closeEditor(place);
  await bring(answer);
  if (answer.ok) follow(seen);
  if (answer.ok) return focusRow(place);
  if (!isClash(form)) complain(form, answer.error || byId("plan-alert").textContent);
  byId("plan-alert").textContent = "";
}

/** The plan and version that a person decides about here. */
function aboutOf(place) {
  const { planId, version } = plan().dataset;
  return { plan: place.dataset.ofPlan ?? planId, version: place.dataset.knows ?? version };
}

let asking = 0;

/** While the page's own change is on its way, a new version is no news from elsewhere. */
export const isOwnNews = () => asking > 0;

async function ask(url, values) {
  asking += 1;
  try {
    return await send(url, values);
  } finally {
    asking -= 1;
  }
}

/** After a refusal what comes is news. */
async function bring(answer) {
  asking += answer.ok ? 1 : 0;
  try {
    await show(answer);
  } finally {
    asking -= answer.ok ? 1 : 0;
  }
}

function addressOf(place) {
  if (isComment(place)) return `subtasks/${place.dataset.ofSubtask}/comment`;
  if (isCheck(place)) return `subtasks/${place.dataset.checkOf}/checks`;
  if (place.id === "plan-title") return "edit";
  return place.dataset.key ? `subtasks/${place.dataset.key}/edit` : "subtasks";
}

function missing(place) {
  if (isComment(place)) return gettext("Write the comment first.");
  return place.id === "plan-title" ? gettext("Give the plan a title.") : gettext("Give the subtask a name.");
}

export function complain(form, sentence) {
  const alert = form.querySelector("[role=alert]");
  sayUntilReached(alert, sentence);
  alert.scrollIntoView({ block: "nearest" });
}

/** What is wrong with one field is said there, until it is typed in. */
function complainAt(field, sentence) {
  const alert = field.form.querySelector("[role=alert]");
  const home = document.createComment("");
  alert.replaceWith(home);
  field.closest("label").after(alert);
  alert.id = `${field.form.closest("[data-editing]").id}-fault`;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", alert.id);
  complain(field.form, sentence);
  field.focus();
  const mended = () => {
    home.replaceWith(alert);
    alert.textContent = "";
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-describedby");
  };
  field.addEventListener("input", mended, { once: true });
}

function cancel(place) {
  closeEditor(place);
  focusRow(place);
}

/** Unless the person has meanwhile gone elsewhere: an answer may be late. */
function focusRow(place) {
  if (!isAdrift() && !place.contains(document.activeElement)) return;
  const row = place.id && byId(place.id);
  if (isCommentPlace(row)) return rowOf(row)?.querySelector(".tools [data-comments]")?.focus();
  if (isCheck(place)) return lineOf(place)?.focus();
  (row?.querySelector(".step-row[tabindex], [data-edit-plan], .add") ?? byId("add-subtask"))?.focus();
}

/** A check that was added is the last one, and after one that was removed its subtask is next. */
function lineOf(place) {
  const row = document.querySelector(`#subtasks > li[data-key="${CSS.escape(place.dataset.of)}"]`);
  const lines = row?.querySelectorAll(".check-list [data-edit-check]") ?? [];
  const own = byId(place.id)?.querySelector("[data-edit-check]");
  const added = place.id.endsWith("-new") && [...lines].at(-1);
  return added || (own ?? row?.querySelector(".step-row[tabindex]") ?? row);
}

export async function removeCheck(place) {
  const form = formOf(place);
  place.dataset.goes = ""; // that it is gone is no news, however it comes
  await inTurn("plan", async () => {
    if (formOf(place) !== form) return;
    const seen = aboutOf(place);
    const address = `${base()}subtasks/${place.dataset.checkOf}/checks/remove`;
    const answer = await ask(address, { check: form.elements.check.value, ...seen });
    if (answer.ok) closeEditor(place);
    await bring(answer);
    if (answer.ok) follow(seen);
    if (answer.ok) return focusRow(place);
    loseChange();
    delete place.dataset.goes;
    complain(form, answer.error || byId("plan-alert").textContent);
    byId("plan-alert").textContent = "";
  });
}

/** The plan is asked one thing at a time, each with the version that the last answer brought. */
function act(row, verb, choose = () => ({})) {
  const { planId } = plan().dataset;
  return inTurn("plan", async () => {
    const values = choose();
    if (!values) return false;
    const seen = { ...aboutOf(row), plan: planId };
    const answer = await ask(`${base()}subtasks/${row.dataset.key}/${verb}`, { ...values, ...seen });
    if (answer.ok && verb === "remove") closeEditor(row);
    await bring(answer);
    if (answer.error) sayUntilReached(byId("plan-alert"), answer.error);
    answer.ok ? follow(seen) : loseChange();
    return answer.ok;
  });
}

/** `placeFrom` tells the new place from the one that the row has when its turn has come. */
export async function move(row, placeFrom) {
  const held = document.activeElement;
  const moved = await act(row, "move", () => {
    const from = rows().indexOf(byId(row.id)) + 1;
    const to = placeFrom(from);
    return from && to >= 1 && to <= rows().length && to !== from && { to };
  });
  if (!moved) return;
  if (isAdrift()) held?.isConnected ? held.focus() : focusRow(row);
  const place = rows().indexOf(byId(row.id)) + 1;
  byId("status").textContent = gettext("Moved to {place} of {count}", { place, count: rows().length });
}

async function remove(row) {
  const next = row.nextElementSibling ?? row.previousElementSibling;
  if (await act(row, "remove")) focusRow(next ?? row);
}

// Saved with the start

/** The open editors were saved together with the start. */
document.addEventListener("planside:answered", ({ detail: { element, ok } }) => {
  if (element.id === "start" && ok) edits().forEach(closeEditor);
});

document.addEventListener("htmx:config:request", (event) => {
  const { sourceElement, request } = event.detail.ctx;
  if (sourceElement.id !== "start") return;
  edits().filter(isDirty).forEach((place) => carry(place, request.body));
});

function carry(place, body) {
  if (isCheck(place)) return carryCheck(place, body);
  const owner = place.id === "plan-title" ? "plan" : "subtask";
  if (owner === "subtask") body.append("subtask_key", place.dataset.key ?? "");
  const values = valuesOf(formOf(place));
  for (const [name, value] of Object.entries(values)) body.append(`${owner}_${name}`, value);
}

function carryCheck(place, body) {
  const typed = { ...valuesOf(formOf(place)), subtask: place.dataset.checkOf };
  body.append("open_check", JSON.stringify(typed));
}

/** Text of another plan, still open here, is never saved or started with this one. */
export const ofThisPlan = () => editors().filter((place) => place.dataset.ofPlan === plan().dataset.planId);
const edits = () => ofThisPlan().filter((place) => !isComment(place));
export const hasEdits = () => edits().some(isDirty);

function relabel() {
  document.dispatchEvent(new CustomEvent("planside:typed"));
}

always(relabel);
document.addEventListener("input", (event) => event.target.closest("form.editor") && relabel());

// Mouse and keyboard

export const rowOf = (element) => element.closest("#subtasks > li");
on("click", "#subtasks [data-edit]", (button) => editSubtask(rowOf(button)));
on("click", "[data-edit-plan]", () => {
  openEditor(byId("plan-title"), "plan-editor", gettext("Edit the plan"));
});
on("click", "#add-subtask", (button) => addSubtask(byId("add-slot")));
on("click", "form.editor [data-cancel]", (button) => cancel(button.closest("[data-editing]")));
on("click", "#subtasks [data-remove]", (button) => remove(rowOf(button)));
on("click", "#subtasks [data-move]", (button) => step(rowOf(button), button.dataset.move));
on("submit", "form.editor", (form, event) => {
  event.preventDefault();
  save(form.closest("[data-editing]"));
});

function step(row, direction) {
  move(row, (place) => place + (direction === "up" ? -1 : 1));
}

on("keydown", "form.editor", (form, event) => {
  if (event.key !== "Escape") return;
  event.preventDefault();
  cancel(form.closest("[data-editing]"));
});

on("keydown", "#subtasks .step-row[tabindex]", (cell, event) => {
  const row = rowOf(cell);
  const own = event.target === cell;
  const direction = { ArrowUp: "up", ArrowDown: "down" }[event.key];
  if (own && ["Enter", "F2"].includes(event.key) && !event.ctrlKey && !event.metaKey) editSubtask(row);
  else if (event.altKey && direction) step(row, direction);
  else if (own && event.key === "Delete") remove(row);
  else return;
  event.preventDefault();
});
