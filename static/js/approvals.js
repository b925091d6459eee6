// A call that asks first: the keys, the reason for a no, and the way there from the plan.
import { always, byId, on } from "./dom.js";
import { close } from "./drawer.js";

const cardOf = (element) => element.closest("[data-approval]");
let held = "";

on("click", "[data-deny]", (button) => ask(cardOf(button), true));
on("click", "[data-undeny]", (button) => ask(cardOf(button), false));

/** Deny asks why; while a person writes, fragments from the server go around the card. */
function ask(card, why) {
  card.querySelector("[data-why]").hidden = !why;
  card.querySelector("[data-decide]").hidden = why;
  card.toggleAttribute("hx-morph-skip", why);
  card.querySelector(why ? "textarea" : "[data-deny]").focus();
}

on("keydown", "[data-approval]", (card, event) => {
  const why = card.querySelector("[data-why]");
  if (event.key === "Escape" && !why.hidden) {
    event.preventDefault();
    ask(card, false);
  } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat && why.hidden) {
    event.preventDefault(); // in the reason's field the keys send what was written, never a yes
    card.querySelector("[value=allow_once]").click();
  }
});

// Where the card was, its row is: a person who has just decided goes on from there.

document.addEventListener("focusin", ({ target }) => {
  held = cardOf(target)?.dataset.approval ?? "";
});
always(() => {
  if (!held || byId(`approval-${held}`)) return;
  if (document.activeElement === document.body) byId(`call-${held}`)?.firstElementChild.focus();
  held = "";
});

on("click", "[data-to-approval]", (link, event) => {
  event.preventDefault();
  const card = byId(link.hash.slice(1));
  if (!card) return;
  if (matchMedia("(max-width: 820px)").matches) close({ focus: false });
  const group = card.closest("details.turn-group");
  if (group) group.open = true;
  card.scrollIntoView({ block: "nearest" });
  card.focus({ preventScroll: true });
});
