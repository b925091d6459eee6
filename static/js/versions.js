// The drawer's second face: the plan's versions, and what changed between two of them. Fragments of
// the checklist go on beside it; when a version is added, what is being read stays in view.
import { always, byId, gettext, moveInto, on, withTextKept } from "./dom.js";
import { open, opensItsPage } from "./drawer.js";
import {
  HELD,
  closeEditor,
  complain,
  editors,
  formOf,
  isCheck,
  isComment,
  isDirty,
  isOwnNews,
  missed
} from "./editor.js";
import { LOST, headers, sayUntilReached, signedOut, swap } from "./requests.js";
import { isAdrift } from "./swaps.js";

const app = byId("app");
let chosen = {};
let shown = "";
let loads = 0; // only the answer to the last of them is drawn

const isShown = () => app?.dataset.view === "versions";

/** Show two versions, or without any named what changed since the plan was approved. */
async function compare(pair = {}) {
  chosen = pair;
  open();
  app.dataset.view = "versions";
  byId("versions-back").focus();
  await load();
}

function leave({ focus = true } = {}) {
  if (!isShown()) return;
  delete app.dataset.view;
  byId("go-back").replaceChildren();
  if (focus) byId("version-tag")?.focus();
}

async function load() {
  const mine = (loads += 1);
  shown = planState();
  const held = document.activeElement;
  const asked = new URLSearchParams({ ...chosen, plan: byId("plan").dataset.planId });
  const html = await read(`/c/${app.dataset.conversation}/plan/versions?${asked}`);
  if (html === null || !isShown() || mine !== loads) return;
  await swap(html);
  if (!held.isConnected && isAdrift()) restore(held);
}

async function read(url) {
  try {
    const response = await fetch(url, { headers: headers() });
    if (signedOut(response)) return null;
    const text = await response.text();
    if (response.ok) return text;
  } catch {
    // said below
  }
  sayUntilReached(byId("plan-alert"), LOST);
  return null;
}

/** What was focused is there again, or what it did is the next thing to look at. */
function restore(held) {
  const again = held.id && byId(held.id);
  (again || byId("start-button") || byId("versions-back")).focus();
}

/** What the list, the comparison and the button depend on. */
function planState() {
  const { planId, version, approvedVersion, state } = byId("plan").dataset;
  return [planId, version, approvedVersion, state].join();
}

always(() => {
  if (!isShown()) return;
  const now = planState();
  if (now === shown) return;
  if (now.split(",")[0] !== shown.split(",")[0]) return leave({ focus: false });
  load();
});

on("click", "[data-versions]", (button) => opensItsPage(button) || compare());
on("click", "[data-versions-back]", () => leave());
on("click", "[data-close-plan]", () => leave({ focus: false }));
on("click", "[data-version-of]", (button) => {
  chosen = { to: button.dataset.versionOf };
  load();
});
on("change", "[data-compared-with]", (field) => {
  chosen = { from: field.value, to: field.dataset.comparedWith };
  load();
});

// Escape goes back to the checklist before it would close the sheet.
document.addEventListener(
  "keydown",
  (event) => {
    const away = !event.target.closest("#plan") && event.target !== document.body;
    if (event.key !== "Escape" || !isShown() || away || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    event.preventDefault();
    leave();
  },
  true,
);

document.addEventListener("planside:answered", ({ detail: { element, ok } }) => {
  if (!ok) return;
  if (element.matches("[data-goes-back]")) chosen = {};
  if (element.id === "start") leave();
});

// An open editor beside news from the server: what is being typed stays, and it is said what
// changed underneath.

const CHANGED = gettext("Changed elsewhere.");
const CHANGED_BY_AGENT = gettext("The agent changed this plan while you were editing.");
const REMOVED = gettext("This was removed elsewhere.");
const REMOVED_BY_AGENT = gettext("The agent removed this while you were editing.");
const OF_ANOTHER_PLAN = gettext("This belongs to another plan than the one shown now.");
const TAKES_NO_COMMENT = gettext("This subtask takes no comment any more.");
const TAKES_NO_CHECK = gettext("This check cannot be changed any more.");
const changedTo = (version) => gettext("The plan was changed elsewhere: it is v{version} now.", { version });

/** Of a comment all that stands there is the person's; elsewhere what is other than the plan's. */
const hasText = (place) => (isComment(place) ? formOf(place).elements.comment.value.trim() : isDirty(place));

/** Where nobody has typed anything there is nothing to keep. */
function letGo(place) {
  missed.delete(place);
  closeEditor(place);
}

function sayOf(place, sentence) {
  complain(formOf(place), hasText(place) ? withTextKept(sentence) : sentence);
}

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
    else if (isCheck(place) && !fresh) "goes" in place.dataset || keepCheck(place, root);
    else if (!fresh) keepLost(place, root, agent);
    else if (isNews && agent) warn(place, root, CHANGED_BY_AGENT);
    else if (isChanged(place, fresh)) warn(place, root, CHANGED);
    else if (isNews && isOwnNews()) place.dataset.knows = root.dataset.version;
    else if (isNews) warn(place, root, changedTo(root.dataset.version));
  }
}

/** Another plan is in the drawer now: the text stays open below it, and is not saved into it. */
function keepApart(place, root) {
  if (!hasText(place)) return letGo(place);
  const kept = place.id.endsWith("-lost") ? place : movedBelow(place);
  formOf(kept).querySelector("[data-see]")?.toggleAttribute("hidden", true);
  sayOf(kept, OF_ANOTHER_PLAN);
  root.querySelector("#plan-scroll").append(kept.cloneNode(false));
}

/** A new version is no news to a comment, as long as its subtask takes one. */
function keepComment(place, root, fresh) {
  if (fresh && isChanged(place, fresh)) sayOf(place, CHANGED);
  if (fresh) return;
  if (!hasText(place)) return letGo(place);
  const kept = place.id.endsWith("-lost") ? place : movedBelow(place);
  sayOf(kept, TAKES_NO_COMMENT);
  root.querySelector("#plan-scroll").append(kept.cloneNode(false));
}

/** It is gone, or its subtask has started. */
function keepCheck(place, root) {
  if (!hasText(place)) return letGo(place);
  const kept = place.id.endsWith("-lost") ? place : movedBelow(place);
  sayOf(kept, TAKES_NO_CHECK);
  root.querySelector("#plan-scroll").append(kept.cloneNode(false));
}

/** To words that stand neither in the row as it was opened nor in the editor. */
function isChanged(place, fresh) {
  if (place.id === "add-slot" || place.id.endsWith("-new")) return false;
  const before = Object.entries(JSON.parse(place.dataset.editing));
  const typed = formOf(place).elements;
  return before.some(([name, value]) => ![value, typed[name].value].includes(fresh.dataset[name]));
}

/** The row is gone, or has started: its text stays open below the list, and is saved as a new
 * subtask. */
function keepLost(place, root, agent) {
  if (!hasText(place)) return letGo(place);
  const kept = place.matches("li") ? movedBelow(place) : place;
  if (kept !== place) warn(kept, root, agent ? REMOVED_BY_AGENT : REMOVED);
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
function warn(place, root, news) {
  const sentence = hasText(place) ? withTextKept(news) : news;
  const form = formOf(place);
  const now = Number(root.dataset.version);
  const see = form.querySelector("[data-see]");
  see.hidden = false;
  see.textContent = gettext("See v{version}", { version: now });
  see.dataset.see = now;
  place.dataset.knows = now;
  form.querySelector("[data-save]").textContent = gettext("Save mine as v{version}", { version: now + 1 });
  if (form.querySelector("[role=alert]").textContent !== sentence) complain(form, sentence);
}

on("click", "form.editor [data-see]", (button) => {
  const { fromVersion } = button.closest("[data-editing]").dataset;
  compare({ from: fromVersion, to: button.dataset.see });
});
