// A yes is to what was read. Where another version takes the place of the one on the screen, whoever
// presses in the next moment meant the one before: it is sent, and the server says what it is now.
import { byId } from "./dom.js";
import { isChanging } from "./requests.js";

const MOMENT = 1000; // ms
/** What could be started a moment ago: its plan and version, those of what came, and until when. */
let before = null;

document.addEventListener("planside:drawer", ({ detail: { dataset: fresh } }) => {
  const { planId: plan, version } = byId("plan").dataset;
  const isAnother = fresh.planId !== plan || fresh.version !== version;
  if (!isAnother || !byId("start-button") || isChanging()) return;
  const read = isFresh() ? before : { plan, version };
  before = { ...read, now: fresh.version, until: performance.now() + MOMENT };
});

const isFresh = () => before && performance.now() < before.until;

document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  const { body, method } = ctx.request;
  if (method !== "POST" || !isFresh()) return;
  for (const name of ["version", "plan_version"]) {
    if (body.get(name) !== before.now) continue;
    body.set(name, before.version);
    body.set("plan", before.plan);
  }
});
