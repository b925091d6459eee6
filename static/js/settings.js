// Settings as a form: each field is saved by itself. What the server draws anew follows in fields that
// hold nothing unsaved; what is being typed, or was refused, stays as it is.
import { always, byId, on } from "./dom.js";
import { isAdrift } from "./swaps.js";

const FORM = "form[data-setting]";
const TEXT = "textarea, input:is(:not([type]), [type=text])";

const textsOf = (form) => [...form.querySelectorAll(TEXT)];
const sent = new WeakMap(); // what a field's text was when it was sent
const underWay = new Set(); // forms whose change has no answer yet
const tried = new WeakMap(); // the same, also where it was refused

/** Typed, and neither as the page was drawn nor as it was saved. */
const isUnsaved = (field) => ![field.defaultValue, sent.get(field)].includes(field.value);

document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  const form = ctx.sourceElement.closest(FORM);
  if (form && ctx.request.method === "POST") note(form);
});

function note(form) {
  underWay.add(form);
  for (const field of textsOf(form)) {
    sent.set(field, field.value);
    tried.set(field, field.value);
  }
}

document.addEventListener("planside:answered", ({ detail: { element, ok } }) => {
  const form = element.closest(FORM);
  underWay.delete(form);
  if (form && !ok) for (const field of textsOf(form)) sent.delete(field);
});

document.addEventListener("htmx:error", ({ detail: { ctx } }) => underWay.delete(ctx?.sourceElement.closest(FORM)));

// Leaving a field that Enter has sent sends nothing again; what was refused is taken back by itself.
document.addEventListener(
  "change",
  (event) => {
    const [field, form] = [event.target, event.target.closest(FORM)];
    if (!form || !field.matches(TEXT)) return;
    const isAsDrawn = field.value === field.defaultValue && !refusal(form);
    if (isAsDrawn || field.value === tried.get(field)) event.stopPropagation();
  },
  true,
);

const refusal = (form) => form.querySelector("[role=alert]")?.textContent.trim();

document.addEventListener("htmx:before:swap", ({ detail: { tasks } }) => {
  for (const { fragment } of tasks) for (const fresh of fragment.querySelectorAll(FORM)) follow(fresh);
});

/** What has just been drawn is what a form without unsaved text shows, also where it was touched. */
function follow(fresh) {
  const form = fresh.id && byId(fresh.id);
  if (!form) return;
  const unsaved = textsOf(form).filter(isUnsaved);
  form.toggleAttribute("hx-morph-skip", unsaved.length > 0 || underWay.has(form));
  if (underWay.has(form)) return; // drawn before it was taken in: what is on its way would be undone
  for (const field of unsaved) saved(form, fresh, field);
  if (unsaved.length) return;
  for (const field of form.querySelectorAll("[id]:is(input, textarea, select)")) {
    const other = fresh.querySelector(`#${CSS.escape(field.id)}`);
    if (!other) continue;
    if (["radio", "checkbox"].includes(field.type)) field.checked = other.checked;
    else field.value = other.value;
    sent.delete(field);
    tried.delete(field);
  }
}

/** Typed on while it was being saved: what counts as unsaved is what came after that. */
function saved(form, fresh, field) {
  const other = fresh.querySelector(`#${CSS.escape(field.id)}`);
  if (!other || sent.get(field) !== other.defaultValue) return;
  field.defaultValue = other.defaultValue;
  form.elements.was.value = fresh.elements.was.value;
  sent.delete(field);
}

// Reload: what stands in the file takes the place of what was typed

document.addEventListener(
  "click",
  ({ target }) => {
    const button = target.closest?.("[data-follow-file]");
    const form = button?.closest(FORM);
    if (!form) return;
    form.reset();
    for (const field of textsOf(form)) {
      sent.delete(field);
      tried.delete(field);
    }
  },
  true,
);

// What is wrong is red, and said of the field

always(() => {
  for (const form of document.querySelectorAll(FORM)) {
    for (const field of textsOf(form)) field.ariaInvalid = refusal(form) ? "true" : null;
  }
});

// A number of its own in place of the model's: there is something to type now

on("change", `${FORM} [name=own]`, (radio) => {
  if (!radio.value) radio.form.elements.value.focus();
});

// Settings > Models and the first page: a key that is replaced, and the model that is chosen.

on("click", "[data-replaces]", (button) => swapKey(button, true));
on("click", "[data-keeps]", (button) => swapKey(button, false));
on("keydown", "[data-replacement]", (form, event) => {
  if (event.key !== "Escape") return;
  event.preventDefault();
  swapKey(form, false);
});

/** The key that is set gives way to a field for another one, or comes back. */
function swapKey(element, isReplaced) {
  const setting = element.closest(".setting");
  const [row, form] = [setting.querySelector("[data-replaced]"), setting.querySelector("[data-replacement]")];
  row.hidden = isReplaced;
  form.hidden = !isReplaced;
  form.reset();
  (isReplaced ? form.querySelector("[name=key]") : row.querySelector("[data-replaces]")).focus();
}

/** What the person has chosen, for a list that is drawn anew. */
let choice = "";

on("change", "#first-run [name=model]", (radio) => {
  choice = radio.value;
  byId("chosen-model").textContent = radio.dataset.name;
});

always(() => {
  const radio = choice && document.querySelector(`#first-run [name=model][value="${CSS.escape(choice)}"]`);
  if (!radio) return;
  radio.checked = true;
  byId("chosen-model").textContent = radio.dataset.name;
});

// The list came after the page: Up and Down choose at once, unless the reader is elsewhere.
always(() => {
  const chosen = document.querySelector("#first-run [name=model]:checked");
  if (chosen && !("seen" in chosen.form.dataset)) {
    chosen.form.dataset.seen = "";
    if (isAdrift()) chosen.focus();
  }
});

// What was refused because of one field stands at that field: red, with the reason under it, and the
// focus there.

/** What an answer has said of a field, until the rest of the answer is on the page. */
let refused = null;
let notes = 0;

// Before the page's alert would have it: the reason is said once.
document.addEventListener("htmx:before:swap", ({ detail: { ctx, tasks } }) => {
  const name = ctx.response?.headers?.get("Planside-Field");
  const field = name && fieldOf(ctx.sourceElement.closest("form"), name);
  const alert = field && tasks.find(({ target }) => target?.matches("[role=alert]"));
  if (!alert) return;
  refused = { field, reason: alert.fragment.textContent };
  tasks.splice(tasks.indexOf(alert), 1);
});

document.addEventListener("htmx:after:swap", () => {
  if (refused) show(refused);
  refused = null;
});

/** One that the person can see, also by unfolding what it is in. */
function fieldOf(form, name) {
  const named = form?.elements[name];
  const field = named instanceof RadioNodeList ? named[0] : named;
  const folded = field?.closest("details:not([open])");
  if (folded) folded.open = true;
  return field?.checkVisibility() ? field : null;
}

function show({ field, reason }) {
  const note = document.createElement("p");
  note.className = "muted error-text field-refusal";
  note.id = `field-refusal-${(notes += 1)}`;
  note.textContent = reason;
  (field.closest(field.type === "radio" ? "fieldset" : "label") ?? field).after(note);
  field.ariaInvalid = "true";
  const hint = hintBehind(note, field);
  if (hint) hint.hidden = true;
  describe(field, [...described(field).filter((id) => id !== hint?.id), note.id]);
  field.focus();
}

/** The rule under the field, which the reason repeats. */
function hintBehind(note, field) {
  const next = note.nextElementSibling;
  return next?.id && described(field).includes(next.id) ? next : null;
}

const described = (field) => field.getAttribute("aria-describedby")?.split(" ") ?? [];

function describe(field, ids) {
  if (ids.length) field.setAttribute("aria-describedby", ids.join(" "));
  else field.removeAttribute("aria-describedby");
}

// It stands until the form is sent again, or put away

document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  if (ctx.request.method === "POST") forget(ctx.sourceElement.closest("form"));
});
document.addEventListener("close", ({ target }) => forget(target), true);

function forget(place) {
  for (const note of place?.querySelectorAll(".field-refusal") ?? []) {
    const field = place.querySelector(`[aria-describedby~="${note.id}"]`);
    const hint = note.nextElementSibling?.hidden && note.nextElementSibling.id ? note.nextElementSibling : null;
    note.remove();
    if (!field) continue;
    field.ariaInvalid = null;
    if (hint) hint.hidden = false;
    describe(field, [...(hint ? [hint.id] : []), ...described(field).filter((id) => id !== note.id)]);
  }
}
