// What may go onto the page, and how. Fragments come by socket, poll and form, in any order.
import { always, atStart, byId, cursor } from "./dom.js";
import { headers, inTurn, swap } from "./requests.js";

let news = 0;

/** When text last arrived, by this computer's clock. */
export const lastNews = () => news;

document.addEventListener("htmx:before:swap", (event) => {
  const { tasks } = event.detail;
  const comes = tasks.find(({ target }) => target?.id === "cursor");
  const isLate = comes && isOlder(comes.fragment.firstElementChild, comes.target);
  tasks.splice(0, tasks.length, ...(isLate ? [] : tasks.filter(admit)));
});

function admit(task) {
  if (task.type === "main") return true;
  document.dispatchEvent(new CustomEvent("planside:comes", { detail: task.fragment }));
  const root = task.fragment.firstElementChild;
  if (!task.target) {
    if (root?.matches("article.message") && task.swapSpec.style === "beforeend") bringTurn(root.id);
    return false;
  }
  if (root && task.swapSpec.style === "beforeend") putInPlace(task, root);
  if (task.target.id === "earlier") leaveOutWhatIsThere(task);
  if (task.swapSpec.style !== "outerMorph") return isAwaited(task);
  if (root?.classList.contains("call-progress")) news = Date.now();
  if (!root || isOlder(root, task.target)) return false;
  const event = root.id === "plan" ? "planside:drawer" : "planside:redraw";
  document.dispatchEvent(new CustomEvent(event, { detail: root }));
  foldSettled(root, task.target);
  return true;
}

/** What is on the page already is not added again; a turn stands where its first message does. */
function putInPlace(task, root) {
  const there = root.id && byId(root.id);
  const next = !there && task.target.id === "thread" && turnAfter(root, task.target);
  if (there || next) task.target = there || next;
  if (there) task.swapSpec.style = "outerMorph";
  else if (next) task.swapSpec.style = "beforebegin";
}

function turnAfter(turn, thread) {
  const first = firstMessage(turn);
  return [...thread.children].find((other) => firstMessage(other) > first);
}

/** Its own: the attempts that it holds began earlier, and may go from the thread with this frame. */
const firstMessage = (turn) =>
  Number(turn.querySelector(":scope > [id$=-body] article.message")?.id.replace("message-", ""));

/** Of a turn from before "Show earlier" that has gone on since. */
function leaveOutWhatIsThere({ fragment, target }) {
  for (const turn of [...fragment.children]) {
    if (turn.id && turn.id !== target.id && byId(turn.id)) turn.remove();
  }
}

const AGAIN = 2000; // ms

/** A message of a turn that began before "Show earlier": the whole turn comes. What was drawn before
 * the page's last event is asked for again. */
function bringTurn(id) {
  inTurn("turns", async () => {
    if (byId(id) || !byId("thread")) return;
    const address = `/c/${byId("app").dataset.conversation}/messages/${id.replace("message-", "")}/turn`;
    const answer = await fetch(address, { headers: headers() }).catch(() => null);
    const text = await answer?.text().catch(() => null);
    const isLate = Number(answer?.headers.get("Planside-Seq")) < Number(cursor());
    if (answer?.ok && text && !isLate) await swap(text);
    else if (answer?.status !== 404) setTimeout(() => bringTurn(id), isLate ? 0 : AGAIN);
  });
}

/** A frame of a message that has meanwhile been finished comes too late. */
function isAwaited(task) {
  if (!task.target.id.endsWith("-body") || !task.target.id.startsWith("message-")) return true;
  news = Date.now();
  return "streaming" in task.target.dataset;
}

/** Nothing on the page goes back to how it was; what comes with an older cursor is all here already. */
function isOlder(root, target) {
  if (root.classList.contains("block")) {
    news = Date.now();
    return !("streaming" in target.parentElement.dataset);
  }
  const shown = Number(target.dataset.seq);
  const comes = Number(root.dataset.seq);
  // The status line is not said twice: it may meanwhile tell what a key has done.
  return root.id === "status" ? comes <= shown : comes < shown;
}

/** A subtask that has just been settled folds, unless someone reads or has written there. */
function foldSettled(root, target) {
  const group = target.closest("details.turn-group");
  if (!group || !root.id.endsWith("-head") || target.dataset.status !== "in_progress") return;
  const isHeld = group.contains(document.activeElement) || group.querySelector("[data-reason-of]");
  const isSettled = ["done", "looked", "own_check", "by_word", "abandoned"].includes(root.dataset.status);
  if (isSettled && !isHeld) group.open = false;
}

// Where the focus goes when what had it is gone: to the named place it belonged to.

const narrow = matchMedia("(max-width: 820px)");
const KEEP = "planside-focus";

/** From the id of something around what had the focus to what gets it. */
const PLACES = [
  [/^subtask-/, (row) => row.querySelector(".step-row[tabindex]") ?? row],
  [/^undone-toast$/, () => messageBox()],
  [/^toast$/, (_toast, { number }) => rowAt(number) ?? titleOfPlan()],
  [/^(approval|call)-/, (card) => card.querySelector("summary") ?? card],
  [/^(actions|composer|welcome)$/, () => messageBox()],
  [/^what-was-checked$/, (place) => place.querySelector("button")],
  [/^need-/, (card) => nextNeed(card)],
  // An attempt that is folded away, as the next one has failed in the same way
  [/^turn-\d+$/, (attempt) => !attempt.checkVisibility() && attempt.closest(".thread > *")?.querySelector("summary")],
  [/^log$/, (log) => log],
  [/^menu$/, () => byId("menu-button")],
  [/^plan$/, () => titleOfPlan()],
  [/^(agent|provider|source|account|people)-/, (card) => card],
  [/^plans-found$/, (list) => list],
  [/^(file|approvals)$/, (part) => part],
  [/^files-panel$/, (panel) => placeInFiles(panel)],
  [/^(main|side)$/, () => byId("main")],
];

/** What had the focus last: the ids around it, from the inside out. */
let held = null;
/** What has the focus only because `giveBack` has put it there. */
let given = null;
const openers = new WeakMap();

document.addEventListener("focusin", ({ target }) => {
  held = { element: target, ids: idsAround(target), number: target.form?.elements.to?.value };
});

// Who clicks beside everything has left it: nothing is to be given back.
document.addEventListener("pointerdown", () => {
  held = null;
});

// Before the dialog opens and has the focus.
document.addEventListener(
  "click",
  ({ target }) => {
    const button = target.closest?.("[data-opens]");
    if (button) openers.set(byId(button.dataset.opens), idsAround(button));
  },
  true,
);
always(giveBack);
document.addEventListener("close", () => setTimeout(giveBack), true);

/** What stood around it; around what a dialog asked stands what had opened the dialog. */
function idsAround(element) {
  const dialog = element.closest("dialog");
  if (dialog && openers.has(dialog)) return openers.get(dialog);
  const ids = [];
  for (let each = element; each; each = each.parentElement) if (each.id) ids.push(each.id);
  return ids;
}

function giveBack() {
  // A closed dialog gives the focus to its button even if that is hidden by now; the browser takes
  // it away a frame later, and says so to nobody.
  const now = document.activeElement;
  if (!held || (now !== document.body && now.checkVisibility())) return;
  const isThere = held.element.isConnected && held.element.checkVisibility();
  given = isThere ? made(held.element) : placeOf(held);
  given?.focus({ preventScroll: true });
}

/** Whether no person has put the focus where it is: then the answer of a request may move it. */
export function isAdrift() {
  return [document.body, given].includes(document.activeElement);
}

function placeOf({ ids, number }) {
  for (const id of ids) {
    const there = byId(id);
    const [, find] = PLACES.find(([pattern]) => pattern.test(id)) ?? [];
    const place = find && (there || id.endsWith("toast")) ? find(there, { number }) : focusable(there);
    if (place && place.checkVisibility()) return made(place); // false where there is none
  }
  return null;
}

/** The same button, drawn anew. */
const focusable = (element) => (element?.matches("button, a, input, textarea, summary") ? element : null);

function made(place) {
  if (place.tabIndex < 0 && !place.hasAttribute("tabindex")) place.tabIndex = -1;
  return place;
}

/** The title of the card that comes next, else of the first, else the page. */
const nextNeed = (settled) => {
  const titles = [...document.querySelectorAll(".need-card h2 a")];
  const isBehind = (title) => settled.compareDocumentPosition(title) & Node.DOCUMENT_POSITION_FOLLOWING;
  return titles.find(isBehind) ?? titles[0] ?? byId("main");
};
/** On a phone it would bring up the keys over what has just come. */
const messageBox = () => (narrow.matches ? byId("log") : byId("say"));
const placeInFiles = (panel) =>
  ["#file-tree [tabindex='0']", "#files-find", "#file-view"]
    .map((each) => panel.querySelector(each))
    .find((each) => each?.checkVisibility());
const titleOfPlan = () => byId("plan-title")?.querySelector("h2") ?? byId("plan-scroll");
const rowAt = (number) => {
  const row = document.querySelectorAll("#subtasks > li")[Number(number) - 1];
  return row?.querySelector(".step-row[tabindex]") ?? row;
};

// A subtask that was taken back may come after its toast has gone: until then another row stands there.
document.addEventListener("planside:shown", ({ detail: { element, ok } }) => {
  const row = ok && rowAt(element.elements?.restores && element.elements.to.value);
  if (row && isAdrift()) made(row).focus({ preventScroll: true });
});

// What is shown once is at hand: its button has the focus when it comes

always(() => {
  const button = document.querySelector("[data-focus-once]");
  if (!button) return;
  delete button.dataset.focusOnce;
  button.focus();
});

// A verb whose answer is a whole new page: the new page goes on where the old one was

document.addEventListener("htmx:before:response", ({ detail: { ctx } }) => {
  const { headers } = ctx.response;
  if (!headers.get("HX-Redirect") && !headers.get("HX-Refresh")) return;
  sessionStorage.setItem(KEEP, JSON.stringify(idsAround(ctx.sourceElement)));
});

atStart(() => {
  const kept = sessionStorage.getItem(KEEP);
  sessionStorage.removeItem(KEEP);
  if (!kept || document.activeElement !== document.body) return;
  placeOf({ ids: [location.hash.slice(1), ...chosenCards(), ...JSON.parse(kept), "main"] })?.focus();
});

/** The address names the card that was made: ?agent=, ?provider=, ?source=. */
function chosenCards() {
  return [...new URLSearchParams(location.search)].map(([kind, name]) => `${kind}-${name}`);
}
