// The list of conversations says how the others stand: what waits for the person in one of them is
// seen from here, and what commands and scripts begin comes by itself.
import { atStart, byId, cursor, isSidebarOver, offCanvas, on } from "./dom.js";
import { headers, poll, send, signedOut, swap } from "./requests.js";

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
export function openSidebar({ focus = true } = {}) {
  location.hash = "side";
  changed();
  if (focus) document.querySelector(".close-sidebar").focus();
}

function close() {
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
  close();
});
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || !isSidebarOver()) return;
  if (!document.querySelector("dialog[open], [popover]:popover-open")) close();
});

/** The list as it is after what was just done. */
export async function relist() {
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
    '.mark:is([data-status="done"], [data-status="by_word"])',
  );
  if (!isNews || looked === cursor()) return;
  const now = cursor();
  const { ok } = await send(`/c/${conversation}/look`, {});
  if (ok) looked = now;
}
