// The menu of a row in the list of conversations: one for all rows, filled when it is opened.
import { atStart, byId, on } from "./dom.js";
import { openMenu } from "./menus.js";
import { fetched, show } from "./requests.js";
import { relist } from "./sidebar.js";

const menu = byId("row-menu");
let opener = null;
/** The ids of the rows below the one it was opened for, then those above it, the nearest first. */
let others = [];
let asked = 0; // only what was asked for last is shown: entries of another row would be about that one

on("click", ".nav-row > button", (button, event) => {
  event.preventDefault(); // it opens when it is filled
  if (opener === button) menu.hidePopover();
  else open(button);
});

on("keydown", ".nav-row", (row, event) => {
  if (event.key !== "ContextMenu" && !(event.key === "F10" && event.shiftKey)) return;
  event.preventDefault();
  open(row.querySelector("button"));
});
// Some systems ask for a context menu when the key is let go.
on("contextmenu", "#row-menu", (_menu, event) => event.preventDefault());

async function open(button) {
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

const close = () => menu?.matches(":popover-open") && menu.hidePopover();

atStart(() => {
  menu?.addEventListener("beforetoggle", ({ newState }) => {
    if (newState === "open") return;
    opener?.removeAttribute("aria-expanded");
    opener = null;
  });
  byId("conversations")?.addEventListener("scroll", close);
});
on("click", "#row-menu a", close);

document.addEventListener("planside:answered", async ({ detail: { element, ok } }) => {
  const [, pk, verb] = /(\d+)\/(\w+)\?place=list$/.exec(element.getAttribute("hx-post")) ?? [];
  if (!pk || !ok) return;
  close();
  const isBack = element.closest("[data-toast]");
  if (!isBack && ["archive", "delete"].includes(verb)) (others.map(byId).find(Boolean) ?? byId("new-chat")).focus();
  await relist();
  if (isBack) byId(`conversation-${pk}`)?.focus();
});
