// The agent's files beside the conversation, in place of the plan. The panel and its script come
// when it is first opened.
import { areFilesOpen, byId, on } from "./dom.js";
import { LOST, fetched, sayUntilReached } from "./requests.js";

let coming = null;

on("click", "[data-toggle-files]", (button) => {
  button.closest("[popover]")?.hidePopover();
  toggle();
});

document.addEventListener("keydown", (event) => {
  const isHeld = (event.ctrlKey || event.metaKey) && event.shiftKey && !event.altKey;
  if (!isHeld || event.key.toLowerCase() !== "f" || !document.querySelector("[data-toggle-files]")) return;
  event.preventDefault();
  toggle();
});

/** A panel that says why there is none is asked for again when it is opened again. */
async function toggle() {
  const panel = byId("files-panel");
  if (panel && !byId("file-tree") && !areFilesOpen()) {
    panel.remove();
    coming = null;
  }
  coming ??= fetchPanel();
  const workspace = await coming;
  if (!workspace) coming = null;
  else if (areFilesOpen()) workspace.close();
  else workspace.open();
}

/** The module, with the panel on the page; nothing where it did not come. */
async function fetchPanel() {
  const address = `/c/${byId("app").dataset.conversation}/workspace/`;
  const script = import("./workspace.js").catch(() => null);
  const [workspace, { text, error }] = await Promise.all([script, fetched(address)]);
  if (error || (text && !workspace)) sayUntilReached(byId("say-alert"), error || LOST);
  if (!workspace || !text) return null;
  byId("app").insertAdjacentHTML("beforeend", text);
  const sheet = byId("files-panel").querySelector("link");
  const styled = new Promise((resolve) => ["load", "error"].forEach((type) => sheet.addEventListener(type, resolve)));
  if (!sheet.sheet) await styled;
  workspace.begin();
  return workspace;
}
