// Popovers hang under the button that opened them, or above it where there is no room below.
import { always, atStart, byId, cursor, gettext, isSidebarOver, offCanvas, on } from "./dom.js";
import { fetched, headers, poll, send, show, signedOut, swap } from "./requests.js";

const GAP = 6;
const openers = new WeakMap();
// The policy of the pages forbids style attributes.
const places = new CSSStyleSheet();
atStart(() => document.adoptedStyleSheets.push(places));

// Beside a sheet a press closes it and does nothing else; the browser would let it through.
const narrow = matchMedia("(max-width: 820px)");
let isBeside = false;
addEventListener(
  "pointerdown",
  ({ target }) => {
    const sheet = narrow.matches && document.querySelector("[popover]:popover-open");
    isBeside = Boolean(sheet) && !sheet.contains(target) && target.closest("[popovertarget]") !== openerOf(sheet);
  },
  true,
);
addEventListener(
  "click",
  (event) => {
    if (!isBeside || !event.detail) return; // by keyboard, that one counts
    isBeside = false;
    event.preventDefault();
    event.stopImmediatePropagation();
  },
  true,
);

/** The button that opened it. */
export const openerOf = (popover) => openers.get(popover);

document.addEventListener(
  "click",
  ({ target }) => {
    const button = target.closest?.("[popovertarget]");
    if (!button) return;
    const around = button.closest("[popover]");
    around?.hidePopover();
    hang(document.getElementById(button.getAttribute("popovertarget")), openerOf(around) ?? button);
  },
  true,
);

/** Place a popover at its button, once it is open and has its height. */
function hang(popover, button) {
  openers.set(popover, button);
  place(popover);
  requestAnimationFrame(() => place(popover));
}
function placeAgain() {
  const open = document.querySelector("[popover]:popover-open");
  if (openers.has(open)) place(open);
}
always(placeAgain); // what it shows may come later
addEventListener("resize", placeAgain);

function place(popover) {
  const box = openers.get(popover).getBoundingClientRect();
  const [above, below] = [box.top, innerHeight - box.bottom].map((room) => room - 2 * GAP);
  const isBelow = below >= popover.scrollHeight || above <= below;
  const declared = {
    left: `${box.left}px`,
    right: `${box.right}px`,
    top: isBelow ? `${box.bottom + GAP}px` : "auto",
    bottom: isBelow ? "auto" : `${innerHeight - box.top + GAP}px`,
    room: `${isBelow ? below : above}px`,
  };
  const lines = Object.entries(declared).map(([name, value]) => `--${name}: ${value}`);
  places.replaceSync(`#${popover.id} { ${lines.join("; ")} }`);
}

/** Open it at a button that is not made for it. */
export function openAt(popover, button) {
  popover.showPopover();
  hang(popover, button);
}

// The list of conversations says how the others stand.

const EVERY = 2000; // ms
let tag = ""; // of the list on the page
let asking = null;

atStart(() => {
  if (!byId("grouping")) return;
  tag = byId("grouping").dataset.tag;
  setInterval(() => document.hidden || refresh(), EVERY);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
});

// Where there is no room for it beside the page it lies over it, while the address names it

const burger = () => document.querySelector(".burger");

/** The focus goes into it, unless who opens it has something there to lead to. */
function openSidebar({ focus = true } = {}) {
  location.hash = "side";
  changed();
  if (focus) document.querySelector(".close-sidebar").focus();
}

function closeSidebar() {
  location.replace("#main");
  changed();
  burger()?.focus();
}

const changed = () => document.dispatchEvent(new CustomEvent("planside:sidebar"));

atStart(changed);
addEventListener("hashchange", changed);
offCanvas.addEventListener("change", changed);
on("click", ".burger", (_burger, event) => {
  event.preventDefault();
  openSidebar();
});
on("click", ".close-sidebar, .backdrop", (_way, event) => {
  if (!isSidebarOver()) return;
  event.preventDefault();
  closeSidebar();
});
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || !isSidebarOver()) return;
  if (!document.querySelector("dialog[open], [popover]:popover-open")) closeSidebar();
});

/** The list as it is after what was just done. */
async function relist() {
  await asking;
  await refresh();
}

function refresh() {
  asking ??= ask().finally(() => (asking = null));
  return asking;
}

async function ask() {
  await look();
  const current = byId("app").dataset.conversation ?? "";
  try {
    const response = await poll(`/sidebar?current=${current}`, { ...headers(), "If-None-Match": tag });
    const text = await response.text();
    if (signedOut(response) || response.status !== 200) return;
    tag = response.headers.get("ETag") ?? "";
    await swap(text);
  } catch {
    // live.js says how the connection is
  }
}

let looked = ""; // what the page showed when its server was last told that somebody looks

/** That a plan is finished is news in the lists of other pages until this one was in view with it. */
async function look() {
  const { conversation } = byId("app").dataset;
  const isNews = byId(`conversation-${conversation}`)?.querySelector(
    '.mark:is([data-status="done"], [data-status="own_check"], [data-status="by_word"], [data-status="undone"])',
  );
  if (!isNews || looked === cursor()) return;
  const now = cursor();
  // Nobody has done anything: what can be undone stays so, which `send` would end.
  const answer = await fetch(`/c/${conversation}/look`, { method: "POST", headers: headers() }).catch(() => null);
  if (answer?.ok) looked = now;
}

// Menus are popovers: the first entry has the focus when one opens, and arrow keys walk through it.

document.addEventListener(
  "toggle",
  ({ target, newState }) => {
    const isMenu = newState === "open" && target.matches(".popover-menu");
    if (isMenu && !target.contains(document.activeElement)) entriesOf(target)[0]?.focus();
  },
  true, // it does not bubble
);

on("keydown", ".popover-menu", (menu, event) => {
  if (event.key === "Tab") menu.hidePopover();
  const all = entriesOf(menu);
  const now = all.indexOf(document.activeElement);
  const to = { ArrowDown: now + 1, ArrowUp: Math.max(now, 0) - 1, Home: 0, End: -1 }[event.key];
  if (to === undefined || !all.length) return;
  event.preventDefault();
  all.at(to % all.length).focus();
});

/** By a key: the next one may come before the browser tells of the toggle. */
function openMenu(menu, button) {
  openAt(menu, button);
  entriesOf(menu)[0]?.focus();
}

const entriesOf = (menu) => [...menu.querySelectorAll("a, button")].filter((entry) => entry.checkVisibility());

// With several agents it asks with which one, in the list of conversations: that is shown first.
document.addEventListener("keydown", (event) => {
  const isShortcut = (event.ctrlKey || event.metaKey) && event.shiftKey && event.key.toLowerCase() === "o";
  const button = byId("new-chat");
  if (!isShortcut || !button) return;
  event.preventDefault();
  const menu = byId("new-chat-menu");
  if (!menu) return button.click();
  if (!button.checkVisibility({ visibilityProperty: true })) {
    openSidebar({ focus: false });
    button.focus(); // Esc gives the focus back to what had it, which lies under the list now
  }
  openMenu(menu, button);
});

// The narrow head has no tags: the menu names the model

always(() => {
  const name = byId("model")?.querySelector(".truncate").textContent;
  if (name) byId("menu-model").querySelector("span").textContent = gettext("Model: {name}", { name });
});

// The menu of a row in the list of conversations: one for all rows, filled when it is opened.

const menu = byId("row-menu");
let opener = null;
/** The ids of the rows below the one it was opened for, then those above it, the nearest first. */
let others = [];
let asked = 0; // only what was asked for last is shown: entries of another row would be about that one

on("click", ".nav-row > button", (button, event) => {
  event.preventDefault(); // it opens when it is filled
  if (opener === button) menu.hidePopover();
  else openRowMenu(button);
});

on("keydown", ".nav-row", (row, event) => {
  if (event.key !== "ContextMenu" && !(event.key === "F10" && event.shiftKey)) return;
  event.preventDefault();
  openRowMenu(row.querySelector("button"));
});
// Some systems ask for a context menu when the key is let go.
on("contextmenu", "#row-menu", (_menu, event) => event.preventDefault());

async function openRowMenu(button) {
  const mine = (asked += 1);
  const row = button.previousElementSibling;
  const answer = await fetched(`${row.pathname}menu?current=${byId("app").dataset.conversation ?? ""}`);
  if (mine !== asked) return;
  if (answer.error) byId("row-menu-entries").replaceChildren();
  byId("row-menu-alert").textContent = answer.error ?? "";
  await show(answer);
  if (!button.isConnected) return;
  const ids = [...document.querySelectorAll(".nav-row > a")].map(({ id }) => id);
  const at = ids.indexOf(row.id);
  others = [...ids.slice(at + 1), ...ids.slice(0, at).reverse()];
  openMenu(menu, button);
  opener = button;
  button.setAttribute("aria-expanded", "true");
}

const closeRowMenu = () => menu?.matches(":popover-open") && menu.hidePopover();

atStart(() => {
  menu?.addEventListener("beforetoggle", ({ newState }) => {
    if (newState === "open") return;
    opener?.removeAttribute("aria-expanded");
    opener = null;
  });
  byId("conversations")?.addEventListener("scroll", closeRowMenu);
});
on("click", "#row-menu a", closeRowMenu);

document.addEventListener("planside:answered", async ({ detail: { element, ok } }) => {
  const [, pk, verb] = /(\d+)\/(\w+)\?place=list$/.exec(element.getAttribute("hx-post")) ?? [];
  if (!pk || !ok) return;
  closeRowMenu();
  const isBack = element.closest("[data-toast]");
  if (!isBack && ["archive", "delete"].includes(verb)) (others.map(byId).find(Boolean) ?? byId("new-chat")).focus();
  await relist();
  if (isBack) byId(`conversation-${pk}`)?.focus();
});
