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
