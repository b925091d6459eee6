// The list of conversations says how the others stand: what waits for the person in one of them is
// seen from here, and what commands and scripts begin comes by itself.
import { atStart, byId } from "./dom.js";
import { headers, poll, signedOut, swap } from "./requests.js";

const EVERY = 2000; // ms
let tag = ""; // of the list on the page
let isAsking = false;

atStart(() => {
  if (!byId("grouping")) return;
  tag = byId("grouping").dataset.tag;
  setInterval(() => document.hidden || refresh(), EVERY);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
});

async function refresh() {
  if (isAsking) return;
  isAsking = true;
  const current = byId("app").dataset.conversation ?? "";
  try {
    const response = await poll(`/sidebar?current=${current}`, { ...headers(), "If-None-Match": tag });
    const text = await response.text();
    if (signedOut(response) || response.status !== 200) return;
    tag = response.headers.get("ETag") ?? "";
    await swap(text);
  } catch {
    // live.js says how the connection is
  } finally {
    isAsking = false;
  }
}
