// Menus are popovers: the first entry has the focus when one opens, and arrow keys walk through it.
import { always, byId, on } from "./dom.js";
import { openAt } from "./popovers.js";
import { openSidebar } from "./sidebar.js";
import { gettext } from "./texts.js";

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
export function openMenu(menu, button) {
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
