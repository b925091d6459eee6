// What a person does with the agent's files: taken in, renamed, deleted and brought back.
import { byId, gettext, on, setIcon } from "./dom.js";
import { LOST, inTurn } from "./requests.js";
import {
  ask,
  documentOf,
  folderOf,
  goTo,
  goToLater,
  panel,
  query,
  refresh,
  reveal,
  rowOf,
  rows,
  say,
  sayToo,
} from "./workspace_tree.js";

const UNDO = 10_000; // ms

const isReadOnly = () => !panel() || "readOnly" in panel().dataset;

/** Where something new lands: the folder of the row, or the row if it is one. */
export const folderAt = (row) => {
  if (!row?.dataset.path) return row?.dataset.folder ?? "";
  return row.dataset.kind === "folder" ? row.dataset.path : folderOf(row.dataset.path);
};

const changed = (detail) => document.dispatchEvent(new CustomEvent("planside:file-changed", { detail }));

// Taking in

/** One after the other; where a name is taken it is asked what to do. */
export function upload(files, folder) {
  if (isReadOnly()) return;
  say("");
  for (const file of files) inTurn("uploads", () => uploadOne(file, folder)).catch(() => sayToo(LOST));
}

async function uploadOne(file, folder, ifTaken = "refuse") {
  const status = byId("files-status");
  status.textContent = gettext("Uploading {name}", { name: file.name });
  const address = `upload?${query({ folder, name: file.name, if_taken: ifTaken })}`;
  const sent = { method: "POST", body: file, headers: { "Content-Type": "application/octet-stream" } };
  const answer = await ask(address, sent, { takes: [409], adds: true });
  status.textContent = "";
  if (answer?.status === 409) return askWhatToDo(await answer.text(), file, folder);
  const stored = await documentOf(answer);
  if (!stored) return null;
  const { path, deleted, said } = stored;
  status.textContent = gettext("Uploaded {name}", { name: file.name });
  await refresh(folder);
  const row = await reveal(path);
  if (row && !panel().querySelector(".files-taken")) row.scrollIntoView({ block: "nearest" });
  changed(path);
  if (deleted) offerUndo(said, deleted, path, "upload");
  return path;
}

async function askWhatToDo(sentence, file, folder) {
  const note = byId("files-taken-form").content.firstElementChild.cloneNode(true);
  note.querySelector("span").textContent = sentence;
  note.ariaLabel = sentence;
  byId("files-taken").append(note);
  note.querySelector("[data-if-taken=keep_both]").focus();
  const choice = await new Promise((resolve) => {
    note.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-if-taken]");
      if (button) resolve(button.dataset.ifTaken);
    });
  });
  const goOn = goToLater();
  note.remove();
  const path = choice && (await uploadOne(file, folder, choice));
  goOn((path && rowOf(path)) || rows().find((row) => row.tabIndex === 0));
}

on("click", "[data-upload-files]", () => byId("files-to-upload").click());

// Renaming, in the row, or where else the name of the file stands

export function rename(row, path = row.dataset.path) {
  if (isReadOnly() || !path || row.querySelector("input")) return;
  const name = path.split("/").at(-1);
  const words = row.querySelector(".truncate");
  const field = document.createElement("input");
  const ariaLabel = gettext("New name of {path}", { path });
  Object.assign(field, { className: "field", value: name, maxLength: 255, ariaLabel });
  words.hidden = true;
  words.after(field);
  field.focus();
  const stem = row.dataset.kind === "folder" ? name.length : name.lastIndexOf(".");
  field.setSelectionRange(0, stem > 0 ? stem : name.length);
  const end = () => {
    if (field.ariaInvalid) say("");
    words.hidden = false;
    field.removeEventListener("blur", end);
    field.remove();
  };
  field.addEventListener("blur", end);
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (!["Enter", "Escape"].includes(event.key) || event.isComposing) return;
    event.preventDefault();
    const wanted = field.value.trim();
    if (event.key === "Enter" && wanted.includes("/")) return refuse(field);
    end();
    if (row.matches(".tree-row")) goTo(row);
    else row.querySelector("[data-rename-file]").focus();
    if (event.key === "Enter" && wanted && wanted !== name) post(path, wanted);
  });
}

/** The field stays, with the reason above the tree. */
function refuse(field) {
  field.ariaInvalid = "true";
  field.setAttribute("aria-describedby", "files-alert");
  say(gettext("A name cannot have a / in it."));
}

async function post(path, name) {
  const goOn = goToLater();
  const answer = await ask("rename", { method: "POST", body: new URLSearchParams({ path, name }) });
  const renamed = await documentOf(answer);
  if (!renamed) return;
  const { path: now } = renamed;
  await refresh(folderOf(path));
  goOn(await reveal(now));
  changed({ from: path, to: now });
}

// Deleting, and bringing back

export async function remove(path) {
  if (isReadOnly() || !path) return;
  const answer = await ask("delete", { method: "POST", body: new URLSearchParams({ path }) });
  const gone = await documentOf(answer);
  if (!gone) return;
  await refresh(folderOf(path));
  changed({ from: path, to: "" });
  offerUndo(gone.said, gone.deleted, path);
}

let fading = 0;

/** For what was deleted, or replaced, at the path. */
function offerUndo(said, deleted, path, icon = "trash") {
  const toast = byId("files-toast-form").content.firstElementChild.cloneNode(true);
  setIcon(toast, icon);
  toast.querySelector("span").textContent = said;
  byId("files-toast").replaceChildren(toast);
  toast.querySelector("button").addEventListener("click", () => undo(toast, deleted, path));
  clearTimeout(fading);
  fading = setTimeout(function fade() {
    if (toast.matches(":hover, :focus-within")) fading = setTimeout(fade, UNDO);
    else toast.remove();
  }, UNDO);
}

/** What gives way to it can be brought back in its turn. */
async function undo(toast, deleted, was) {
  const goOn = goToLater();
  const answer = await ask("restore", { method: "POST", body: new URLSearchParams({ deleted }) });
  toast.remove();
  byId("files-status").textContent = "";
  const restored = await documentOf(answer);
  if (!restored) return;
  const { path, deleted: replaced, said } = restored;
  await refresh(folderOf(path));
  goOn(await reveal(path));
  changed(replaced ? path : { back: was, to: path });
  if (replaced) offerUndo(said, replaced, path, "undo");
}

// Dropping on a folder

let target = null;

function point(row) {
  if (target !== row) target?.removeAttribute("data-drop");
  target = row;
  row?.setAttribute("data-drop", "");
  const folder = folderAt(row);
  const words = folder ? gettext("Drop to put into {folder}", { folder }) : gettext("Drop to put here");
  byId("files-drop").textContent = words;
}

/** The row of the folder that would take it; nothing for the outermost one. */
const folderRow = (element) => {
  const row = element.closest?.(".tree-row");
  return row ? rowOf(folderAt(row)) : null;
};

export function takeDrops() {
  const brings = ({ dataTransfer }) => dataTransfer?.types.includes("Files");
  panel().addEventListener("dragover", (event) => {
    event.stopPropagation();
    if (!brings(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = isReadOnly() ? "none" : "copy";
    if (byId("drop-zone")) byId("drop-zone").hidden = true;
    if (isReadOnly()) return;
    panel().dataset.dropping = "";
    point(folderRow(event.target));
  });
  panel().addEventListener("dragenter", (event) => event.stopPropagation());
  panel().addEventListener("dragleave", ({ relatedTarget }) => panel().contains(relatedTarget) || endDrop());
  panel().addEventListener("drop", (event) => {
    event.stopPropagation();
    if (!brings(event)) return;
    event.preventDefault(); // else the browser opens it
    if (isReadOnly()) return;
    const folder = target?.dataset.path ?? "";
    endDrop();
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.());
    const files = [...event.dataTransfer.files];
    const folders = files.filter((_file, index) => entries[index]?.isDirectory);
    upload(
      files.filter((file) => !folders.includes(file)),
      folder,
    );
    for (const { name } of folders) sayToo(gettext("{name} is a folder: drop the files in it.", { name }));
  });
}

function endDrop() {
  point(null);
  delete panel().dataset.dropping;
}
