// The list of conversations says how the others stand: what waits for the person in one of them is
// seen from here, and what commands and scripts begin comes by itself.
import { atStart, byId } from "./dom.js";
import { headers, signedOut, swap } from "./requests.js";

const EVERY = 2000; // ms
let tag = ""; // of the list on the page

atStart(() => {
  if (!byId("grouping")) return;
  tag = byId("grouping").dataset.tag;
  setInterval(() => document.hidden || refresh(), EVERY);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
});

/** Not while somebody looks for a title: what they see stays in place. */
async function refresh() {
  if (byId("find")?.value) return;
  const current = byId("app").dataset.conversation ?? "";
  try {
    const asked = { headers: { ...headers(), "If-None-Match": tag } };
    const response = await fetch(`/sidebar?current=${current}`, asked);
    const text = await response.text();
    if (signedOut(response) || response.status !== 200) return;
    tag = response.headers.get("ETag") ?? "";
    await swap(text);
  } catch {
    // live.js says how the connection is
  }
}
