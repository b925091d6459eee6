// While the server is out of reach: since when, and nothing that needs it can be pressed. What a person
// decides is about what they see, so it is never kept for later; messages are (outbox.js).
import { always, byId } from "./dom.js";
import { stampOf } from "./clock.js";
import { sayAway } from "./live.js";
import { gettext } from "./texts.js";

const WHY = gettext("Planside cannot be reached now. This works again when it is back.");
const LATER = gettext("Write a message to send later");
/** What asks the server for something, and what opens a dialog for that. */
const DECISIONS = [
  "[hx-post]:not(form)",
  "[data-opens]",
  "form[hx-post] button:not([type=button])",
]
  .map((each) => `:is(#plan, #dock, #log, #needs-list) ${each}`)
  .join();

let heardAt = 0;
/** The buttons that wait, and the titles that they had. */
const blocked = new Map();

document.addEventListener("planside:away", ({ detail }) => {
  heardAt = detail.heardAt;
  if (detail.isAway) away();
  else back();
});
always(() => isAway() && away());

const isAway = () => byId("app")?.hasAttribute("data-stale");

function away() {
  for (const place of document.querySelectorAll("[data-heard-at]")) place.textContent = stampOf(heardAt);
  for (const button of document.querySelectorAll(DECISIONS)) block(button);
  const box = byId("say");
  if (box) box.placeholder = LATER;
}

function block(button) {
  if (button.ariaDisabled === "true") return;
  blocked.set(button, button.getAttribute("title"));
  button.ariaDisabled = "true";
  button.title = WHY;
}

function back() {
  for (const [button, title] of blocked) {
    button.ariaDisabled = null;
    if (title === null) button.removeAttribute("title");
    else button.title = title;
  }
  blocked.clear();
  const box = byId("say");
  if (box) box.placeholder = byId("actions").dataset.placeholder;
}

// Before htmx and everybody else.
document.addEventListener("click", keep, true);
document.addEventListener("submit", keep, true);

function keep(event) {
  if (!isAway()) return;
  const isBlocked = blocked.has(event.target.closest?.("button"));
  const decides = event.type === "submit" && event.target.querySelector("button[aria-disabled=true]");
  if (!isBlocked && !(decides && blocked.has(decides))) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  sayAway(WHY);
}
