// Popovers hang under the button that opened them, or above it where there is no room below. On
// narrow screens they are sheets, which the style sheet places.
import { always, atStart } from "./dom.js";

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
export function hang(popover, button) {
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
