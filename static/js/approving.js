// Whether an Enter may be a yes. What saves in one place would start in the next one, as the focus goes
// on: a key that is held, or pressed again in the same breath, was meant for the place before.
import { sinceChange } from "./requests.js";

const MOMENT = 500; // ms
const MODIFIERS = ["Control", "Meta", "Shift", "Alt"];
// They stay on: some systems tell of one press and never of its end.
const LOCKS = /Lock$|^Lang\d$|^KanaMode$/;
/** Keys that are down, by their place on the keyboard. */
const down = new Set();
/** Whether an Enter went down since all keys were up. */
let isUsed = false;
/** What was pressed last, modifiers aside. */
let last = "";
let refusedAt = -Infinity;
let isOwnPress = false;

/** Whether the last Enter was a press of its own: not held, nor the next one after what it saved. */
export const mayApprove = () => isOwnPress;

// Before everybody else: a part that has not come yet keeps keys from the others (parts.js).
addEventListener("keydown", onDown, true);
addEventListener("keyup", onUp, true);
addEventListener("pointerdown", () => (last = ""), true);
addEventListener("blur", allUp);

function onDown(event) {
  if (!event.isTrusted) return; // one that a part does again
  if (event.key === "Enter") enter(event);
  if (!MODIFIERS.includes(event.key)) last = event.key;
  if (!LOCKS.test(event.code)) down.add(event.code);
}

function enter(event) {
  const isAgain = event.repeat || isUsed;
  const pause = Math.min(sinceChange(), performance.now() - refusedAt);
  isOwnPress = !isAgain && !(last === "Enter" && pause < MOMENT);
  if (!isOwnPress) refusedAt = performance.now(); // who taps on and on still means what was before
  isUsed = true;
  // The browser would press a button as often as the key repeats.
  if (isAgain && event.target.closest?.("button:not([type=button])")) event.preventDefault();
}

function onUp({ key, code }) {
  down.delete(code);
  // macOS tells of no other key that went up while this one was down.
  if (key === "Meta" || !down.size) allUp();
}

function allUp() {
  down.clear();
  isUsed = false;
}
