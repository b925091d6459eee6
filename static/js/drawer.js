// The plan beside the conversation, or over it on a phone. Whether it is open is kept here.
import { mayApprove } from "./approving.js";
import {
  always,
  areFilesOpen,
  atStart,
  byId,
  gettext,
  isDrawerOpen,
  isSidebarOver,
  on,
  setIcon
} from "./dom.js";
import { LOST, fetched, headers, inTurn, reached, sayUntilReached, signedOut, swapFrom } from "./requests.js";

const app = byId("app");
const narrow = matchMedia("(max-width: 820px)");
const seen = new Set();
let shownPlan = byId("plan")?.dataset.planId ?? "";

export function open({ focus = false } = {}) {
  if (!drawer()) return;
  const wasOpen = isDrawerOpen();
  app.dataset.drawer = "open";
  if (!wasOpen) document.dispatchEvent(new CustomEvent("planside:drawer-opened"));
  remember("");
  sync();
  if (focus) drawer().querySelector("[data-close-plan], [data-close-drawer]")?.focus();
}

export function close({ focus = true } = {}) {
  if (!isDrawerOpen()) return;
  const inside = drawer()?.contains(document.activeElement);
  app.dataset.drawer = "closed";
  remember(shownPlan);
  sync();
  if (focus && inside) document.querySelector("[data-toggle-drawer]")?.focus();
}

function drawer() {
  return app?.querySelector(":scope > .drawer");
}

/** A plan that was put away stays away when the page is loaded again. */
function remember(planId) {
  if (!app.dataset.conversation) return;
  const key = `put-away-${app.dataset.conversation}`;
  if (planId) localStorage.setItem(key, planId);
  else localStorage.removeItem(key);
}

function start() {
  newNotices();
  if (!app || app.dataset.drawer !== "auto") return sync();
  const putAway = localStorage.getItem(`put-away-${app.dataset.conversation}`);
  const stays = narrow.matches || (putAway && putAway === shownPlan);
  app.dataset.drawer = stays ? "closed" : "open";
  sync();
}

/** Answers to /plan that came since this was last asked. */
function newNotices() {
  const notices = [...document.querySelectorAll("[data-shows-plan]")];
  const fresh = notices.filter(({ id }) => !seen.has(id));
  for (const { id } of fresh) seen.add(id);
  return fresh;
}

/** What lies under a sheet, or under the list of conversations, can be neither focused nor pressed. */
function sync() {
  document.querySelector("[data-toggle-drawer]")?.setAttribute("aria-expanded", String(isDrawerOpen()));
  const side = areFilesOpen() ? ".files-panel" : isDrawerOpen() ? ".drawer:not(.files-panel)" : "";
  const top = isSidebarOver() ? ".sidebar" : narrow.matches ? side : "";
  for (const part of app?.querySelectorAll(":scope > :is(.main, .sidebar, .drawer)") ?? []) {
    part.inert = Boolean(top) && !part.matches(top);
  }
}
document.addEventListener("planside:files", sync);

/** One thing lies over the page at a time. */
document.addEventListener("planside:sidebar", () => {
  if (isSidebarOver() && narrow.matches) close({ focus: false });
  sync();
});

atStart(start);
/** It takes nothing away from who is busy in the files: it stands there once these are closed. */
function openForNews() {
  if (!byId("files-panel")?.contains(document.activeElement)) return open();
  app.dataset.drawer = "open";
  remember("");
}

always(() => {
  const plan = byId("plan");
  if (plan && plan.dataset.planId !== shownPlan) {
    shownPlan = plan.dataset.planId;
    if (shownPlan) openForNews();
  }
  if (newNotices().length) openForNews();
  sync();
});

/** A refusal was about the plan and version that were shown, or a button's own, and goes when they do. */
document.addEventListener("planside:drawer", ({ detail: fresh }) => {
  const plan = byId("plan");
  const alert = byId("plan-alert");
  const says = ({ dataset }) => dataset.refusal === alert.textContent;
  const saysIt = (root) => [...root.querySelectorAll("[data-refusal]")].some(says);
  const isAnother = ["planId", "version"].some((name) => fresh.dataset[name] !== plan.dataset[name]);
  if (isAnother || (saysIt(plan) && !saysIt(fresh))) alert.textContent = "";
});

narrow.addEventListener("change", sync);

on("click", "[data-toggle-drawer]", () => (isDrawerOpen() ? close() : open({ focus: narrow.matches })));
/** A card is about its own plan, whatever is in the drawer meanwhile: another one has a page. */
export function opensItsPage(button) {
  const own = button.closest("article.card")?.dataset.plan;
  if (!own || own === byId("plan")?.dataset.planId) return false;
  location.assign(`/plans/${own}/`);
  return true;
}
on("click", "[data-open-plan]", (button, event) => {
  event.preventDefault();
  if (opensItsPage(button)) return;
  open({ focus: true });
});
on("click", "[data-close-plan], [data-close-drawer]", () => close());
on("click", ".backdrop", (_backdrop, event) => {
  if (isSidebarOver()) return;
  event.preventDefault();
  close();
});
/** From the drawer beside changed files, where the conversation is another page. */
function toConversation(hash) {
  location.assign(`/c/${app.dataset.conversation}/${hash}`);
}
on("click", "[data-ask-changes]", () => {
  if (narrow.matches) close({ focus: false });
  const box = byId("say");
  if (!box) return toConversation("#say");
  box.placeholder = gettext("Ask for changes to the plan");
  box.focus();
});
on("click", "#plan a[href^='#turn-']", (link, event) => {
  event.preventDefault();
  if (narrow.matches) close({ focus: false });
  if (!byId("log")) return toConversation(link.hash);
  const group = byId(link.hash.slice(1));
  if (!group) return;
  group.open = true;
  group.scrollIntoView({ block: "start" });
  group.querySelector("summary").focus({ preventScroll: true });
});

// On the window: what the page itself does with the key comes first, as Esc in an editor cancels that.
addEventListener("keydown", (event) => {
  if (event.key === "." && (event.ctrlKey || event.metaKey) && byId("plan")) {
    event.preventDefault();
    if (isDrawerOpen()) close();
    else open({ focus: true });
  } else if (event.key === "Escape" && narrow.matches && !isSidebarOver() && !event.defaultPrevented) {
    if (!document.querySelector("dialog[open]")) close();
  }
});

// Ctrl+Enter anywhere in it is its main button.
on("keydown", "#plan", (_drawer, event) => {
  const isTyping = event.target.closest("form.editor, dialog, textarea, input, select");
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || isTyping) return;
  event.preventDefault();
  if (!mayApprove()) return;
  byId("plan-actions").querySelector("form > [data-kind=go]:not([hidden])")?.click();
});

// The agent's files, in place of the plan. Panel and script come when they are first opened.

let coming = null;

on("click", "[data-toggle-files]", (button) => {
  button.closest("[popover]")?.hidePopover();
  toggle();
});

document.addEventListener("keydown", (event) => {
  const isHeld = (event.ctrlKey || event.metaKey) && event.shiftKey && !event.altKey;
  if (!isHeld || event.key.toLowerCase() !== "f" || !document.querySelector("[data-toggle-files]")) return;
  event.preventDefault();
  toggle();
});

/** A panel that says why there is none is asked for again when it is opened again. */
async function toggle() {
  const panel = byId("files-panel");
  if (panel && !byId("file-tree") && !areFilesOpen()) {
    panel.remove();
    coming = null;
  }
  coming ??= fetchPanel();
  const workspace = await coming;
  if (!workspace) coming = null;
  else if (areFilesOpen()) workspace.close();
  else workspace.open();
}

/** The module, with the panel on the page; nothing where it did not come. */
async function fetchPanel() {
  const address = `/c/${byId("app").dataset.conversation}/workspace/`;
  const script = import("./workspace.js").catch(() => null);
  const [workspace, { text, error }] = await Promise.all([script, fetched(address)]);
  if (error || (text && !workspace)) sayUntilReached(byId("say-alert"), error || LOST);
  if (!workspace || !text) return null;
  byId("app").insertAdjacentHTML("beforeend", text);
  const sheet = byId("files-panel").querySelector("link");
  const styled = new Promise((resolve) => ["load", "error"].forEach((type) => sheet.addEventListener(type, resolve)));
  if (!sheet.sheet) await styled;
  htmx.process(byId("files-panel"));
  reached();
  return workspace;
}

// What a plan tells its agent. Before a yes all of it is shown; who folds it finds it folded again, until
// there is another version. After the yes each name opens its own.

const list = () => byId("subtasks");
const plan = () => byId("plan");

// The list in the drawer

const listKey = () => `folded-${plan().dataset.planId}`;

function applyList() {
  if (!list()) return;
  const isFolded = localStorage.getItem(listKey()) === plan().dataset.version;
  list().toggleAttribute("data-folded", "proposed" in list().dataset && isFolded);
  label(plan().querySelector("[data-fold-list]"), isFolded);
  for (const row of list().children) {
    const isOpen = "unfolded" in row.dataset;
    for (const button of row.querySelectorAll("[data-shows-details], [data-shows-outcome]")) {
      button.setAttribute("aria-expanded", String(isOpen));
    }
  }
}

on("click", "[data-fold-list]", () => {
  if ("folded" in list().dataset) localStorage.removeItem(listKey());
  else localStorage.setItem(listKey(), plan().dataset.version);
  for (const row of list().children) row.removeAttribute("data-unfolded");
  applyList();
});

on("click", "#subtasks :is([data-shows-details], [data-unfolds])", (element) => {
  element.closest("li").toggleAttribute("data-unfolded");
  applyList();
});

// The card in the conversation: names beside an open drawer, everything without one

const cardKey = (card) => `card-${card.dataset.plan}`;

function applyCards() {
  for (const card of document.querySelectorAll("article.card[data-plan]")) {
    const [version, choice] = (localStorage.getItem(cardKey(card)) ?? "").split(" ");
    if (version === card.dataset.version) card.dataset.kept = choice;
    else delete card.dataset.kept;
    label(card.querySelector("[data-fold-card]"), isFolded(card));
  }
}

function isFolded(card) {
  return card.dataset.kept ? card.dataset.kept === "shut" : app.dataset.drawer === "open";
}

on("click", "[data-fold-card]", (button) => {
  const card = button.closest("article");
  localStorage.setItem(cardKey(card), `${card.dataset.version} ${isFolded(card) ? "open" : "shut"}`);
  applyCards();
});

// How a plan has ended: one line beside the drawer, which says the rest

on("click", "[data-unfold-closing]", (button) => {
  button.closest("article").dataset.unfolded = "";
  button.closest("article").querySelector(".card a, .card button")?.focus();
});

function label(button, isFolded) {
  if (!button) return;
  const [span, words] = [button.querySelector("span"), isFolded ? gettext("Unfold") : gettext("Fold")];
  if (span.textContent !== words) span.textContent = words;
  setIcon(button, isFolded ? "unfold" : "fold");
}

always(() => {
  applyList();
  applyCards();
});
atStart(() => {
  if (app) new MutationObserver(applyCards).observe(app, { attributeFilter: ["data-drawer"] });
});

// The drawer follows the subtask that runs, until the reader scrolls by hand.

const ROOM = 16; // px around the subtask
const calm = matchMedia("(prefers-reduced-motion)");
/** The plan that is followed, and the one whose reader has scrolled. */
let followed = "";
let left = "";

atStart(listen);
document.addEventListener("planside:drawer-opened", follow);
always(follow);

function listen() {
  for (const type of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    document.addEventListener(type, leave, { capture: true, passive: true });
  }
}

function leave({ target }) {
  if (target.closest?.("#plan-scroll")) left = followed;
}

function follow() {
  const { planId, run } = byId("plan")?.dataset ?? {};
  const runs = run === "running" || run === "queued";
  if (!runs || planId !== followed) left = "";
  followed = runs ? planId : "";
  const row = byId("subtasks")?.querySelector("[aria-current=step]");
  if (runs && row && left !== planId && isDrawerOpen()) show(row, byId("plan-scroll"));
}

/** All of it, else its beginning. */
function show(row, scroller) {
  const [at, seen] = [row.getBoundingClientRect(), scroller.getBoundingClientRect()];
  const above = at.top - seen.top - ROOM;
  const below = at.bottom - seen.bottom + ROOM;
  const by = above < 0 ? above : Math.min(above, Math.max(0, below));
  if (Math.abs(by) > 1) scroller.scrollBy({ top: by, behavior: calm.matches ? "auto" : "smooth" });
}

// A link to a subtask: /plans/7/#s3 on the plan's page, /c/5/#subtask-7-s3 beside the conversation.
// Where it leads has the focus and a tint, also in a list that was folded.

function arrive() {
  const place = byId(decodeURIComponent(location.hash.slice(1)));
  if (!place?.matches(".page-subtasks > li, #subtasks > li")) return;
  if (place.closest("#subtasks")) unfold(place);
  place.scrollIntoView({ block: "center" });
  place.focus({ preventScroll: true });
}

function unfold(row) {
  open();
  for (const other of document.querySelectorAll("[data-arrived]")) other.removeAttribute("data-arrived");
  row.dataset.arrived = "";
  const button = row.querySelector("[data-shows-details]");
  if (button?.checkVisibility() && !("unfolded" in row.dataset)) button.click();
}

atStart(arrive);
addEventListener("hashchange", arrive);

// The list of a conversation's plans, while it is open: what becomes of any of them stands there too.

let isAsked = false;

/** Every change of a plan draws the drawer anew, also one of a plan that is not in it. */
document.addEventListener("planside:drawer", () => {
  if (isAsked || !byId("plans-here")?.open) return;
  isAsked = true;
  inTurn("plans-here", refresh);
});

async function refresh() {
  isAsked = false; // what changes from here on is asked for once more
  const list = byId("plans-here-list");
  if (!byId("plans-here").open || list.querySelector("dialog[open]")) return;
  const answer = await fetch(list.dataset.url, { headers: { ...headers(), "HX-Request": "true" } }).catch(() => null);
  if (answer && !signedOut(answer) && answer.ok) await swapFrom(answer);
}
