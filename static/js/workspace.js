// The panel of the agent's files: opened and closed, the file that is read, and what has changed
// meanwhile, by whomever.
import { areFilesOpen, byId, gettext, isDrawerOpen, offCanvas, on } from "./dom.js";
import { headers, poll } from "./requests.js";
import { folderAt, remove, rename, takeDrops, upload } from "./workspace_changes.js";
import {
  ask,
  fetchRows,
  findTyped,
  fold,
  goTo,
  moves,
  panel,
  query,
  refresh,
  reveal,
  rowOf,
  rows,
  say,
  showEmpty,
  showMore,
  stamps,
  stopAt,
  textOf,
  tree,
  unfold,
} from "./workspace_tree.js";

const EVERY = 2500; // ms
const MOST = 60; // folders that are asked about at a time
const SAID_FOR = 20_000; // ms
const SOON = 200; // ms after the last letter

const app = byId("app");
/** The file that is read: {path, stamp, form}. */
let shown = null;
/** What was read until it went: {path, form}. It is shown again once it is back. */
let missed = null;
let asked = 0; // how often a person has asked for a file
let opener = null;
let found = null; // the tree's own rows, while others stand there that were found

let hasBegun = false;

/** With each panel: one that was refused is replaced. */
export function begin() {
  const start = byId("file-tree")?.querySelector("template");
  if (start) {
    stamps.set("", start.dataset.stamp);
    showEmpty(Number(start.dataset.count));
    start.remove();
    stopAt(rows()[0]);
    takeDrops();
    new MutationObserver(() => rowOf(byId("folder-acts").dataset.path) || offerFolder()).observe(tree(), {
      childList: true,
    });
  }
  if (hasBegun) return;
  hasBegun = true;
  const lookIfSeen = () => areFilesOpen() && !document.hidden && tree() && look();
  setInterval(lookIfSeen, EVERY);
  document.addEventListener("visibilitychange", lookIfSeen);
}

export function open() {
  opener = document.activeElement;
  app.dataset.files = "open";
  tell();
  const row = tree() && rows().find((each) => each.tabIndex === 0);
  (row ?? byId("files-find") ?? panel().querySelector("[data-close-files]")).focus();
  if (tree()) look();
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

// The file that is read

/** What comes by itself, `isNews` or `isQuiet`, gives way to all that a person asks for. */
async function read(path, { form, isNews = false, isQuiet = isNews, isLinked = false } = {}) {
  const view = byId("file-view");
  const before = shown;
  if (!isQuiet) asked += 1;
  const mine = asked;
  const wanted = form ?? (shown?.path === path ? shown.form : "");
  const takes = isNews || isLinked ? [404] : [];
  const answer = await ask(`file?${query({ path, as: wanted })}`, {}, { takes, isQuiet });
  const text = await textOf(answer, { isQuiet });
  const isLate = () => shown !== before || view.querySelector(".file-view-head > input");
  if (!text || mine !== asked || (isQuiet && isLate())) return;
  if (answer.status === 404) return void (isLinked && sayChanged(text));
  const { scrollTop = 0 } = view.querySelector(".file-view-content") ?? {};
  const isSame = shown?.path === path;
  const hadFocus = view.contains(document.activeElement);
  view.innerHTML = text;
  if (hadFocus) view.focus({ preventScroll: true });
  const { stamp } = view.querySelector(".file-view-bar").dataset;
  shown = { path, stamp, form: wanted };
  missed = null;
  for (const row of rows()) row.ariaSelected = String(row.dataset.path === path);
  const content = view.querySelector(".file-view-content");
  if (isSame && content) content.scrollTop = scrollTop;
  if (isNews) sayChanged(gettext("Changed just now"));
}

function sayChanged(words) {
  const place = byId("file-view-changed");
  place.textContent = words;
  setTimeout(() => (place.textContent = ""), SAID_FOR);
}

// A page's links to other files, and to places of a page by the names of headings

on("click", "#file-view .prose a[href]", (link, event) => {
  const place = link.hash.slice(1);
  const isHere = link.getAttribute("href").startsWith("#");
  const isFile = link.pathname === `${panel().dataset.url}content`;
  if ((isHere ? byId(place) : !isFile) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (isHere) goToPlace(place);
  else follow(new URLSearchParams(link.search).get("path"), place);
});

async function follow(path, place) {
  const row = await reveal(path);
  if (row?.dataset.kind === "folder") {
    front("tree");
    return goTo(row);
  }
  await read(path, { isLinked: true });
  if (shown?.path !== path) return;
  stopAt(row ?? rows().find((each) => each.tabIndex === 0));
  byId("file-view").focus();
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

/** Nothing is read any more. */
function leave(words = gettext("Choose a file to read it.")) {
  missed = shown;
  shown = null;
  const note = document.createElement("p");
  note.classList.add("muted", "file-view-none");
  note.textContent = words;
  byId("file-view").replaceChildren(note);
  for (const row of rows()) row.ariaSelected = "false";
  front("tree");
}

/** Where there is room for one of the two. */
const front = (part) => (panel().querySelector(".files-body").dataset.front = part);

/** Whether it is this one, or in this folder. */
const isIn = (path, one) => one !== undefined && (path === one || path.startsWith(`${one}/`));

async function activate(row) {
  stopAt(row);
  offerFolder(row);
  if ("more" in row.dataset) return showMore(row);
  if (row.dataset.kind === "folder") return row.ariaExpanded === "true" ? fold(row) : unfold(row);
  if (row.dataset.gone) return say(gettext("{path} was removed by this plan.", { path: row.dataset.gone }));
  if (!row.dataset.path) return say(gettext("Its name is not UTF-8, so it cannot be opened here."));
  await read(row.dataset.path);
  if (shown?.path !== row.dataset.path) return;
  front("file");
  if (offCanvas.matches) byId("file-view").focus();
}

on("change", "#file-view [name=file-form]", async ({ value }) => {
  await read(shown.path, { form: value });
  byId("file-view").querySelector(":checked")?.focus();
});

function backToTree() {
  front("tree");
  goTo(rowOf(shown?.path) ?? rows()[0]);
}

on("click", "[data-files-back]", backToTree);
/** In the head of the view where it has no row: others were found, or there are more than are shown. */
on("click", "[data-rename-file]", async () => {
  const { path } = shown;
  const row = (await reveal(path)) ?? rowOf(path);
  if (row) front("tree");
  if (row) rename(row);
  else if (shown?.path === path) rename(byId("file-view").querySelector(".file-view-head"), path);
});
on("click", "[data-delete-file]", async () => {
  await remove(shown.path);
  goTo(rows().find((each) => each.tabIndex === 0));
});

document.addEventListener("planside:file-changed", ({ detail }) => {
  const { from, back, to } = detail;
  if (isIn(byId("folder-acts").dataset.path ?? "", from)) offerFolder();
  if (!shown && missed && isIn(missed.path, back)) read(to + missed.path.slice(back.length), { form: missed.form });
  if (!shown) return;
  if (detail === shown.path) read(detail, { isNews: true });
  if (!isIn(shown.path, from)) return;
  if (to) read(to + shown.path.slice(from.length), { form: shown.form });
  else leave();
});

// The folder that was pressed last: what the view of a file offers stands below the tree for it

function offerFolder(row) {
  const acts = byId("folder-acts");
  const path = row?.dataset.kind === "folder" ? row.dataset.path : "";
  acts.hidden = !path || "readOnly" in panel().dataset;
  acts.dataset.path = path ?? "";
  acts.querySelector("span").textContent = row?.querySelector(".truncate").textContent ?? "";
  for (const button of acts.querySelectorAll("button")) {
    button.ariaLabel = button.dataset.words.replace("{path}", path);
    button.title = button.ariaLabel;
  }
}

on("click", "#folder-acts [data-rename-folder]", () => rename(rowOf(byId("folder-acts").dataset.path)));
on("click", "#folder-acts [data-delete-folder]", async () => {
  await remove(byId("folder-acts").dataset.path);
  goTo(rows().find((each) => each.tabIndex === 0));
});

// The tree

on("focusin", "#file-tree .tree-row", stopAt);
on("click", "#file-tree .tree-row", (row, { target }) => {
  if (target.closest("input")) return;
  goTo(row);
  activate(row);
});

on("keydown", "#file-tree .tree-row", (row, event) => {
  const { key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
  const act = { Enter: activate, " ": activate, F2: rename, Delete: () => remove(row.dataset.path) }[key];
  if (act) act(row);
  else if (moves[key]) moves[key](row, rows());
  else if (key.length === 1) findTyped(row, key);
  else return;
  event.preventDefault();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || !areFilesOpen()) return;
  const isInside = panel().contains(event.target) || event.target === document.body;
  if (!isInside || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  const isFile = panel().querySelector(".files-body")?.dataset.front === "file";
  if (event.target.id === "files-find" && event.target.value) find("");
  else if (isFile && offCanvas.matches) backToTree();
  else close();
});

// Finding

let soon = 0;
let finding = Promise.resolve(); // what was typed last

on("input", "#files-find", () => {
  clearTimeout(soon);
  soon = setTimeout(findTypedWords, SOON);
});

function findTypedWords() {
  clearTimeout(soon);
  soon = 0;
  finding = find(byId("files-find").value);
}

on("keydown", "#files-find", async (field, event) => {
  if (!["ArrowDown", "Enter"].includes(event.key) || event.isComposing) return;
  event.preventDefault();
  const words = field.value;
  if (soon) findTypedWords();
  await finding; // the rows of what was typed before are not meant
  if (field.value !== words || document.activeElement !== field) return;
  const [first] = rows();
  if (event.key === "ArrowDown") goTo(first);
  else if (first && words.trim()) activate(first);
});

async function find(words, how = {}) {
  const field = byId("files-find");
  if (field.value !== words) field.value = words;
  if (!words.trim()) {
    if (found) tree().replaceChildren(...found);
    found = null;
    delete tree().dataset.found;
    byId("files-none-found").hidden = true;
    return look();
  }
  const answer = await fetchRows({ q: words }, how);
  if (!answer || field.value !== words) return;
  found ??= [...tree().children];
  tree().dataset.found = "";
  tree().replaceChildren(...answer.parts);
  stopAt(rows()[0]);
  byId("files-none-found").hidden = answer.count > 0;
}

document.addEventListener("planside:find-again", async () => {
  const hadFocus = tree().contains(document.activeElement);
  await find(byId("files-find").value, { isQuiet: true });
  if (hadFocus) (rows()[0] ?? byId("files-find")).focus();
});

// What has changed since

let isLooking = false;

/** Not before the last look has ended. */
async function look() {
  if (isLooking) return;
  isLooking = true;
  await compare().finally(() => (isLooking = false));
}

let from = 0;

/** Of many, others each time. */
function someOf(folders) {
  if (folders.length <= MOST) return folders;
  const start = from % folders.length;
  from = start + MOST;
  return [...folders.slice(start), ...folders.slice(0, start)].slice(0, MOST);
}

async function compare() {
  const [wasFound, wasMissed] = [found, !shown];
  const folders = found ? [] : [...stamps.keys()];
  const one = shown ?? missed;
  const paths = [...(one ? [one.path] : []), ...someOf(folders)];
  const address = `${panel().dataset.url}stamps?${new URLSearchParams(paths.map((path) => ["path", path]))}`;
  const answer = await poll(address, headers()).catch(() => null);
  const { stamps: now, marks } = answer?.ok ? await answer.json().catch(() => ({})) : {};
  if (!now) return;
  // Marks that came while others stood in the place of the tree are drawn by the next look.
  const isMarkedAnew = !wasFound && !found && byId("tree-key").dataset.marks !== marks;
  if (isMarkedAnew) byId("tree-key").dataset.marks = marks;
  const known = new Map(paths.map((path, index) => [path, now[index]]));
  if (shown && known.has(shown.path)) await lookAtFile(known.get(shown.path));
  else if (wasMissed && !shown && known.get(missed?.path)) await read(missed.path, { form: missed.form, isNews: true });
  for (const path of folders) {
    const isOther = known.has(path) && stamps.get(path) !== known.get(path);
    if (stamps.has(path) && (isOther || isMarkedAnew)) await refresh(path);
  }
  if (isMarkedAnew) byId("tree-key").hidden = !tree().querySelector(".mark");
  if (isMarkedAnew && shown) await read(shown.path, { isQuiet: true });
}

async function lookAtFile(stamp) {
  if (stamp === shown.stamp) return;
  if (stamp) await read(shown.path, { isNews: true });
  else leave(gettext("{path} is gone.", { path: shown.path }));
}

// Uploading by the button: into the folder of the row that Tab leads to

on("change", "#files-to-upload", (field) => {
  upload([...field.files], folderAt(rows().find((row) => row.tabIndex === 0)));
  field.value = "";
});
