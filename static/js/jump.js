// The way to the newest message. The log is laid out from its end: there `scrollTop` is 0, above it
// is less. It never scrolls by itself while somebody reads.
import { always, atStart, byId, on } from "./dom.js";

const NEAR = 24; // pixels from the end that still count as being there

const log = byId("log");
/** What stood at the end when a reader was last there. */
let read = "";

const isAtEnd = () => log.scrollTop > -NEAR;

/** The last message, and how much it says: what is unfolded in it says no more than before. */
function newest() {
  const last = [...log.querySelectorAll("article.message")].at(-1);
  return last ? `${last.id} ${last.textContent.length}` : "";
}

function look() {
  if (isAtEnd()) read = newest();
  const isFar = -log.scrollTop > log.clientHeight;
  byId("jump-to-newest").hidden = isAtEnd() || !(isFar || newest() !== read);
}

function jump() {
  log.scrollTop = 0;
  log.focus({ preventScroll: true });
  look();
}

atStart(() => {
  if (!log) return;
  log.addEventListener("scroll", look, { passive: true });
  on("click", "#jump-to-newest", jump);
  on("keydown", "#log", (_log, event) => {
    const isElsewhere = event.target.closest("input, textarea, select, [role=menu], .whole-text, pre");
    if (event.key !== "End" || isElsewhere || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    jump();
  });
});

// Once for each frame: with every piece of a reply it would make the browser lay out the log again.
let isDue = false;
always(() => {
  if (!log || isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    look();
  });
});
