// An open editor beside news from the server: what is being typed stays, and it is said what
// changed underneath.
import { byId, on } from "./dom.js";
import { complain, editors, formOf } from "./editor.js";
import { compare } from "./versions.js";

/** Keep rows with an open editor out of a new drawer, and say what changed underneath. */
export function protect(root) {
  const agent = root.querySelector("#version-tag")?.dataset.author === "agent";
  for (const place of editors()) {
    const fresh = root.querySelector(`#${CSS.escape(place.id)}`);
    const isNews = root.dataset.version !== place.dataset.fromVersion;
    if (!fresh) keepLost(place, root, agent);
    else if (isNews && agent) warn(place, root, "The agent changed this plan while you were editing.");
    else if (isChanged(place, fresh)) warn(place, root, "Changed elsewhere.");
  }
}

function isChanged(place, fresh) {
  if (place.id === "add-slot") return false;
  const before = Object.entries(JSON.parse(place.dataset.editing));
  const now = { ...fresh.dataset, expected_outcome: fresh.dataset.expected };
  return before.some(([name, value]) => now[name] !== value);
}

/** The row is gone, or has started: its text stays open below the list, and is saved as a new
 * subtask. */
function keepLost(place, root, agent) {
  const kept = place.matches("li") ? movedBelow(place) : place;
  if (kept !== place) {
    const removed = agent ? "The agent removed this while you were editing." : "This was removed elsewhere.";
    warn(kept, root, removed);
  }
  root.querySelector("#plan-scroll").append(kept.cloneNode(false));
}

function movedBelow(row) {
  const box = document.createElement("div");
  box.id = `${row.id}-lost`;
  box.className = "after";
  Object.assign(box.dataset, { editing: row.dataset.editing, fromVersion: row.dataset.fromVersion });
  box.setAttribute("hx-morph-skip", "");
  byId("plan-scroll").append(box);
  const form = formOf(row);
  if (box.moveBefore) box.moveBefore(form, null);
  else box.append(form);
  delete row.dataset.editing;
  delete row.dataset.fromVersion;
  row.removeAttribute("hx-morph-skip");
  return box;
}

/** Both ways out stand beside the sentence: look at theirs, or save one's own on top of it. */
function warn(place, root, sentence) {
  const form = formOf(place);
  const now = Number(root.dataset.version);
  const see = form.querySelector("[data-see]");
  see.hidden = false;
  see.textContent = `See v${now}`;
  see.dataset.see = now;
  form.querySelector("[data-save]").textContent = `Save mine as v${now + 1}`;
  const said = `${sentence} Your text is kept.`;
  if (form.querySelector("[role=alert]").textContent !== said) complain(form, said);
}

on("click", "form.edit [data-see]", (button) => {
  const { fromVersion } = button.closest("[data-editing]").dataset;
  compare({ from: fromVersion, to: button.dataset.see });
});
