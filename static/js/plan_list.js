// The list of plans, as it is now: asked for again while somebody looks at it.
import { atStart, byId } from "./dom.js";
import { looked } from "./live.js";
import { headers, signedOut, swap } from "./requests.js";

const EVERY = 2000; // ms
let isAsking = false;
let known = ""; // the tag of what is shown, and the query that it answers
const query = () => byId("plans-query").value;

atStart(() => {
  if (!byId("plans-query")) return;
  setInterval(() => document.hidden || look(), EVERY);
  document.addEventListener("visibilitychange", () => document.hidden || look());
});

async function look() {
  if (isAsking) return;
  isAsking = true;
  const asked = query();
  try {
    const response = await fetch(`${location.pathname}?${asked}`, {
      headers: { ...headers(), "HX-Request": "true", "If-None-Match": known },
    });
    if (signedOut(response)) return;
    const text = await response.text();
    looked(true);
    if (response.status !== 200 || query() !== asked) return; // filtered otherwise meanwhile
    known = response.headers.get("ETag");
    await swap(text);
  } catch {
    looked(false);
  } finally {
    isAsking = false;
  }
}
