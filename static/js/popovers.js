// Popovers hang under the button that opened them, or above it where there is no room below. On
// narrow screens they are sheets, which the style sheet places.
import { atStart } from "./dom.js";

const ROOM = 320; // px below the button that are enough
const GAP = 6;
const openers = new WeakMap();
// The policy of the pages forbids style attributes.
const places = new CSSStyleSheet();
atStart(() => document.adoptedStyleSheets.push(places));

/** The button that opened it. */
export const openerOf = (popover) => openers.get(popover);

document.addEventListener(
  "click",
  ({ target }) => {
    const button = target.closest?.("[popovertarget]");
    if (!button) return;
    button.closest("details[open]")?.removeAttribute("open");
    hang(document.getElementById(button.getAttribute("popovertarget")), button);
  },
  true,
);

/** Place a popover at its button. */
export function hang(popover, button) {
  openers.set(popover, button);
  const box = button.getBoundingClientRect();
  const isBelow = innerHeight - box.bottom > ROOM || box.top < innerHeight - box.bottom;
  const place = {
    left: `${box.left}px`,
    top: isBelow ? `${box.bottom + GAP}px` : "auto",
    bottom: isBelow ? "auto" : `${innerHeight - box.top + GAP}px`,
    room: `${(isBelow ? innerHeight - box.bottom : box.top) - 2 * GAP}px`,
  };
  const declared = Object.entries(place).map(([name, value]) => `--${name}: ${value}`);
  places.replaceSync(`#${popover.id} { ${declared.join("; ")} }`);
}

/** Open it at a button that is not made for it. */
export function openAt(popover, button) {
  hang(popover, button);
  popover.showPopover();
}
