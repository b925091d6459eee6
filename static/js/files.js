// Files come to the message box: chosen, pasted or dropped. What becomes of them comes with the first
// one (attachments.js).
import { atStart, byId, on } from "./dom.js";
import { bring, missed } from "./parts.js";
import { gettext, ngettext } from "./texts.js";

const field = byId("files");
/** What takes the files along, once it is there. */
let attachments = null;
const NONE = {
  count: 0,
  names: [],
  waitsFor: () => 0,
  isUp: async () => [],
  release() {},
  async discard() {},
};

/** What goes with a message: `isUp()` gives the ids once all have landed, null where one did not. */
export const takeFiles = () => attachments?.take() ?? NONE;

export const useAttachments = (module) => (attachments = module);

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

// What is sent meanwhile waits for them (parts.js).
async function attach(files, folders) {
  const form = byId("composer");
  form.dataset.takesFiles = "";
  try {
    await bring("attachments");
    attachments.attach(files, folders);
  } catch (error) {
    missed(error, form);
    for (const { name } of files) refuse(gettext("{name} was not uploaded.", { name }));
  } finally {
    delete form.dataset.takesFiles;
  }
}

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

const brings = (event) => field && event.dataTransfer?.types.includes("Files");
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
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.());
  const files = [...event.dataTransfer.files];
  const folders = files.filter((_file, index) => entries[index]?.isDirectory);
  attach(
    files.filter((file) => !folders.includes(file)),
    folders.map(({ name }) => name),
  );
  byId("say").focus();
});
