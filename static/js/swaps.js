// What may go onto the page, and how. Fragments come by socket, poll and form, in any order.
import { byId, cursor } from "./dom.js";
import { inTurn } from "./queue.js";
import { headers, swap } from "./requests.js";

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

/** Something that is on the page already is not added a second time, and a turn stands where its
 * first message stands. */
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

const firstMessage = (turn) => Number(turn.querySelector("article.message")?.id.replace("message-", ""));

/** Of a turn from before "Show earlier" that has gone on since. */
function leaveOutWhatIsThere({ fragment, target }) {
  for (const turn of [...fragment.children]) {
    if (turn.id && turn.id !== target.id && byId(turn.id)) turn.remove();
  }
}

const AGAIN = 2000; // ms

/** A message of a turn that began before "Show earlier" and goes on: the whole turn comes. What was
 * drawn before the page's last event is asked for again. */
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

/** Nothing on the page goes back to how it was. What comes with an older cursor is all here already:
 * a turn group has no number of its own, and one that is to be removed may have begun since. */
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

/** A subtask that has just been settled folds to one line, unless someone is reading there or has
 * written something. */
function foldSettled(root, target) {
  const group = target.closest("details.turn-group");
  if (!group || !root.id.endsWith("-head") || target.dataset.status !== "in_progress") return;
  const isHeld = group.contains(document.activeElement) || group.querySelector("[data-reason-of]");
  const isSettled = ["done", "by_word", "abandoned"].includes(root.dataset.status);
  if (isSettled && !isHeld) group.open = false;
}
