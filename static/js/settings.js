// Settings as a form: each field is saved by itself. What the server draws anew follows in fields that
// hold nothing unsaved; what is being typed, or was refused, stays as it is.
import { always, on } from "./dom.js";

const FORM = "form[data-setting]";
const TEXT = "textarea, input:is(:not([type]), [type=text])";

const textsOf = (form) => [...form.querySelectorAll(TEXT)];
const sent = new WeakMap(); // what a field's text was when it was sent
const tried = new WeakMap(); // the same, also where it was refused

/** Typed, and neither as the page was drawn nor as it was saved. */
const isUnsaved = (field) => ![field.defaultValue, sent.get(field)].includes(field.value);

document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  const form = ctx.sourceElement.closest(FORM);
  if (form && ctx.request.method === "POST") note(form);
});

function note(form) {
  for (const field of textsOf(form)) {
    sent.set(field, field.value);
    tried.set(field, field.value);
  }
}

document.addEventListener("planside:answered", ({ detail: { element, ok } }) => {
  const form = element.closest(FORM);
  if (form && !ok) for (const field of textsOf(form)) sent.delete(field);
});

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

document.addEventListener("htmx:before:morph:node", (event) => {
  const { oldNode, newNode } = event.detail;
  if (!oldNode.matches?.(`${FORM}, ${FORM} *`)) return;
  if (oldNode.matches(FORM) && newNode.matches?.(FORM)) return keep(oldNode, newNode, event);
  if (oldNode.matches("input[type=radio], input[type=checkbox]")) oldNode.checked = newNode.checked;
  if (oldNode.matches("select")) oldNode.value = newNode.value;
  if (oldNode.matches(TEXT)) {
    oldNode.value = newNode.value;
    sent.delete(oldNode);
    tried.delete(oldNode);
  }
});

/** A form with unsaved text is left alone; where its own save has come, what counts is known anew. */
function keep(form, fresh, event) {
  const unsaved = textsOf(form).filter(isUnsaved);
  if (!unsaved.length) return;
  event.preventDefault();
  for (const field of unsaved) {
    const other = fresh.querySelector(`#${CSS.escape(field.id)}`);
    if (!other || sent.get(field) !== other.defaultValue) continue;
    field.defaultValue = other.defaultValue;
    form.elements.was.value = fresh.elements.was.value;
    sent.delete(field);
  }
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

// What is wrong with a chain, at its line

on("click", "[data-goes-to-line]", (button) => {
  const box = button.form.elements.text;
  const lines = box.value.split("\n");
  const line = Math.min(Number(button.dataset.goesToLine), lines.length) - 1;
  const start = lines.slice(0, line).join("\n").length + (line ? 1 : 0);
  box.focus();
  box.setSelectionRange(start, start + lines[line].length);
  box.scrollTop = (box.scrollHeight / lines.length) * (line - 3);
});
