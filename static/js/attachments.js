// Files for the next message: chosen, pasted or dropped, uploaded one by one and shown as tiles.
//
// The server draws the tiles of what has landed; here are those that are still on their way. What a
// message has taken along is hidden until the server has taken it out of the message box.
import { always, atStart, byId, gettext, listed, locale, ngettext, on } from "./dom.js";
import { AWAY, headers, send, show, shown, signedOut } from "./requests.js";

const MOST = 10;
const LARGEST = 20_000_000; // bytes
const UNDO = 10_000; // ms
const KILOBYTE = 1000;
const MEGABYTE = 1_000_000;
const GIGABYTE = 1_000_000_000;
const ALMOST_A_MEGABYTE = 999_500; // from here on kB would be rounded to 1000
const ALMOST_A_GIGABYTE = 999_950_000;

const field = byId("files");
/** What is on its way, in order: {file, tile, request, isTaken, isFailed, id, ending}. */
let uploads = [];
/** Ids of tiles that a message has taken along, or that were removed a moment ago. */
const hidden = new Set();

const tiles = () => [...document.querySelectorAll("#attachments [data-attachment]")];
const idOf = (tile) => Number(tile.dataset.attachment);
const isUnderWay = ({ isFailed, id }) => !isFailed && !id;

always(hide);

function hide() {
  for (const tile of tiles()) tile.hidden = hidden.has(idOf(tile));
  const count = uploads.filter((each) => isUnderWay(each) && !each.isTaken).length;
  const hint = byId("uploading-hint");
  if (hint) hint.textContent = whenUp(count);
}

export const whenUp = (n) => ngettext("Sends when {n} file is up", "Sends when {n} files are up", { n: n || 1 });

export function refuse(sentence) {
  const note = byId("refusal-form").content.firstElementChild.cloneNode(true);
  note.querySelector("span").textContent = sentence;
  byId("refused-files").append(note);
}

/** What was said of the files of a message goes with that. */
export const dismissAll = () => byId("refused-files").replaceChildren();

on("click", "[data-dismiss]", (button) => {
  const note = button.closest(".note");
  const next = note.nextElementSibling ?? note.previousElementSibling;
  note.remove();
  (next?.querySelector("[data-dismiss]") ?? byId("say")).focus();
});

atStart(() => {
  if (!field) return;
  field.addEventListener("change", () => {
    attach([...field.files]);
    field.value = "";
    byId("say").focus();
  });
});

on("click", "#attach", () => field.click());

// Pasting and dropping

document.addEventListener("paste", (event) => {
  const { files, types } = event.clipboardData;
  const isElsewhere = event.target.closest?.("input, textarea:not(#say), dialog");
  if (!field || !files.length || isElsewhere || types.includes("text/plain")) return;
  event.preventDefault();
  attach([...files]);
});

export const brings = (event) => field && event.dataTransfer?.types.includes("Files");
const zone = byId("drop-zone");

addEventListener("dragenter", (event) => {
  if (brings(event)) zone.hidden = false;
});
addEventListener("dragover", (event) => {
  if (!brings(event)) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = "copy";
});
addEventListener("dragleave", (event) => {
  if (brings(event) && !event.relatedTarget) zone.hidden = true;
});
addEventListener("drop", (event) => {
  if (!brings(event)) return;
  event.preventDefault();
  zone.hidden = true;
  attach(...dropped(event));
  byId("say").focus();
});

/** The files, and the names of folders. */
export function dropped({ dataTransfer }) {
  const entries = [...dataTransfer.items].map((item) => item.webkitGetAsEntry?.());
  const files = [...dataTransfer.files];
  const folders = files.filter((_file, index) => entries[index]?.isDirectory);
  return [files.filter((file) => !folders.includes(file)), folders.map(({ name }) => name)];
}

// Sizes

const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const rounded = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });

/** As format_size of console/language.py says it: 38 kB, 12.4 MB. */
function inWords(size) {
  if (size < KILOBYTE) return ngettext("{n} byte", "{n} bytes", { n: size });
  if (size < ALMOST_A_MEGABYTE) return gettext("{size} kB", { size: whole.format(size / KILOBYTE) });
  if (size < ALMOST_A_GIGABYTE) return gettext("{size} MB", { size: rounded.format(size / MEGABYTE) });
  return gettext("{size} GB", { size: rounded.format(size / GIGABYTE) });
}

/** What has gone up of a file of this size, in the unit of the size. */
function partInWords(loaded, size) {
  let part = whole.format(loaded);
  if (size >= ALMOST_A_MEGABYTE) part = rounded.format(loaded / MEGABYTE);
  else if (size >= KILOBYTE) part = whole.format(loaded / KILOBYTE);
  return gettext("{part} of {whole}", { part, whole: inWords(size) });
}

// Taking files

/** Those that can be attached begin to upload; each of the others is named in a sentence. */
async function attach(files, folders = []) {
  for (const name of folders) refuse(gettext("{name} is a folder; attach its files.", { name }));
  const most = inWords(LARGEST);
  const fitting = files.filter(({ name, size }) => {
    if (!size) refuse(gettext("{name} is empty.", { name }));
    if (size > LARGEST) refuse(gettext("{name} has {size}; {most} is the most.", { name, size: inWords(size), most }));
    return size && size <= LARGEST;
  });
  // The place of one that was removed is free: what takes it ends the way back.
  if (removed && tiles().length + uploads.length + fitting.length > MOST) await removeForGood();
  const there = tiles().length + uploads.filter(({ id }) => !id).length;
  const left = fitting.splice(Math.max(0, MOST - there));
  if (left.length) {
    const names = listed(left.map(({ name }) => name));
    const values = { n: left.length, count: there + fitting.length + left.length, most: MOST, names };
    refuse(
      ngettext(
        "{count} files; {most} is the most. {names} was left out.",
        "{count} files; {most} is the most. {names} were left out.",
        values,
      ),
    );
  }
  for (const file of fitting) add(file);
}

function add(file) {
  const tile = byId("upload-form").content.firstElementChild.cloneNode(true);
  const [name, size] = tile.querySelectorAll(".attachment-words > *");
  name.textContent = name.title = file.name;
  size.textContent = partInWords(0, file.size);
  tile.querySelector("progress").ariaLabel = gettext("Uploading {name}", { name: file.name });
  nameButton(tile, gettext("Stop uploading {name}", { name: file.name }));
  byId("uploads").append(tile);
  const upload = { file, tile, isTaken: false, isFailed: false, id: 0 };
  upload.ended = new Promise((resolve) => (upload.end = resolve));
  uploads.push(upload);
  hide();
  start();
}

function nameButton(tile, words) {
  const button = tile.querySelector("[data-stop-upload]");
  button.ariaLabel = button.title = words;
}

// Uploading

/** One after the other, so that they stand in the order in which they were chosen. */
function start() {
  const [first] = uploads.filter(isUnderWay);
  if (first && !first.request) post(first);
}

function post(upload) {
  const { file, tile } = upload;
  const request = new XMLHttpRequest();
  upload.request = request;
  request.open("POST", `${field.dataset.attachUrl}?${new URLSearchParams({ name: file.name })}`);
  for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.upload.addEventListener("progress", ({ loaded }) => {
    const part = Math.min(loaded, file.size);
    tile.querySelector("progress").value = part / file.size;
    tile.querySelector(".meta").textContent = partInWords(part, file.size);
  });
  request.addEventListener("load", () => answered(upload));
  request.addEventListener("error", () => fail(upload, ""));
  request.send(file);
}

async function answered(upload) {
  const { request, tile } = upload;
  const response = {
    headers: {
      get: (name) => request.getResponseHeader(name),
      has: (name) => request.getResponseHeader(name) !== null,
    },
  };
  if (signedOut(response)) return;
  const { status, responseText } = request;
  const isSentence = (request.getResponseHeader("Content-Type") ?? "").startsWith("text/plain");
  if (status === 200) {
    upload.id = Number(request.getResponseHeader("Planside-Attachment"));
    if (upload.isTaken) hidden.add(upload.id);
    if (responseText) refuse(responseText);
    await shown(response);
    drop(upload, upload.id);
  } else if ([404, 409, 413, 422].includes(status)) {
    const { name } = upload.file;
    refuse(isSentence ? named(name, responseText) : gettext("{name} cannot be uploaded.", { name }));
    drop(upload, 0);
  } else fail(upload, isSentence ? responseText : status === 503 ? AWAY : "");
  if (!tile.isConnected) start();
}

/** The sentence names the file, unless it does so already. */
function named(name, sentence) {
  return sentence.includes(name) ? sentence : gettext("{name}: {sentence}", { name, sentence });
}

function fail(upload, sentence) {
  const { tile, file } = upload;
  upload.isFailed = true;
  upload.request = null;
  tile.removeAttribute("data-uploading");
  tile.dataset.failed = "";
  tile.querySelector(".meta").textContent = gettext("Not uploaded");
  tile.querySelector("progress").hidden = true;
  tile.querySelector("[data-try-upload]").hidden = false;
  nameButton(tile, gettext("Remove {name}", { name: file.name }));
  if (sentence) refuse(sentence);
  else byId("status").textContent = gettext("{name} was not uploaded.", { name: file.name });
  hide();
  upload.end(0);
  start();
}

/** It has landed, or never will: the tile goes. */
function drop(upload, id) {
  const hadFocus = upload.tile.contains(document.activeElement);
  uploads = uploads.filter((each) => each !== upload);
  upload.tile.remove();
  if (hadFocus) (byId(`attachment-${id}`)?.querySelector("button") ?? byId("say")).focus();
  hide();
  upload.end(id);
}

const uploadOf = (element) => uploads.find(({ tile }) => tile.contains(element));

on("click", "[data-try-upload]", (button) => {
  const upload = uploadOf(button);
  const { tile, file } = upload;
  upload.isFailed = false;
  upload.ended = new Promise((resolve) => (upload.end = resolve));
  delete tile.dataset.failed;
  tile.dataset.uploading = "";
  tile.querySelector("progress").hidden = false;
  button.hidden = true;
  nameButton(tile, gettext("Stop uploading {name}", { name: file.name }));
  tile.querySelector("[data-stop-upload]").focus();
  hide();
  start();
});

on("click", "[data-stop-upload]", (button) => stop(uploadOf(button)));

function stop(upload) {
  upload.request?.abort();
  const next = neighbour(upload.tile);
  drop(upload, 0);
  next.focus();
  start();
}

// Removing

/** The next tile's button, else the one before it, else the text. */
function neighbour(tile) {
  const all = [...document.querySelectorAll(".attachment:not([hidden])")];
  const at = all.indexOf(tile);
  const next = all[at + 1] ?? all[at - 1];
  return next?.querySelector(".icon-button") ?? byId("say");
}

on("keydown", ".attachment", (tile, event) => {
  if (!["Delete", "Backspace"].includes(event.key)) return;
  event.preventDefault();
  tile.querySelector(".icon-button").click();
});

/** The one that can be had back: {tile, id, url, timer}. */
let removed = null;

on("click", "[data-remove-attachment]", (button) => {
  removeForGood();
  const tile = button.closest(".attachment");
  const next = neighbour(tile);
  const id = idOf(tile);
  removed = { id, url: button.dataset.removeAttachment };
  hidden.add(id);
  hide();
  next.focus();
  const toast = byId("removed-file-form").content.firstElementChild.cloneNode(true);
  const name = tile.querySelector("b").textContent;
  toast.querySelector("span").textContent = gettext("Removed {name}.", { name });
  byId("toast").replaceChildren(toast);
  removed.timer = setTimeout(function end() {
    if (toast.matches(":hover, :focus-within")) removed.timer = setTimeout(end, UNDO);
    else removeForGood();
  }, UNDO);
});

on("click", "[data-undo-removal]", () => {
  const { id } = removed;
  clearTimeout(removed.timer);
  removed = null;
  byId("toast").replaceChildren();
  hidden.delete(id);
  hide();
  (byId(`attachment-${id}`)?.querySelector("button") ?? byId("say")).focus();
});

document.addEventListener("planside:acts", () => removeForGood());

async function removeForGood() {
  if (!removed) return;
  const { id, url, timer } = removed;
  removed = null;
  clearTimeout(timer);
  document.querySelector("[data-undo-removal]")?.closest(".note").remove();
  const answer = await send(url, {});
  await show(answer);
  if (!answer.ok && answer.error) refuse(answer.error);
  hidden.delete(id);
  hide();
}

addEventListener("pagehide", () => {
  if (removed) fetch(removed.url, { method: "POST", headers: headers(), keepalive: true });
});

// A message takes along what is here

/** What goes with a message: `isUp()` gives the ids once all have landed, null where one did not. */
export function takeFiles() {
  const ids = tiles().map(idOf).filter((id) => !hidden.has(id));
  const taken = uploads.filter((each) => isUnderWay(each) && !each.isTaken);
  const names = [...tiles().filter((tile) => ids.includes(idOf(tile))), ...taken.map(({ tile }) => tile)];
  for (const id of ids) hidden.add(id);
  for (const upload of taken) {
    upload.isTaken = true;
    upload.tile.dataset.taken = "";
  }
  hide();
  return {
    count: ids.length + taken.length,
    names: names.map((tile) => tile.querySelector("b").textContent),
    waitsFor: () => taken.filter(isUnderWay).length,
    isUp: async () => {
      const ends = await Promise.all(taken.map((upload) => upload.ended));
      return ends.includes(0) ? null : [...ids, ...ends];
    },
    release: () => {
      for (const id of [...ids, ...taken.map((upload) => upload.id)]) hidden.delete(id);
      for (const upload of taken) {
        upload.isTaken = false;
        delete upload.tile.dataset.taken;
      }
      hide();
    },
    discard: async () => {
      for (const upload of taken.filter(isUnderWay)) stop(upload);
      const landed = [...ids, ...taken.map(({ id }) => id)].filter(Boolean);
      const urls = landed.map((id) => byId(`attachment-${id}`)?.querySelector("[data-remove-attachment]"));
      for (const button of urls.filter(Boolean)) await show(await send(button.dataset.removeAttachment, {}));
      for (const id of landed) hidden.delete(id);
    },
  };
}
