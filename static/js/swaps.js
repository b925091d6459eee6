// What may go onto the page, and how. Fragments come by socket, poll and form, in any order.
import { byId } from "./dom.js";

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
  const root = task.fragment.firstElementChild;
  if (!task.target) return false;
  if (root && task.swapSpec.style === "beforeend") replaceWhatIsThere(task, root);
  if (task.swapSpec.style !== "outerMorph") return isAwaited(task);
  if (root?.classList.contains("call-progress")) news = Date.now();
  if (!root || isOlder(root, task.target)) return false;
  if (root.id === "plan") document.dispatchEvent(new CustomEvent("planside:drawer", { detail: root }));
  foldSettled(root, task.target);
  return true;
}

/** Something that is on the page already is not added a second time. */
function replaceWhatIsThere(task, root) {
  const there = root.id && byId(root.id);
  if (there) {
    task.target = there;
    task.swapSpec.style = "outerMorph";
  }
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

/** A subtask that has just been settled folds to one line, unless someone is reading there. */
function foldSettled(root, target) {
  const group = target.closest("details.turn-group");
  if (!group || !root.id.endsWith("-head") || target.dataset.status !== "in_progress") return;
  if (["done", "abandoned"].includes(root.dataset.status) && !group.contains(document.activeElement)) {
    group.open = false;
  }
}
