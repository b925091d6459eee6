// Messages and their alternatives: editing one's own, asking again for a reply, walking between them.
import { always, atStart, byId, gettext, ngettext, on, setIcon } from "./dom.js";
import { openerOf } from "./menus.js";
import { fetched, headers, send, show } from "./requests.js";
import { isAdrift } from "./swaps.js";

const BUSY = gettext("Stop the reply first.");
const FIXED = gettext("A plan that came out of this was approved: what led to it stays as it is.");
const NOT_SHOWN = gettext("The message you were editing is not shown any more.");
const KEPT_WITH_IT = gettext("The message you were editing is not shown any more. Your text is kept with it.");

// What cannot be done now keeps its place, and says why

always(() => {
  const { busy, fixed, noPlan, noWord } = byId("actions")?.dataset ?? {};
  const missing = { plan: noPlan, word: noWord };
  for (const button of document.querySelectorAll("[data-at]")) {
    const isFixed = Number(button.dataset.at) <= Number(fixed);
    const why = busy !== undefined ? BUSY : isFixed ? FIXED : (missing[button.dataset.needs] ?? "");
    if ((button.dataset.refusal ?? "") === why) continue;
    if (why) {
      button.dataset.refusal = why;
      button.setAttribute("aria-disabled", "true");
      button.setAttribute("aria-description", why);
    } else {
      delete button.dataset.refusal;
      button.removeAttribute("aria-disabled");
      button.removeAttribute("aria-description");
    }
    button.title = why || button.getAttribute("aria-label");
  }
});

// Before anybody else hears of the click.
document.addEventListener(
  "click",
  (event) => {
    const button = event.target.closest?.("[data-refusal]");
    if (!button) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const own = button.closest("#plan, .need-card")?.querySelector("#plan-alert, .need-alert");
    (own ?? byId("say-alert")).textContent = button.dataset.refusal;
  },
  true,
);

// Editing a message: a form in its place, with a text that is kept until the page goes

const form = () => byId("message-editor") ?? byId("message-editor-form").content.firstElementChild.cloneNode(true);
const texts = new Map();
let editing = null; // {id, form, url, before}

on("click", "[data-edits]", (button) => {
  close();
  const id = button.closest("article").id;
  editing = { id, url: button.dataset.edits, form: form() };
  const field = editing.form.elements.text;
  editing.before = textOf(id);
  field.defaultValue = editing.before;
  field.value = texts.get(id) ?? editing.before;
  put();
  setNote();
  field.focus({ preventScroll: true });
  field.setSelectionRange(field.value.length, field.value.length);
  editing.form.scrollIntoView({ block: editing.form.offsetHeight > byId("log").clientHeight ? "start" : "nearest" });
});

const textOf = (id) => byId(`${id}-text`).textContent;

/** Into the message, in which only the form is drawn then. */
function put() {
  const article = byId(editing.id);
  if (!article || article.contains(editing.form)) return Boolean(article);
  const hadFocus = editing.hasFocus;
  article.append(editing.form);
  if (hadFocus) editing.form.elements.text.focus();
  return true;
}

/** Drawn anew, the message has its form again; one that is not shown any more keeps the text for later. */
always(() => {
  if (!editing || put()) return;
  const { value } = editing.form.elements.text;
  const hasText = value.trim() && value !== editing.before;
  texts.set(editing.id, value);
  editing = null;
  byId("say-alert").textContent = hasText ? KEPT_WITH_IT : NOT_SHOWN;
});

document.addEventListener("focusin", ({ target }) => {
  if (editing) editing.hasFocus = editing.form.contains(target);
});

function close() {
  if (!editing) return null;
  const { id, form } = editing;
  texts.set(id, form.elements.text.value);
  editing = null;
  form.remove();
  return id;
}

/** What becomes of what is there. */
function setNote() {
  editing.form.querySelector("#message-editor-note").textContent = noteNow();
}

function noteNow() {
  if (/^\s*\/plan(\s|$)/i.test(editing.form.elements.text.value)) return gettext("Makes a new plan.");
  const files = byId(editing.id).closest(".turn[id]").querySelectorAll("[data-changed]");
  const n = new Set([...files].map((call) => call.dataset.changed)).size;
  if (!n) return gettext("The reply below stays and becomes one of several.");
  return ngettext(
    "The reply below stays, and so does the file it changed.",
    "The reply below stays, and so do the {n} files it changed.",
    { n },
  );
}

on("input", "#message-editor", () => setNote());
on("click", "[data-keeps-message]", () => leave());
on("keydown", "#message-editor", (_form, event) => {
  if (event.key !== "Escape" || event.isComposing) return;
  event.preventDefault();
  leave();
});

function leave() {
  byId(`${close()}-edit`)?.focus();
}

on("submit", "#message-editor", async (sent, event) => {
  event.preventDefault();
  if (editing.isSent) return;
  editing.isSent = true;
  const { id, url } = editing;
  const answer = await send(url, { text: sent.elements.text.value });
  if (editing) editing.isSent = false;
  if (!answer.ok) {
    await show(answer);
    if (answer.error) byId("message-editor-alert").textContent = answer.error;
    return;
  }
  close();
  texts.delete(id);
  byId("say").focus();
  await show(answer);
  byId("log").scrollTop = 0;
});

// A message that has not gone out goes back into the message box

on("click", "[data-takes-back]", async (button) => {
  const text = textOf(button.closest("article").id).trim();
  const answer = await send(button.dataset.takesBack, { to_box: "yes" });
  await show(answer);
  if (answer.ok) document.dispatchEvent(new CustomEvent("planside:hand-over", { detail: text }));
  else if (answer.error) byId("say-alert").textContent = answer.error;
});

on("keydown", "#say", (box, event) => {
  const isHeld = event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || event.isComposing;
  if (event.key !== "ArrowUp" || isHeld || event.defaultPrevented || box.value) return;
  const unsent = [...document.querySelectorAll("[data-takes-back], [data-edit-held]")].at(-1);
  if (!unsent) return;
  event.preventDefault();
  unsent.click();
});

// Asking again: one menu for all replies

const menu = byId("again-menu");

atStart(() => {
  menu?.addEventListener("beforetoggle", ({ newState }) => {
    if (newState !== "open") return;
    menu.querySelector("[data-model-in-use]").textContent = byId("model")?.querySelector(".truncate").textContent;
  });
  menu?.addEventListener("toggle", async ({ newState }) => {
    if (newState === "open") await show(await fetched(menu.dataset.url));
  });
  byId("log")?.addEventListener("scroll", () => menu.matches(":popover-open") && menu.hidePopover());
});

on("click", "#again-menu [data-ask]", ({ dataset }) => {
  const { again } = openerOf(menu).dataset;
  menu.hidePopover();
  askAgain(again, dataset.ask);
});

/** Another reply in the place of one, by this model; without one by that of the conversation. */
export async function askAgain(url, model) {
  const answer = await send(url, { model });
  await show(answer);
  if (answer.ok) goToNewest();
  else if (answer.error) byId("say-alert").textContent = answer.error;
}

/** Who has asked by keyboard stands at the message that is answered anew; the button is gone. */
function goToNewest() {
  byId("log").scrollTop = 0;
  const message = [...document.querySelectorAll("#thread article.message")].findLast(
    ({ dataset }) => dataset.role === "user",
  );
  if (!message || !isAdrift()) return;
  message.tabIndex = -1;
  message.focus({ preventScroll: true });
}

// Walking

/** The button that was pressed and where it stood, until its alternative is drawn. */
let walked;

const standing = ({ id }) => byId(id)?.closest(".walker")?.getAttribute("aria-label");

on("click", ".walker button:not([aria-disabled])", (button) => {
  walked = { id: button.id, top: button.getBoundingClientRect().top, label: standing(button) };
});

/** It stays under the pointer: the log, which else keeps to its end, is scrolled for that. */
always(() => {
  const label = walked && standing(walked);
  if (!label || label === walked.label) return;
  byId("log").scrollTop += byId(walked.id).getBoundingClientRect().top - walked.top;
  walked = undefined;
});

on("keydown", ".walker", (walker, event) => {
  const way = { ArrowLeft: "earlier", ArrowRight: "later" }[event.key];
  if (!way || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  const button = byId(`${walker.id}-${way}`);
  button.focus();
  button.click();
});

// The way to the newest message. The log is laid out from its end: there `scrollTop` is 0, above it
// is less. It never scrolls by itself while somebody reads.

const NEAR = 24; // pixels from the end that still count as being there

const log = byId("log");
/** What stood at the end when a reader was last there. */
let read = "";

const isAtEnd = () => log.scrollTop > -NEAR;

/** The last message, and how much it says: what is unfolded in it says no more than before. */
function newest() {
  const last = [...log.querySelectorAll("article.message")].at(-1);
  return last ? `${last.id} ${last.textContent.length}` : "";
}

function look() {
  if (isAtEnd()) read = newest();
  const isFar = -log.scrollTop > log.clientHeight;
  byId("jump-to-newest").hidden = isAtEnd() || !(isFar || newest() !== read);
}

function jump() {
  log.scrollTop = 0;
  log.focus({ preventScroll: true });
  look();
}

atStart(() => {
  if (!log) return;
  log.addEventListener("scroll", look, { passive: true });
  on("click", "#jump-to-newest", jump);
  on("keydown", "#log", (_log, event) => {
    const isElsewhere = event.target.closest("input, textarea, select, [role=menu], .whole-text, pre");
    if (event.key !== "End" || isElsewhere || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    jump();
  });
});

// Once for each frame: with every piece of a reply it would make the browser lay out the log again.
let isDue = false;
always(() => {
  if (!log || isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    look();
  });
});

// Copying to the clipboard: every button that does it, in one way, and "Copied" only when it is so.

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
  const response = await fetch(address, { headers: headers() });
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
