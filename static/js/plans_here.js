// The list of a conversation's plans, while it is open: what becomes of any of them stands there too.
import { byId } from "./dom.js";
import { inTurn } from "./queue.js";
import { headers, signedOut, swapFrom } from "./requests.js";

let isAsked = false;

/** Every change of a plan draws the drawer anew, also one of a plan that is not in it. */
document.addEventListener("planside:drawer", () => {
  if (isAsked || !byId("plans-here")?.open) return;
  isAsked = true;
  inTurn("plans-here", refresh);
});

async function refresh() {
  isAsked = false; // what changes from here on is asked for once more
  const list = byId("plans-here-list");
  if (!byId("plans-here").open || list.querySelector("dialog[open]")) return;
  const answer = await fetch(list.dataset.url, { headers: { ...headers(), "HX-Request": "true" } }).catch(() => null);
  if (answer && !signedOut(answer) && answer.ok) await swapFrom(answer);
}
