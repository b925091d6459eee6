// A check of a subtask, changed in the place of its line. The form comes from the server, with what the
// agent may run now; what it shares with other editors is in editor.js.
import { byId, on } from "./dom.js";
import { complain, editors, formOf, isCheck, openEditor, removeCheck, rowOf, rows } from "./editor.js";
import { fetched, sayUntilReached } from "./requests.js";
import { gettext } from "./texts.js";

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
