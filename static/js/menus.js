// Menus: arrow keys walk through them. Those that are <details> close when the attention goes
// elsewhere, as the browser closes the others.
import { always, byId, on } from "./dom.js";
import { openSidebar } from "./sidebar.js";
import { gettext } from "./texts.js";

/** What had the focus when a key opened a menu: Esc gives it back. */
const cameFrom = new WeakMap();

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.popover[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

on("keydown", "details.popover[open], .popover-menu", (menu, event) => {
  const isDetails = menu.matches("details");
  if (event.key === "Tab" && !isDetails) menu.hidePopover();
  if (event.key === "Escape" && isDetails) {
    event.preventDefault();
    menu.open = false;
    (cameFrom.get(menu) ?? menu.querySelector("summary")).focus();
    return;
  }
  const all = entriesOf(menu);
  const now = all.indexOf(document.activeElement);
  const to = { ArrowDown: now + 1, ArrowUp: Math.max(now, 0) - 1, Home: 0, End: -1 }[event.key];
  if (to === undefined || !all.length) return;
  event.preventDefault();
  all.at(to % all.length).focus();
});

export const entriesOf = (menu) => [...menu.querySelectorAll("a, button")].filter((entry) => entry.checkVisibility());

// With several agents it asks with which one, in the list of conversations: that is shown first.
document.addEventListener("keydown", (event) => {
  const isShortcut = (event.ctrlKey || event.metaKey) && event.shiftKey && event.key.toLowerCase() === "o";
  const button = byId("new-chat");
  if (!isShortcut || !button) return;
  event.preventDefault();
  const menu = button.closest("details");
  if (!menu) return button.click();
  if (!button.checkVisibility({ visibilityProperty: true })) openSidebar({ focus: false });
  else if (!menu.contains(document.activeElement)) cameFrom.set(menu, document.activeElement);
  menu.open = true;
  entriesOf(menu)[0]?.focus();
});
on("click", "details.popover > summary", (summary) => cameFrom.delete(summary.parentElement));

// The narrow head has no tags: the menu names the model

always(() => {
  const name = byId("model")?.querySelector(".truncate").textContent;
  if (name) byId("menu-model").querySelector("span").textContent = gettext("Model: {name}", { name });
});
