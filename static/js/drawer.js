// The plan beside the conversation, or over it on a phone. Whether it is open is the reader's
// business, so it is kept here and not by the server.
import { always, byId, on } from "./dom.js";

const app = byId("app");
const narrow = matchMedia("(max-width: 820px)");
let shownPlan = byId("plan")?.dataset.planId ?? "";

export const isOpen = () => app?.dataset.drawer === "open";

export function open({ focus = false } = {}) {
  if (!drawer()) return;
  app.dataset.drawer = "open";
  remember("");
  sync();
  if (focus) drawer().querySelector("[data-close-plan], [data-close-drawer]")?.focus();
}

export function close({ focus = true } = {}) {
  if (!isOpen()) return;
  const inside = drawer()?.contains(document.activeElement);
  app.dataset.drawer = "closed";
  remember(shownPlan);
  sync();
  if (focus && inside) document.querySelector("[data-toggle-plan]")?.focus();
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
  if (!app || app.dataset.drawer !== "auto") return sync();
  const putAway = localStorage.getItem(`put-away-${app.dataset.conversation}`);
  const stays = narrow.matches || (putAway && putAway === shownPlan);
  app.dataset.drawer = stays ? "closed" : "open";
  sync();
}

/** What stands elsewhere on the page about the drawer, and who may be focused beside a sheet. */
function sync() {
  document.querySelector("[data-toggle-plan]")?.setAttribute("aria-expanded", String(isOpen()));
  const covered = isOpen() && narrow.matches;
  for (const part of app?.querySelectorAll(":scope > .main, :scope > .side") ?? []) {
    part.inert = covered;
  }
}

always(() => {
  const plan = byId("plan");
  if (plan && plan.dataset.planId !== shownPlan) {
    shownPlan = plan.dataset.planId;
    if (shownPlan) open();
  }
  for (const notice of document.querySelectorAll("[data-shows-plan]:not([data-seen])")) {
    notice.dataset.seen = "";
    if (Date.now() - loadedAt > 1000) open();
  }
  sync();
});

const loadedAt = Date.now();
start();
narrow.addEventListener("change", sync);

on("click", "[data-toggle-plan]", () => (isOpen() ? close() : open({ focus: narrow.matches })));
on("click", "[data-open-plan]", (_link, event) => {
  event.preventDefault();
  open({ focus: true });
});
on("click", "[data-close-plan], [data-close-drawer]", () => close());
on("click", "[data-ask-changes]", () => {
  if (narrow.matches) close({ focus: false });
  const box = byId("say");
  box.placeholder = "Ask for changes to the plan";
  box.focus();
});
on("click", "#plan a[href^='#turn-']", (link, event) => {
  event.preventDefault();
  if (narrow.matches) close({ focus: false });
  const leg = byId(link.hash.slice(1));
  if (!leg) return;
  leg.open = true;
  leg.scrollIntoView({ block: "start" });
  leg.querySelector("summary").focus({ preventScroll: true });
});

document.addEventListener("keydown", (event) => {
  if (event.key === "." && (event.ctrlKey || event.metaKey) && byId("plan")) {
    event.preventDefault();
    if (isOpen()) close();
    else open({ focus: true });
  } else if (event.key === "Escape" && narrow.matches && !event.defaultPrevented) {
    if (!document.querySelector("dialog[open]")) close();
  }
});
