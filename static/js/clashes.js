// An open editor beside news from the server: what is being typed stays, and it is said what
// changed underneath.
import { byId, moveInto, on } from "./dom.js";
import { HELD, complain, editors, formOf, isComment, isOwnNews, missed } from "./editor.js";
import { compare } from "./versions.js";

document.addEventListener("planside:drawer", ({ detail }) => protect(detail));

/** Keep rows with an open editor out of a new drawer, and say what changed underneath. */
function protect(root) {
  const agent = root.querySelector("#version-tag")?.dataset.author === "agent";
  for (const place of editors()) {
    const fresh = root.querySelector(`#${CSS.escape(place.id)}`);
    const isNews = root.dataset.version !== place.dataset.knows;
    if (fresh) missed.set(place, fresh.outerHTML);
    if (root.dataset.planId !== place.dataset.ofPlan) keepApart(place, root);
    else if (isComment(place)) keepComment(place, root, fresh);
    else if (!fresh) keepLost(place, root, agent);
    else if (isNews && agent) warn(place, root, "The agent changed this plan while you were editing.");
    else if (isChanged(place, fresh)) warn(place, root, "Changed elsewhere.");
    else if (isNews && isOwnNews()) place.dataset.knows = root.dataset.version;
    else if (isNews) warn(place, root, `The plan was changed elsewhere: it is v${root.dataset.version} now.`);
  }
}

/** Another plan is in the drawer now: the text stays open below it, and is not saved into it. */
function keepApart(place, root) {
  const kept = place.id.endsWith("-lost") ? place : movedBelow(place);
  formOf(kept).querySelector("[data-see]")?.toggleAttribute("hidden", true);
  complain(formOf(kept), "This belongs to another plan than the one shown now. Your text is kept.");
  root.querySelector("#plan-scroll").append(kept.cloneNode(false));
}

/** A new version is no news to a comment, as long as its subtask takes one. */
function keepComment(place, root, fresh) {
  const form = formOf(place);
  if (fresh && isChanged(place, fresh)) complain(form, "Changed elsewhere. Your text is kept.");
  if (fresh) return;
  const kept = place.id.endsWith("-lost") ? place : movedBelow(place);
  complain(formOf(kept), "This subtask takes no comment any more. Your text is kept.");
  root.querySelector("#plan-scroll").append(kept.cloneNode(false));
}

/** To words that stand neither in the row as it was opened nor in the editor. */
function isChanged(place, fresh) {
  if (place.id === "add-slot") return false;
  const before = Object.entries(JSON.parse(place.dataset.editing));
  const typed = formOf(place).elements;
  return before.some(([name, value]) => ![value, typed[name].value].includes(fresh.dataset[name]));
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
  box.className = "add-row";
  for (const name of HELD.filter((each) => each in row.dataset)) box.dataset[name] = row.dataset[name];
  box.setAttribute("hx-morph-skip", "");
  byId("plan-scroll").append(box);
  moveInto(box, formOf(row));
  for (const name of HELD) delete row.dataset[name];
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
  place.dataset.knows = now;
  form.querySelector("[data-save]").textContent = `Save mine as v${now + 1}`;
  const warning = `${sentence} Your text is kept.`;
  if (form.querySelector("[role=alert]").textContent !== warning) complain(form, warning);
}

on("click", "form.editor [data-see]", (button) => {
  const { fromVersion } = button.closest("[data-editing]").dataset;
  compare({ from: fromVersion, to: button.dataset.see });
});
