// While a plan runs the drawer follows the subtask that runs, until the reader scrolls by hand; then
// it stays where they are until the plan is started again.
import { always, atStart, byId, isDrawerOpen } from "./dom.js";

const ROOM = 16; // px around the subtask
const calm = matchMedia("(prefers-reduced-motion)");
/** The plan that is followed, and the one whose reader has scrolled. */
let followed = "";
let left = "";

atStart(listen);
document.addEventListener("planside:drawer-opened", follow);
always(follow);

function listen() {
  for (const type of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    document.addEventListener(type, leave, { capture: true, passive: true });
  }
}

function leave({ target }) {
  if (target.closest?.("#plan-scroll")) left = followed;
}

function follow() {
  const { planId, run } = byId("plan")?.dataset ?? {};
  const runs = run === "running" || run === "queued";
  if (!runs || planId !== followed) left = "";
  followed = runs ? planId : "";
  const row = byId("subtasks")?.querySelector("[aria-current=step]");
  if (runs && row && left !== planId && isDrawerOpen()) show(row, byId("plan-scroll"));
}

/** All of it, else its beginning. */
function show(row, scroller) {
  const [at, seen] = [row.getBoundingClientRect(), scroller.getBoundingClientRect()];
  const above = at.top - seen.top - ROOM;
  const below = at.bottom - seen.bottom + ROOM;
  const by = above < 0 ? above : Math.min(above, Math.max(0, below));
  if (Math.abs(by) > 1) scroller.scrollBy({ top: by, behavior: calm.matches ? "auto" : "smooth" });
}
