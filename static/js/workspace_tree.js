// The tree of the agent's files: its rows, in one flat list, and moving among them. A folder's rows are
// fetched when it is unfolded, and again when the folder has changed.
import { byId, gettext } from "./dom.js";
import { LOST, headers, signedOut } from "./requests.js";

const PATIENCE = 20_000; // ms for what comes by itself
const TYPED_FOR = 700; // ms after which letters begin a new word

/** What stands for the content of each unfolded folder as it is shown. */
export const stamps = new Map();

export const panel = () => byId("files-panel");
export const tree = () => byId("file-tree");
export const rows = () => [...tree().querySelectorAll(".tree-row")];
export const rowOf = (path) => rows().find((row) => row.dataset.path === path && !("more" in row.dataset));
export const folderOf = (path) => path.split("/").slice(0, -1).join("/");
const levelOf = (row) => Number(row.ariaLevel);

export function say(sentence) {
  byId("files-alert").textContent = sentence;
}

/** Beside what is said already. */
export function sayToo(sentence) {
  const said = byId("files-alert").textContent.split("\n").filter(Boolean);
  if (!said.includes(sentence)) say([...said, sentence].join("\n"));
}

/** The answer, or nothing once it has been said why there is none. What is expected to be refused has a
 * status in `takes`. What a person does ends what was said before, unless it `adds` to that; what comes
 * by itself `isQuiet`: it is asked for again. */
export async function ask(address, options = {}, { takes = [], adds = false, isQuiet = false } = {}) {
  if (!adds && !isQuiet) say("");
  const tell = isQuiet ? () => {} : sayToo;
  const url = panel().dataset.url + address;
  const signal = isQuiet ? AbortSignal.timeout(PATIENCE) : null;
  const sent = { signal, ...options, headers: { ...headers(), ...options.headers } };
  const answer = await fetch(url, sent).catch(() => null);
  if (!answer) tell(LOST);
  if (!answer || signedOut(answer)) return null;
  if (answer.ok || takes.includes(answer.status)) return answer;
  const isSentence = (answer.headers.get("Content-Type") ?? "").startsWith("text/plain");
  const refusal = isSentence && (await answer.text().catch(() => LOST));
  tell(refusal || gettext("This could not be done. Try again in a few seconds."));
  return null;
}

/** What an answer of `ask` holds, or nothing once it has been said that it was cut off. */
export async function textOf(answer, { isQuiet = false } = {}) {
  const text = await answer?.text().catch(() => null);
  if (answer && text === null && !isQuiet) sayToo(LOST);
  return text;
}

export async function documentOf(answer) {
  const text = await textOf(answer);
  return text ? JSON.parse(text) : null;
}

export const query = (values) => String(new URLSearchParams(values));

// Rows

/** The rows of a folder from the server: {rows, stamp, count}. */
export async function fetchRows(values, how = {}) {
  const answer = await ask(`rows?${query(values)}`, {}, how);
  const text = await textOf(answer, how);
  if (!text) return null;
  const page = document.createElement("template");
  page.innerHTML = text;
  const { stamp, count } = page.content.querySelector("template").dataset;
  page.content.querySelector("template").remove();
  return { parts: [...page.content.children], stamp, count: Number(count) };
}

/** What stands below a row: the rows behind it that are deeper. */
export function below(row) {
  const found = [];
  for (let next = row.nextElementSibling; next && levelOf(next) > levelOf(row); next = next.nextElementSibling) {
    found.push(next);
  }
  return found;
}

export async function unfold(row, how = {}) {
  if (row.ariaExpanded !== "false") return;
  row.ariaBusy = "true";
  const { path } = row.dataset;
  const found = await fetchRows({ path, level: levelOf(row) + 1 }, how);
  row.ariaBusy = null;
  const drawn = row.isConnected ? row : rowOf(path); // anew meanwhile
  if (!found || drawn?.ariaExpanded !== "false") return;
  drawn.ariaExpanded = "true";
  stamps.set(path, found.stamp);
  drawn.after(...found.parts);
}

export function fold(row) {
  row.ariaExpanded = "false";
  const gone = below(row);
  if (gone.some((each) => each.tabIndex === 0)) stopAt(row);
  for (const each of gone) {
    stamps.delete(each.dataset.path);
    each.remove();
  }
  stamps.delete(row.dataset.path);
}

/** Unfold what is around a file, so that it has a row. */
export async function reveal(path) {
  const parts = path.split("/");
  for (let depth = 1; depth < parts.length; depth += 1) {
    const row = rowOf(parts.slice(0, depth).join("/"));
    if (!row) return null;
    await unfold(row, { adds: true });
  }
  return rowOf(path);
}

let asks = 0;
/** By folder, the number of the drawing that is there: one that was asked for earlier comes too late. */
const drawn = new Map();

/** Draw a folder anew; what is unfolded in it, and the row with the focus, stay. */
export async function refresh(path) {
  if ("found" in tree().dataset) return document.dispatchEvent(new CustomEvent("planside:find-again"));
  const asked = ownRows(path);
  if (!asked) return;
  const mine = (asks += 1);
  const wanted = { path, level: asked.level, most: Math.max(500, asked.own.length) };
  const found = await fetchRows(wanted, { isQuiet: true });
  // As it stands now: others may have drawn it, or folded it, meanwhile.
  const now = ownRows(path);
  if (!found || !now || "found" in tree().dataset || mine < (drawn.get(path) ?? 0)) return;
  drawn.set(path, mine);
  replaceRows(path, now, found);
}

/** The rows of a folder, and all that stand below it; nothing where it is not unfolded. */
function ownRows(path) {
  const folder = path ? rowOf(path) : null;
  if (path && folder?.ariaExpanded !== "true") return null;
  const level = folder ? levelOf(folder) + 1 : 1;
  const all = folder ? below(folder) : [...tree().children];
  return { folder, level, all, own: all.filter((row) => levelOf(row) === level && !("more" in row.dataset)) };
}

function replaceRows(path, { folder, all: old, own }, found) {
  const isRenaming = old.some((row) => row.querySelector("input"));
  stamps.set(path, isRenaming ? "" : found.stamp); // to be drawn once that is over
  if (isRenaming) return;
  const held = rows().find((row) => row.tabIndex === 0);
  const hadFocus = held?.contains(document.activeElement);
  const at = own.indexOf(held);
  const kept = new Map(own.map((row) => [row.dataset.path, row]));
  const fresh = found.parts.flatMap((part) => withWhatIsOpen(part, kept.get(part.dataset.path)));
  for (const row of old) row.remove();
  if (folder) folder.after(...fresh);
  else tree().replaceChildren(...fresh);
  const now = rowOf(held?.dataset.path) ?? found.parts[Math.min(Math.max(at, 0), found.parts.length - 1)] ?? folder;
  stopAt(now ?? rows()[0]);
  if (hadFocus) (now ?? rows()[0] ?? byId("files-find")).focus();
  showEmpty(found.count, path);
  const open = new Set(rows().map((row) => row.ariaExpanded === "true" && row.dataset.path));
  for (const each of stamps.keys()) if (each && !open.has(each)) stamps.delete(each);
}

/** A row from the server, with the state and the rows below it of the one that it replaces. */
function withWhatIsOpen(row, old) {
  if (!old) return [row];
  row.ariaSelected = old.ariaSelected;
  if (old.ariaExpanded !== "true" || row.ariaExpanded === null) return [row];
  row.ariaExpanded = "true";
  return [row, ...below(old)];
}

export function showEmpty(count, path = "") {
  if (!path) byId("files-empty").hidden = count > 0;
}

/** In place of "Show 500 more". */
export async function showMore(row) {
  const { more, folder } = row.dataset;
  const goOn = goToLater();
  const found = await fetchRows({ path: folder, level: row.ariaLevel, start: more });
  if (!found) return;
  row.replaceWith(...found.parts);
  goOn(found.parts[0]);
}

// Moving

/** The one row that Tab leads to. */
export function stopAt(row) {
  for (const each of tree().querySelectorAll("[tabindex='0']")) each.tabIndex = -1;
  if (row) row.tabIndex = 0;
}

export function goTo(row) {
  if (!row) return;
  stopAt(row);
  row.focus();
}

let presses = 0;
addEventListener("keydown", () => (presses += 1), true);
addEventListener("pointerdown", () => (presses += 1), true);

/** To go to a row once an answer is there; not if the person has gone on meanwhile, whose next key is
 *  for the place that they chose. */
export function goToLater() {
  const before = presses;
  return (row) => presses === before && goTo(row);
}

const parentOf = (row) => {
  let each = row.previousElementSibling;
  while (each && levelOf(each) >= levelOf(row)) each = each.previousElementSibling;
  return each;
};

/** Keys that move: what each does with the row that has the focus. */
export const moves = {
  ArrowUp: (row, all) => goTo(all[all.indexOf(row) - 1]),
  ArrowDown: (row, all) => goTo(all[all.indexOf(row) + 1]),
  Home: (_row, all) => goTo(all[0]),
  End: (_row, all) => goTo(all.at(-1)),
  ArrowRight: (row, all) => {
    if (row.ariaExpanded === "false") unfold(row);
    else if (row.ariaExpanded === "true" && below(row).length) goTo(all[all.indexOf(row) + 1]);
  },
  ArrowLeft: (row) => (row.ariaExpanded === "true" ? fold(row) : goTo(parentOf(row))),
};

let typed = "";
let typedAt = 0;

/** To the next row that begins with what is typed. */
export function findTyped(row, letter) {
  typed = Date.now() - typedAt > TYPED_FOR ? letter : typed + letter;
  typedAt = Date.now();
  const all = rows();
  const from = all.indexOf(row) + (typed.length === 1 ? 1 : 0);
  const order = [...all.slice(from), ...all.slice(0, from)];
  goTo(order.find((each) => each.textContent.trim().toLowerCase().startsWith(typed.toLowerCase())));
}
