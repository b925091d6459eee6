// The list of keys: ? opens it where nobody types, unless the person has turned that off.
import { byId, on } from "./dom.js";
import { headers, poll, signedOut, swapFrom } from "./requests.js";

const TYPED_IN = "input, textarea, select, [contenteditable]";

document.addEventListener("keydown", (event) => {
  const isHeld = event.ctrlKey || event.altKey || event.metaKey || event.isComposing;
  if (event.key !== "?" || isHeld || event.defaultPrevented || event.target.closest(TYPED_IN)) return;
  if (!("listsKeys" in document.documentElement.dataset) || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  open();
});

on("click", "[data-lists-keys-now]", () => open());

/** The place of the list is empty until it is first asked for. */
async function open() {
  const { url } = byId("keys")?.dataset ?? {};
  if (url) await fetchList(url);
  byId("keys")?.showModal?.();
}

async function fetchList(url) {
  const answer = await poll(url, headers()).catch(() => null);
  if (answer && !signedOut(answer) && answer.ok) await swapFrom(answer);
}
