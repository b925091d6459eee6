// The panel of the agent's files. The server draws it: a folder when it is opened, a file when it is
// chosen, and both again when they have changed, by whomever.
import { brings, dropped } from "./attachments.js";
import { areFilesOpen, atStart, byId, gettext, isDrawerOpen, offCanvas, on } from "./dom.js";
import { LOST, headers, inTurn, poll, sayUntilReached, signedOut, swap } from "./requests.js";
import { isAdrift } from "./swaps.js";

const EVERY = 2500; // ms
const MOST = 60; // folders that are asked about at a time

const app = byId("app");
const panel = () => byId("files-panel");
const tree = () => byId("file-tree");
const found = () => byId("files-found");
/** What was found stands in the place of the tree. */
const list = () => (found().children.length ? found() : tree().lastElementChild);
const rows = () => [...list().querySelectorAll(".tree-row")];
const rowOf = (path) => list().querySelector(`[data-path="${CSS.escape(path)}"]`);
/** The head of the file that is read: {path, stamp}. */
const shown = () => byId("file-view").querySelector(".file-view-head")?.dataset;
const addressOf = (part, query) => `${panel().dataset.url}${part}?${new URLSearchParams(query)}`;
const isReadOnly = () => !tree() || "readOnly" in panel().dataset;
const isOurs = ({ request }, part = "") => tree() && request.action.startsWith(panel().dataset.url + part);

const say = (sentence) => (byId("files-alert").textContent = sentence);

/** Beside what is said already. */
function sayToo(sentence) {
  const alert = byId("files-alert");
  if (!alert.textContent.includes(sentence)) alert.append(`${sentence} `);
}

let opener = null;

export function open() {
  opener = document.activeElement;
  app.dataset.files = "open";
  tell();
  if (!tree()) return panel().querySelector("[data-close-files]").focus();
  settle();
  (stop ?? byId("files-find")).focus();
  look();
}

export function close({ focus = true } = {}) {
  if (!areFilesOpen()) return;
  const inside = panel().contains(document.activeElement);
  app.dataset.files = "closed";
  tell();
  if (isDrawerOpen()) document.dispatchEvent(new CustomEvent("planside:drawer-opened"));
  if (!focus || !inside) return;
  const buttons = [opener, ...document.querySelectorAll("[data-toggle-files], #menu-button")];
  buttons.find((each) => each?.isConnected && each !== document.body && each.checkVisibility())?.focus();
}

function tell() {
  for (const button of document.querySelectorAll("[data-toggle-files]")) button.ariaExpanded = String(areFilesOpen());
  document.dispatchEvent(new CustomEvent("planside:files"));
}

/** Only one stands beside the conversation. */
document.addEventListener("planside:drawer-opened", () => close({ focus: false }));
on("click", "[data-close-files]", () => close());
on("click", ".backdrop", () => close());

// What has changed since it was drawn

/** A look that began before something else was asked, or done, comes too late. */
let looks = 0;
let underWay = 0;
/** By folder, the look that asked about it last: of many, others each time. */
const askedAt = new WeakMap();

async function look({ isAsked = false } = {}) {
  looks += 1;
  const mine = looks;
  const unfolded = [tree().lastElementChild, ...tree().querySelectorAll("details[open] > ul")];
  const folders = unfolded.sort((a, b) => (askedAt.get(a) ?? 0) - (askedAt.get(b) ?? 0)).slice(0, MOST);
  const query = folders.flatMap((each) => {
    askedAt.set(each, looks);
    const { path = "" } = each.previousElementSibling?.dataset ?? {};
    const { stamp = "" } = each.firstElementChild?.dataset ?? {};
    return Object.entries({ folder: path, stamp, most: each.querySelectorAll(":scope > [id^=at-]").length });
  });
  const { path, stamp } = shown() ?? {};
  const as = byId("file-view").querySelector(":checked")?.value ?? "";
  if (path) query.push(...Object.entries({ path, seen: stamp, as }));
  underWay += 1;
  try {
    const answer = await poll(addressOf("refresh", query), headers());
    const text = signedOut(answer) || !answer.ok ? "" : await answer.text();
    if (text && mine === looks) await swap(text);
  } catch {
    if (isAsked) sayUntilReached(byId("files-alert"), LOST);
  } finally {
    underWay -= 1;
  }
}

const lookIfSeen = () => areFilesOpen() && !document.hidden && tree() && !underWay && look();
atStart(() => setInterval(lookIfSeen, EVERY));
document.addEventListener("visibilitychange", lookIfSeen);

/** The last file that was asked for. */
let asked = null;

document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  if (!isOurs(ctx)) return;
  looks += 1;
  say("");
  if (isOurs(ctx, "file")) asked = ctx;
});
document.addEventListener("htmx:before:response", (event) => {
  if (isOurs(event.detail.ctx, "file") && event.detail.ctx !== asked) event.preventDefault();
});
document.addEventListener("htmx:finally:request", async ({ detail: { ctx } }) => {
  if (!isOurs(ctx)) return;
  if (ctx.request.method !== "POST") return look();
  const isDone = ctx.status === "swapped" && ctx.response.status < 400;
  const { path = "", name } = Object.fromEntries(ctx.request.body);
  if (isDone && name) leadTo(path);
  await lookAfter(isDone);
});

/** The open file follows when it, or a folder around it, is renamed. */
function leadTo(from) {
  byId("files-rename").close();
  const file = shown();
  if (!file || !`${file.path}/`.startsWith(`${from}/`)) return;
  Object.assign(file, { path: byId("files-status").dataset.here + file.path.slice(from.length), stamp: "" });
}

/** After something was done: to what came of it, unless the person has gone on meanwhile. */
async function lookAfter(isDone) {
  if (found().children.length) htmx.trigger(byId("files-find"), "again");
  await look();
  const { here } = byId("files-status").dataset;
  const row = isDone && here && (await reveal(here));
  if (!row) return;
  stopAt(row);
  if (isAdrift()) (row.checkVisibility() ? row : byId("file-view")).focus();
  else row.scrollIntoView({ block: "nearest" });
}

// Before the focus is given to what stands in the place of what had it (static/js/swaps.js).
document.addEventListener("htmx:after:swap", () => areFilesOpen() && tree() && settle(), true);

/** What the server does not know: which row Tab leads to, which file is open, whose buttons are shown. */
function settle() {
  const all = rows();
  stopAt(all.includes(stop) ? stop : all[Math.min(at, all.length - 1)]);
  for (const row of tree().querySelectorAll("[aria-current]")) row.ariaCurrent = null;
  const row = shown() && rowOf(shown().path);
  if (row) row.ariaCurrent = "true";
  if (!rowOf(byId("folder-acts").querySelector("button").value)) offer(null);
  sayTarget();
}

// The tree

/** The one row that Tab leads to, and how many are above it. */
let stop = null;
let at = 0;

function stopAt(row) {
  for (const each of tree().querySelectorAll("[tabindex='0']")) each.tabIndex = -1;
  stop = row;
  at = Math.max(0, rows().indexOf(row));
  if (row) row.tabIndex = 0;
}

/** The row that the person went to last. */
let chosen = null;

function goTo(row) {
  if (!row) return;
  chosen = row;
  stopAt(row);
  row.focus();
  sayTarget();
}

const isFolder = (row) => row?.matches("summary");

function unfold(row) {
  if (row.parentElement.open) return;
  row.parentElement.open = true;
  return look({ isAsked: true });
}

function fold(row) {
  row.parentElement.open = false;
  row.nextElementSibling.replaceChildren();
  if (!stop.isConnected) stopAt(row);
  look(); // what was asked for it before would fill it
}

/** The row of a file, once what is around it is unfolded. */
async function reveal(path) {
  if (rowOf(path)) return rowOf(path);
  const parts = path.split("/");
  for (let depth = 1; depth < parts.length; depth += 1) {
    const row = rowOf(parts.slice(0, depth).join("/"));
    if (!isFolder(row)) return null;
    await unfold(row);
  }
  return rowOf(path);
}

on("focusin", "#file-tree .tree-row", stopAt);
on("click", "#file-tree .tree-row", (row, event) => {
  goTo(row);
  offer(isFolder(row) ? row : null);
  if (row.dataset.says) say(row.dataset.says);
  if (!isFolder(row)) return;
  event.preventDefault();
  if (row.parentElement.open) fold(row);
  else unfold(row);
});

const parentOf = (row) => row.closest("ul").previousElementSibling;
/** What each key does with the row that has the focus. */
const keys = {
  " ": (row) => row.click(),
  F2: (row) => rename(row.dataset.path),
  Delete: (row) => remove(row.dataset.path, row),
  ArrowUp: (row, all) => goTo(all[all.indexOf(row) - 1]),
  ArrowDown: (row, all) => goTo(all[all.indexOf(row) + 1]),
  Home: (_row, all) => goTo(all[0]),
  End: (_row, all) => goTo(all.at(-1)),
  ArrowRight: (row, all) => {
    if (!isFolder(row)) return;
    if (!row.parentElement.open) unfold(row);
    else if (row.nextElementSibling.querySelector(".tree-row")) goTo(all[all.indexOf(row) + 1]);
  },
  ArrowLeft: (row) => (isFolder(row) && row.parentElement.open ? fold(row) : goTo(parentOf(row))),
};

on("keydown", "#file-tree .tree-row", (row, event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key](row, rows());
});

/** The folder that was pressed last: what the view of a file offers stands below the tree for it. */
function offer(row) {
  const acts = byId("folder-acts");
  const { path = "" } = row?.dataset ?? {};
  acts.hidden = !path || isReadOnly();
  acts.querySelector("span").textContent = row?.querySelector(".truncate").textContent ?? "";
  for (const button of acts.querySelectorAll("button")) {
    button.value = path;
    button.ariaLabel = button.title = button.dataset.words.replace("{}", path);
  }
}

// The file that is read: by its row, or by a link of a page to another file, or to a place by the name of
// a heading

on("click", "#files-panel a:not([download])", (link, event) => {
  const place = link.hash.slice(1);
  const isHere = link.getAttribute("href")?.startsWith("#");
  const isFile = link.pathname === `${panel().dataset.url}content`;
  if ((isHere ? byId(place) : !isFile) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (isHere) goToPlace(place);
  else read(link, new URLSearchParams(link.search).get("path"), place);
});

async function read(link, path, place) {
  const row = await reveal(path);
  if (isFolder(row)) {
    if (offCanvas.matches) leave();
    return goTo(row);
  }
  await htmx.ajax("GET", addressOf("file", { path }), { source: link, swap: "none" });
  if (shown()?.path !== path) return;
  if (row) stopAt(row);
  if (link !== row || offCanvas.matches) byId("file-view").focus();
  goToPlace(place);
}

function goToPlace(place) {
  const nameOf = ({ textContent }) => textContent.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "");
  const headings = [...byId("file-view").querySelectorAll(".prose :is(h3, h4, h5, h6)")];
  const heading = headings.find((each) => encodeURI(nameOf(each).replace(/\s/g, "-")) === place);
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  heading.scrollIntoView({ block: "start" });
}

/** Back to the tree, where there is room for one of the two. */
function leave() {
  byId("file-view").replaceChildren();
  goTo(stop);
}

on("click", "[data-files-back]", leave);

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || !areFilesOpen()) return;
  const isInside = panel().contains(event.target) || event.target === document.body;
  if (!isInside || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  const { id, value } = event.target;
  if (id === "files-find" && value) {
    event.target.value = "";
    htmx.trigger(event.target, "again");
  }
  else if (offCanvas.matches && byId("file-view")?.checkVisibility()) leave();
  else close();
});

// Finding

on("keydown", "#files-find", async (field, { key, isComposing }) => {
  if (!["ArrowDown", "Enter"].includes(key) || isComposing) return;
  const words = field.value;
  const search = () => htmx.ajax("GET", addressOf("rows", { q: words }), { source: list(), swap: "none" });
  if (found().dataset.words !== words.trim()) await search(); // what was typed before is not meant
  if (field.value !== words || document.activeElement !== field) return;
  if (key === "ArrowDown") goTo(rows()[0]);
  else if (words.trim()) rows()[0]?.click();
});

// Renaming and deleting

function rename(path) {
  if (isReadOnly() || !path) return;
  const dialog = byId("files-rename");
  const [field, name] = [dialog.querySelector(".field"), path.split("/").at(-1)];
  dialog.querySelector("[name=path]").value = path;
  field.previousElementSibling.textContent = gettext("New name of {path}", { path });
  dialog.querySelector("[role=alert]").textContent = "";
  field.value = name;
  dialog.showModal();
  const stem = isFolder(rowOf(path)) ? name.length : name.lastIndexOf(".");
  field.setSelectionRange(0, stem > 0 ? stem : name.length);
  field.focus();
}

function remove(path, source) {
  if (isReadOnly() || !path) return;
  htmx.ajax("POST", `${panel().dataset.url}delete`, { source, values: { path }, swap: "none" });
}

on("click", "[data-rename-file]", ({ value }) => rename(value));
on("click", "[data-delete-file]", (button) => remove(button.value, button));

// Uploading: one after the other; where a name is taken it is asked what to do

/** Where something new lands: the folder of the row, or the row if it is one. */
const folderAt = (row) => (isFolder(row) ? row : row && parentOf(row));
const target = () => (chosen?.isConnected && folderAt(chosen)?.dataset.path) || "";

function sayTarget() {
  const button = panel().querySelector("[data-upload-files]");
  if (button) button.title = button.dataset.words.replace("{}", target() || button.dataset.root);
}

function upload(files, folder) {
  say("");
  for (const file of files) inTurn("uploads", () => uploadOne(file, folder)).catch(() => sayToo(LOST));
}

async function uploadOne(file, folder, ifTaken = "refuse") {
  const status = byId("files-status");
  status.textContent = gettext("Uploading {name}", { name: file.name });
  const address = addressOf("upload", { folder, name: file.name, if_taken: ifTaken });
  const sent = { method: "POST", body: file, headers: { ...headers(), "Content-Type": "application/octet-stream" } };
  const answer = await fetch(address, sent).finally(() => (status.textContent = ""));
  if (signedOut(answer)) return;
  const text = await answer.text();
  if (text.includes("<hx-partial")) await swap(text);
  else sayToo(text && answer.status < 500 ? text : gettext("This could not be done. Try again in a few seconds."));
  const choice = text.includes("data-if-taken") && (await new Promise((resolve) => (choose = resolve)));
  if (choice) return uploadOne(file, folder, choice);
  await lookAfter(answer.ok);
}

/** Ends the question that stands there. */
let choose = null;

on("click", "[data-if-taken]", (button) => {
  button.closest(".files-taken").remove();
  choose(button.dataset.ifTaken);
});
on("click", "[data-upload-files]", () => byId("files-to-upload").click());
on("change", "#files-to-upload", (field) => {
  upload([...field.files], target());
  field.value = "";
});

// Dropping on a folder. It is for the message box elsewhere, whose own listeners come after these

function point(row) {
  tree().querySelector("[data-drop]")?.removeAttribute("data-drop");
  row?.setAttribute("data-drop", "");
  const folder = row?.dataset.path;
  const words = folder ? gettext("Drop to put into {folder}", { folder }) : gettext("Drop to put here");
  byId("files-drop").textContent = words;
}

function endDrop() {
  if (tree()) point(null);
  delete panel().dataset.dropping;
}

on("dragenter", "#files-panel", (_panel, event) => event.stopPropagation());
on("dragleave", "#files-panel", (_panel, { relatedTarget }) => panel().contains(relatedTarget) || endDrop());
on("dragover", "#files-panel", (_panel, event) => {
  if (!brings(event)) return;
  event.preventDefault();
  event.stopPropagation();
  event.dataTransfer.dropEffect = isReadOnly() ? "none" : "copy";
  if (byId("drop-zone")) byId("drop-zone").hidden = true;
  if (isReadOnly()) return;
  panel().dataset.dropping = "";
  point(folderAt(event.target.closest(".tree-row")));
});
on("drop", "#files-panel", (_panel, event) => {
  if (!brings(event)) return;
  event.preventDefault(); // else the browser opens it
  event.stopPropagation();
  if (isReadOnly()) return;
  const folder = tree().querySelector("[data-drop]")?.dataset.path ?? "";
  endDrop();
  const [files, folders] = dropped(event);
  upload(files, folder);
  for (const name of folders) sayToo(gettext("{name} is a folder: drop the files in it.", { name }));
});
