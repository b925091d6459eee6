// Settings as a form: each field is saved by itself. What the server draws anew follows in fields that
// hold nothing unsaved; what is being typed, or was refused, stays as it is.
import { always, byId, on } from "./dom.js";
import "./models.js";
import "./refusals.js";

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
