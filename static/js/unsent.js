// A session that has ended takes the page to the sign-in, but not what was typed: texts that were not
// sent yet are kept in this tab, for the same person alone, and stand in their fields again when that
// person is back. A form with autocomplete="off" may hold a key: it is left out. What stands half typed
// in an editor, a dialog, a field of the settings or below a question is kept in the same way when the
// page is loaded again for another reason; the message box has a draft of its own (composer.js).
import { atStart, gettext, person } from "./dom.js";

const KEY = "planside-unsent";
const KEPT = gettext("The page had to be loaded again. What you typed is here, and not sent yet.");
const HERE = gettext("What you typed is here, and not sent yet.");
/** What is lost with the page otherwise; a dialog that leads to another page is not among it, since its text
 * has been sent by then. */
const HALF_TYPED =
  "form.editor, form[data-why], .need-card form, #message-editor, dialog[open] form[data-closes], form[data-setting]";
const TEXT = "textarea, input:is(:not([type]), [type=text], [type=url], [type=number])";
const LEFT_OUT = ["password", "file", "submit", "button"];

const here = () => location.pathname + location.search;
let isLeaving = false;
/** Texts whose form is not on the page, until it comes. */
let waiting = [];

/** Load the page again: without a session that leads over the sign-in. */
export function leave() {
  isLeaving = true;
  location.reload();
}

addEventListener("pagehide", () => (isLeaving ? keepAll() : keepHalfTyped()));
document.addEventListener("htmx:after:swap", giveBack);
document.addEventListener("planside:opened", giveBack); // at once: one that holds nothing new is closed by the next
atStart(() => {
  for (const text of taken()) {
    waiting.push(text);
    openAgain(text);
    giveBack();
  }
});

// Keeping

function keepAll() {
  document.dispatchEvent(new CustomEvent("planside:leaving"));
  keep(KEY, [...document.forms].filter(({ autocomplete }) => autocomplete !== "off"), KEPT);
}

function keepHalfTyped() {
  keep(`${KEY} ${here()}`, [...document.querySelectorAll(HALF_TYPED)], HERE);
}

function keep(slot, forms, words) {
  const texts = [...waiting, ...forms.filter(isChanged).map((form) => ({ ...textOf(form), words }))];
  if (texts.length) sessionStorage.setItem(slot, JSON.stringify({ person: person(), page: here(), texts }));
}

/** Whether a person has changed a text in it; what is changed by a click is saved by that. */
function isChanged(form) {
  const before = JSON.parse(form.closest("[data-editing]")?.dataset.editing ?? "{}");
  const texts = [...form.querySelectorAll(TEXT)].filter(({ name }) => name);
  return texts.some(({ name, value, defaultValue }) => value !== (before[name] ?? defaultValue));
}

/** Where the form is and what stands in it, with the hidden fields that say what it was about. */
function textOf(form) {
  return {
    form: form.id ? `#${CSS.escape(form.id)}` : `form[hx-post="${form.getAttribute("hx-post")}"]`,
    editor: form.closest("[data-editing]")?.id ?? "",
    dialog: form.closest("dialog[open]")?.id ?? "",
    message: form.closest("article.message[id]")?.id ?? "",
    address: form.getAttribute("hx-post") ?? "",
    values: fieldsOf(form).map((field) => [field.name, field[property(field)]]),
  };
}

const property = ({ type }) => (["checkbox", "radio"].includes(type) ? "checked" : "value");

function fieldsOf(form) {
  return [...form.elements].filter(
    ({ name, type }) => name && name !== "csrfmiddlewaretoken" && !LEFT_OUT.includes(type),
  );
}

// Giving back

/** Those for this page and this person; whoever else has signed in ends them. */
function taken() {
  return [KEY, `${KEY} ${here()}`].flatMap((slot) => {
    const kept = JSON.parse(sessionStorage.getItem(slot) ?? "null");
    if (!kept || (kept.person === person() && kept.page !== here())) return [];
    sessionStorage.removeItem(slot);
    return kept.person === person() ? kept.texts : [];
  });
}

/** By the button that a person would press. A subtask that has gone is offered as a new one. */
function openAgain({ form, editor, dialog, message, address }) {
  const opens = `[data-opens="${dialog}"]`;
  let ways = [`[data-reopens="${CSS.escape(form)}"]`];
  if (message) ways = [`#${message} [data-edits]`];
  if (dialog) ways = [`${opens}[data-to="${address}"]`, opens];
  if (editor) ways = [`#${editor} [data-edit]`, `#${editor} [data-edit-plan]`, "#add-subtask"];
  if (editor.startsWith("check-")) ways = [`#${editor} [data-edit-check]`];
  if (editor.startsWith("comment-")) ways = [`li:has(> #${editor}) .tools [data-comments]`];
  const buttons = ways.map((way) => document.querySelector(way));
  buttons.find(Boolean)?.click();
}

function giveBack() {
  waiting = waiting.filter((text) => !fill(text));
}

function fill({ form: selector, editor, values, words }) {
  const places = editor ? [`#${editor} form.editor`, "#add-slot form.editor"] : [selector];
  const forms = places.flatMap((place) => [...document.querySelectorAll(place)]);
  const form = forms.find(({ elements }) => values.every(([name]) => elements[name]));
  if (!form) return false;
  if (!putInto(fieldsOf(form), values)) return true;
  if (form.hidden) form.closest("[data-approval]")?.querySelector("[data-deny]").click();
  form.querySelector(TEXT)?.dispatchEvent(new Event("input", { bubbles: true }));
  const around = form.closest("aside, dialog, article");
  const alert = [form, around].map((place) => place?.querySelector("[role=alert]")).find(Boolean);
  if (alert) alert.textContent = words;
  return true;
}

/** Into the fields of these names, in their order; whether one of them has changed by it. */
function putInto(fields, values) {
  let hasChanged = false;
  for (const [name, value] of values) {
    const at = fields.findIndex((field) => field.name === name);
    if (at < 0) continue;
    const [field] = fields.splice(at, 1);
    hasChanged ||= field[property(field)] !== value;
    field[property(field)] = value;
  }
  return hasChanged;
}
