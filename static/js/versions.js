// The drawer's second face: the plan's versions, and what changed between two of them. Fragments of
// the checklist go on beside it; when a version is added, what is being read stays in view.
import { always, byId, on } from "./dom.js";
import { open, opensItsPage } from "./drawer.js";
import { isAdrift } from "./focus.js";
import { LOST, headers, sayUntilReached, signedOut, swap } from "./requests.js";

const app = byId("app");
let chosen = {};
let shown = "";
let loads = 0; // only the answer to the last of them is drawn

const isShown = () => app?.dataset.view === "versions";

/** Show two versions, or without any named what changed since the plan was approved. */
export async function compare(pair = {}) {
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
