// The page of what was changed: steps from change to change, fetches what is folded, and asks before
// an undo. Beside it the plan's drawer is looked at from time to time, as no socket brings it.
import { atStart, byId } from "./dom.js";
import { bringDrawer, fetched } from "./requests.js";

const EVERY = 5000; // ms
const log = byId("changes");
let current = null;

/** The first line of each place that was changed. */
function places() {
  return [...log.querySelectorAll(".whole-line:is([data-kind=new], [data-kind=gone])")].filter((line) => {
    const before = line.previousElementSibling;
    return line.offsetParent && !["new", "gone"].includes(before?.dataset.kind);
  });
}

function step(by) {
  const all = places();
  if (!all.length) return;
  const top = log.getBoundingClientRect().top + 48;
  let at = all.indexOf(current);
  if (at < 0) {
    const next = all.findIndex((line) => line.getBoundingClientRect().top >= top);
    at = by > 0 ? (next < 0 ? all.length : next) - 1 : next < 0 ? all.length : next;
  }
  at = Math.min(Math.max(at + by, 0), all.length - 1);
  current?.removeAttribute("data-current");
  current = all[at];
  current.setAttribute("data-current", "");
  current.scrollIntoView({ block: "center" });
  byId("change-place").textContent = log.dataset.words.replace("{n}", at + 1).replace("{total}", all.length);
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, [contenteditable]");
  if (event.altKey && !isTyping && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    event.preventDefault();
    step(event.key === "ArrowDown" ? 1 : -1);
  }
  const isOver = document.querySelector("dialog[open], :popover-open");
  if (event.key === "Escape" && !event.defaultPrevented && !isTyping && !isOver) {
    document.querySelector("[data-back]").click();
  }
});

/** What is folded comes when it is opened, the rest of a long diff when it is asked for. */
async function fetchInto(element) {
  const body = element.closest(".changed").querySelector(".changed-body");
  element.setAttribute("aria-busy", "true");
  const { text, error } = await fetched(element.dataset.fetches);
  element.removeAttribute("aria-busy");
  if (text === undefined) return complain(body, error);
  body.innerHTML = text;
  delete element.dataset.fetches;
  if (element.matches("button")) log.focus();
}

/** Why it did not come, below what is there; it is asked for again when it is unfolded anew. */
function complain(body, sentence) {
  const alert = body.querySelector("[role=alert]") ?? document.createElement("p");
  alert.className = "changed-note error-text";
  alert.role = "alert";
  body.append(alert);
  alert.textContent = sentence;
}

log.addEventListener(
  "toggle",
  ({ target }) => {
    if (target.matches(".changed[data-fetches][open]")) fetchInto(target);
  },
  true,
);
log.addEventListener("click", (event) => {
  const more = event.target.closest("button[data-fetches]");
  if (more) fetchInto(more);
});
document.addEventListener("click", (event) => {
  const file = event.target.closest("a.changed-file");
  if (!file) return;
  const details = document.querySelector(file.getAttribute("href"));
  details.open = true;
  file.closest("details")?.removeAttribute("open");
  for (const each of document.querySelectorAll("a.changed-file")) {
    if (each.getAttribute("href") === file.getAttribute("href")) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
  setTimeout(() => details.querySelector("summary").focus({ preventScroll: true }));
});

// The undo

function opened() {
  const dialog = byId("undo-dialog");
  if (!dialog || dialog.open) return;
  byId("preview-alert").textContent = "";
  dialog.showModal();
  dialog.scrollTop = 0; // the focus is on a button below it all
  dialog.addEventListener("close", () => {
    byId("undo-slot").replaceChildren();
    byId("undo-button")?.focus();
  });
}

document.addEventListener("htmx:after:swap", opened);
document.addEventListener("change", ({ target }) => {
  if (!target.closest?.("#undo-dialog")) return;
  const dialog = byId("undo-dialog");
  const restored = [...dialog.querySelectorAll("[data-restores]")].filter((each) => each.checked);
  for (const old of dialog.querySelectorAll("input[name=restore]")) old.remove();
  for (const each of restored) {
    const named = Object.assign(document.createElement("input"), { type: "hidden", name: "restore" });
    named.value = each.dataset.restores;
    dialog.querySelector("form").append(named);
  }
  const go = byId("undo-go");
  const isNothing = !("takesAny" in byId("restore-list").dataset) && !restored.length;
  if (isNothing) go.setAttribute("aria-disabled", "true");
  else go.removeAttribute("aria-disabled");
  go.querySelector("span").textContent = isNothing ? go.dataset.nothing : go.dataset.undoes;
});
document.addEventListener(
  "submit",
  (event) => {
    if (byId("undo-go")?.getAttribute("aria-disabled") && event.target.closest("#undo-dialog")) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  },
  true,
);
document.addEventListener("click", (event) => {
  if (event.target.closest("#undo-dialog [data-close-dialog]")) byId("undo-dialog").close();
  const more = event.target.closest("[data-shows-rows]");
  if (more) {
    const list = byId("restore-list");
    const [first] = list.querySelectorAll("[data-more]");
    list.setAttribute("data-all", "");
    more.remove();
    first.tabIndex = -1;
    first.focus();
  }
});

// The drawer

atStart(() => setInterval(() => document.hidden || bringDrawer(), EVERY));
document.addEventListener("visibilitychange", () => document.hidden || bringDrawer());
