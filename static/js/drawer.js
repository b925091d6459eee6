// The plan beside the conversation, or over it on a phone. Whether it is open is the reader's
// business, so it is kept here and not by the server.
import { mayApprove } from "./approving.js";
import { always, areFilesOpen, atStart, byId, isDrawerOpen, isSidebarOver, on } from "./dom.js";
import { gettext } from "./texts.js";

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

/** What stands elsewhere on the page about the drawer; what lies under a sheet, or under the list of
 * conversations, can be neither focused nor pressed. */
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

/** A refusal was about the plan and version that were shown, and goes when they do; one that comes
 * with a new drawer is written after it. */
document.addEventListener("planside:drawer", ({ detail: fresh }) => {
  const { planId, version } = byId("plan").dataset;
  if (fresh.dataset.planId !== planId || fresh.dataset.version !== version) byId("plan-alert").textContent = "";
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
  byId("plan-actions").querySelector("form:has([data-kind=go]:not([hidden]))")?.requestSubmit();
});
