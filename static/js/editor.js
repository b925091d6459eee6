// Changing the plan by hand: in its place, with the mouse, a finger or the keyboard alone.
//
// A row with an open editor is the person's: fragments from the server go around it
// (hx-morph-skip); clashes.js says so when the text underneath has changed.
import { always, byId, on } from "./dom.js";
import { send, swap } from "./requests.js";

/** It said already that the text underneath is another one. */
const isClash = (place) => !formOf(place).querySelector("[data-see]").hidden;
const FIELDS = ["name", "description", "expected_outcome"];
const PLAN_FIELDS = ["title", "content", "expected_outcome"];
const plan = () => byId("plan");
const base = () => `/c/${byId("app").dataset.conversation}/plan/`;
export const rows = () => [...document.querySelectorAll("#subtasks > li[data-key]")];
export const editors = () => [...document.querySelectorAll("#plan [data-editing]")];
export const formOf = (place) => place.querySelector("form.edit");

// Opening and closing

function openEditor(place, template, values, label) {
  if (formOf(place)) return formOf(place).querySelector("textarea").focus();
  for (const other of editors()) if (!isDirty(other)) closeEditor(other);
  const form = byId(template).content.firstElementChild.cloneNode(true);
  for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
  form.setAttribute("aria-label", label);
  place.dataset.editing = JSON.stringify(values);
  place.dataset.fromVersion = plan().dataset.version;
  place.setAttribute("hx-morph-skip", "");
  place.append(form);
  const first = form.querySelector("textarea");
  first.focus();
  first.setSelectionRange(first.value.length, first.value.length);
}

function closeEditor(place) {
  formOf(place)?.remove();
  delete place.dataset.editing;
  delete place.dataset.fromVersion;
  place.removeAttribute("hx-morph-skip");
  if (place.id.endsWith("-lost")) place.remove();
  relabel();
}

function editSubtask(row) {
  const { name, description, expected } = row.dataset;
  const values = { name, description, expected_outcome: expected };
  const number = rows().indexOf(row) + 1;
  openEditor(row, "subtask-editor", values, `Edit subtask ${number}`);
  formOf(row).querySelector("[data-label]").textContent = `Subtask ${number}`;
  nameTools(formOf(row), number);
}

function nameTools(form, number) {
  const words = { up: `Move subtask ${number} up`, down: `Move subtask ${number} down` };
  for (const button of form.querySelectorAll("[data-move]")) {
    button.title = words[button.dataset.move];
    button.setAttribute("aria-label", button.title);
  }
  const remove = form.querySelector("[data-remove]");
  remove.title = `Remove subtask ${number}`;
  remove.setAttribute("aria-label", remove.title);
}

function addSubtask(place) {
  const empty = Object.fromEntries(FIELDS.map((name) => [name, ""]));
  openEditor(place, "subtask-editor", empty, "Add a subtask");
  formOf(place).querySelector("[data-label]").textContent = "New subtask";
  formOf(place).querySelector("[data-placing]").remove();
}

function editPlan(place) {
  const { title, content, expected } = place.dataset;
  const values = { title, content, expected_outcome: expected };
  openEditor(place, "plan-editor", values, "Edit the plan");
}

const valuesOf = (form) => Object.fromEntries(new FormData(form));

function isDirty(place) {
  const before = JSON.parse(place.dataset.editing);
  return Object.entries(valuesOf(formOf(place))).some(([name, value]) => value !== before[name]);
}

// Saving

async function save(place) {
  const form = formOf(place);
  const values = { ...valuesOf(form), version: plan().dataset.version };
  if (!(values.name ?? values.title).trim()) return complain(form, missingName(place));
  if (!isDirty(place)) return cancel(place);
  const answer = await send(base() + addressOf(place), values);
  if (answer.ok) closeEditor(place);
  if (answer.text) await swap(answer.text);
  if (answer.ok) return focusRow(place);
  if (!isClash(place)) complain(form, answer.said || byId("plan-alert").textContent);
  byId("plan-alert").textContent = "";
}

function addressOf(place) {
  if (place.id === "plan-title") return "edit";
  return place.dataset.key ? `subtasks/${place.dataset.key}/edit` : "subtasks";
}

const missingName = (place) =>
  place.id === "plan-title" ? "Give the plan a title." : "Give the subtask a name.";

export function complain(form, sentence) {
  form.querySelector("[role=alert]").textContent = sentence;
}

function cancel(place) {
  closeEditor(place);
  focusRow(place);
}

function focusRow(place) {
  const row = place.id && byId(place.id);
  (row?.querySelector(".step-r[tabindex], [data-edit-plan], .add") ?? byId("add-subtask"))?.focus();
}

async function act(row, verb, values = {}) {
  const all = { ...values, version: plan().dataset.version };
  const answer = await send(`${base()}subtasks/${row.dataset.key}/${verb}`, all);
  if (answer.ok && verb === "remove") closeEditor(row);
  if (answer.text) await swap(answer.text);
  if (answer.said) byId("plan-alert").textContent = answer.said;
  return answer.ok;
}

export async function move(row, to) {
  const total = rows().length;
  const from = rows().indexOf(row) + 1;
  if (to < 1 || to > total || to === from) return;
  const held = document.activeElement;
  if (!(await act(row, "move", { to }))) return;
  if (held?.isConnected) held.focus();
  byId("status").textContent = `Moved to ${rows().indexOf(byId(row.id)) + 1} of ${total}`;
}

async function remove(row) {
  const next = row.nextElementSibling ?? row.previousElementSibling;
  if (await act(row, "remove")) focusRow(next ?? row);
}

// Saved with the start

/** The open editors were saved together with the start. */
document.addEventListener("htmx:after:request", (event) => {
  const { sourceElement, response } = event.detail.ctx;
  if (sourceElement.id === "start" && response.status === 200) editors().forEach(closeEditor);
});

document.addEventListener("htmx:config:request", (event) => {
  const { sourceElement, request } = event.detail.ctx;
  if (sourceElement.id === "start") editors().filter(isDirty).forEach((e) => carry(e, request.body));
});

function carry(place, body) {
  const values = valuesOf(formOf(place));
  if (place.id === "plan-title") {
    for (const name of PLAN_FIELDS) body.append(`edit_${name}`, values[name]);
    return;
  }
  body.append("edit_key", place.dataset.key ?? "");
  body.append("edit_name", values.name);
  body.append("edit_description", values.description);
  body.append("edit_outcome", values.expected_outcome);
}

/** The button says what it will start: what is saved, or what is being typed. */
function relabel() {
  const button = byId("start-button");
  if (!button) return;
  const words = editors().some(isDirty) ? "Start with my edits" : button.dataset.label;
  button.querySelector("span").textContent = words;
}

always(relabel);
document.addEventListener("input", (event) => event.target.closest("form.edit") && relabel());

// Mouse and keyboard

export const rowOf = (element) => element.closest("#subtasks > li");
on("click", "#subtasks [data-edit]", (button) => editSubtask(rowOf(button)));
on("click", "[data-edit-plan]", (button) => editPlan(button.closest("#plan-title")));
on("click", "#add-subtask", (button) => addSubtask(byId("add-slot")));
on("click", "form.edit [data-cancel]", (button) => cancel(button.closest("[data-editing]")));
on("click", "#subtasks [data-remove]", (button) => remove(rowOf(button)));
on("click", "#subtasks [data-move]", (button) => step(rowOf(button), button.dataset.move));
on("submit", "form.edit", (form, event) => {
  event.preventDefault();
  save(form.closest("[data-editing]"));
});

function step(row, direction) {
  move(row, rows().indexOf(row) + 1 + (direction === "up" ? -1 : 1));
}

on("keydown", "form.edit", (form, event) => {
  if (event.key === "Escape") {
    event.preventDefault();
    cancel(form.closest("[data-editing]"));
  } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing && isField(event)) {
    event.preventDefault();
    save(form.closest("[data-editing]"));
  }
});

const isField = (event) => event.target.matches("textarea") && !(event.ctrlKey || event.metaKey);

on("keydown", "#subtasks .step-r[tabindex]", (cell, event) => {
  const row = rowOf(cell);
  const own = event.target === cell;
  const direction = { ArrowUp: "up", ArrowDown: "down" }[event.key];
  if (own && ["Enter", "F2"].includes(event.key) && !event.ctrlKey) editSubtask(row);
  else if (event.altKey && direction) step(row, direction);
  else if (own && event.key === "Delete") remove(row);
  else return;
  event.preventDefault();
});

on("keydown", "#plan", (_drawer, event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("start")?.requestSubmit();
});
