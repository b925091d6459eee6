// Copying to the clipboard: every button that does it, in one way, and "Copied" only when it is so.
import { byId, on, setIcon } from "./dom.js";
import { gettext } from "./texts.js";

const SHOWN = 2000; // ms
const FAULT_SHOWN = 8000;
/** What stood on a button that says for a while that it has copied. */
const before = new WeakMap();

on("click", "[data-copy]", (button) => {
  const isCode = button.dataset.copy === "code";
  const source = isCode ? button.closest(".code").querySelector("pre") : byId(button.dataset.copy);
  const isTyped = source.matches(".own-message:not([data-comments])"); // sign for sign, as it was typed
  copy(button, Promise.resolve(source.value ?? (isTyped ? source.textContent : source.innerText)));
});

// A reply is copied as the model wrote it, which is not on the page.
on("click", "[data-copy-from]", (button) => copy(button, written(button.dataset.copyFrom)));

/** The address of a subtask on its plan's page. */
on("click", "[data-copy-link]", (button) =>
  copy(button, Promise.resolve(`${location.origin}${location.pathname}#${button.dataset.copyLink}`)),
);

async function written(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(response.statusText);
  return response.text();
}

async function copy(button, text) {
  if (await write(text)) return showCopied(button);
  say(gettext("Not copied: this browser does not let the page write to the clipboard."), true);
}

/** Whether it is in the clipboard now. Where the browser gives none, as over plain http, a selection
 * is copied. */
async function write(text) {
  const isWritten = await viaClipboard(text).catch(() => false);
  return isWritten || text.then(viaSelection).catch(() => false);
}

/** A text that is still to come is promised at once: later the press does not count any more. */
async function viaClipboard(text) {
  if (!navigator.clipboard) return false;
  const type = "text/plain";
  const blob = text.then((known) => new Blob([known], { type }));
  await navigator.clipboard.write([new ClipboardItem({ [type]: blob })]);
  return true;
}

function viaSelection(text) {
  const { activeElement } = document;
  const place = document.createElement("textarea");
  place.className = "visually-hidden";
  place.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(place);
  place.select();
  const isCopied = document.execCommand("copy");
  place.remove();
  activeElement?.focus({ preventScroll: true });
  return isCopied;
}

function showCopied(button) {
  const words = button.querySelector("span")?.textContent;
  const icon = draw(button, { icon: "check", words: gettext("Copied") });
  if (!before.has(button)) before.set(button, { icon, words });
  say(gettext("Copied"));
  setTimeout(() => {
    if (before.has(button)) draw(button, before.get(button));
    before.delete(button);
  }, SHOWN);
}

function draw(button, { icon, words }) {
  const span = button.querySelector("span");
  if (span) span.textContent = words;
  return setIcon(button, icon);
}

let ending = 0;

/** To everybody what went wrong; what went well the button shows. */
function say(words, isFault = false) {
  const line = byId("copied");
  line.textContent = words;
  line.classList.toggle("visually-hidden", !isFault);
  clearTimeout(ending);
  ending = setTimeout(() => {
    line.textContent = "";
    line.classList.add("visually-hidden");
  }, isFault ? FAULT_SHOWN : SHOWN);
}
