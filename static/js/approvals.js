// A call that asks first: the keys, the reason for a no, and the way there from the plan.
import { mayApprove } from "./approving.js";
import { always, byId, gettext, moveInto, on, unfoldAround, withTextKept } from "./dom.js";
import { close } from "./drawer.js";

/** What a person does on this page that ends a question, by its address. */
const ENDS = [
  [/\/plan\/stop$/, gettext("You stopped the plan, so this is not asked any more.")],
  [/\/plan\/cancel$/, gettext("You cancelled the plan, so this is not asked any more.")],
  [/\/(skip|replan)$/, gettext("You left this subtask, so this is not asked any more.")],
  [/\/stop$/, gettext("You stopped the reply, so this is not asked any more.")],
];
const OWN = 15_000; // ms
let own = { words: "", at: 0 };

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

// A reason is being written, and the call is settled without it: what happened is shown, and below it
// what was typed.

document.addEventListener("planside:redraw", ({ detail: root }) => {
  for (const form of document.querySelectorAll(".log [data-why]:not([hidden])")) keep(form, root);
});

function keep(form, root) {
  const { id } = form.closest("article");
  const fresh = root.id === id ? root : root.querySelector(`#${id}`);
  const card = cardOf(form);
  if (card && !form.elements.reason.value.trim()) return;
  if (!fresh) return root.id === "thread" ? handOver(form) : undefined;
  if (card && fresh.querySelector(`#${card.id}`)) return;
  fresh.append((card ? moveBelow(form, card) : form.parentElement).cloneNode(false));
}

/** One that is on its way from here is not in view until it is refused. */
function moveBelow(form, card) {
  const box = document.createElement("div");
  box.id = `reason-${card.dataset.approval}`;
  box.className = "ask";
  box.dataset.reasonOf = card.dataset.approval;
  box.setAttribute("hx-morph-skip", "");
  box.hidden = "sent" in form.dataset;
  card.closest("article").append(box);
  moveInto(box, form);
  form.querySelector("[data-undeny]").parentElement.remove();
  form.querySelector("[data-settled]").hidden = false;
  const alert = form.querySelector("[role=alert]");
  const isOwn = Date.now() - own.at < OWN;
  alert.textContent = withTextKept(isOwn ? own.words : gettext("Settled elsewhere."));
  alert.classList.toggle("error-text", !isOwn);
  return box;
}

document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  if (ctx.sourceElement.matches("[data-why]")) ctx.sourceElement.dataset.sent = "";
  const [, words] = ENDS.find(([address]) => address.test(ctx.request.action)) ?? [];
  if (words) own = { words, at: Date.now() };
});
document.addEventListener("planside:answered", ({ detail }) => answered(detail.element, detail.ok));
document.addEventListener("htmx:error", ({ detail: { ctx } }) => ctx && answered(ctx.sourceElement, false));

function answered(form, ok) {
  if (!form.matches("[data-why]")) return;
  delete form.dataset.sent;
  const box = form.closest("[data-reason-of]");
  if (ok) form.elements.reason.value = ""; // it arrived: nothing to keep when the card is drawn anew
  if (box && ok) box.remove();
  else if (box) box.hidden = false;
}

// Before its own listener, which would ask for a no again.
document.addEventListener(
  "submit",
  (event) => {
    if (!event.target.matches("[data-reason-of] form")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    toMessageBox(event.target);
  },
  true,
);

function toMessageBox(form) {
  form.closest("[data-reason-of]").remove();
  handOver(form);
}

function handOver(form) {
  document.dispatchEvent(new CustomEvent("planside:hand-over", { detail: form.elements.reason.value }));
}

on("click", "[data-to-message-box]", (button) => toMessageBox(button.form));
on("click", "[data-discard-reason]", (button) => {
  const box = button.closest("[data-reason-of]");
  box.remove();
  byId(`call-${box.dataset.reasonOf}`)?.firstElementChild.focus();
});

on("keydown", "[data-approval]", (card, event) => {
  const why = card.querySelector("[data-why]");
  if (event.key === "Escape" && !why.hidden) {
    event.preventDefault();
    ask(card, false);
  } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && why.hidden) {
    event.preventDefault(); // in the reason's field the keys send what was written, never a yes
    if (mayApprove()) card.querySelector("[value=allow_once]").click();
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
  const card = byId(link.hash.slice(1));
  if (!card) return;
  event.preventDefault();
  if (matchMedia("(max-width: 820px)").matches) close({ focus: false });
  unfoldAround(card);
  card.scrollIntoView({ block: "nearest" });
  card.focus({ preventScroll: true });
});
