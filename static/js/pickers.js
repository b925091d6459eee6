// Fields that find in a list: the search (Ctrl K) and the models. The server draws what it finds.
import { atStart, byId, gettext, on, unfoldAround } from "./dom.js";
import { openAt, openerOf } from "./menus.js";
import { askAgain } from "./messages.js";
import { LOST, headers, sayUntilReached, send, show, signedOut, swap } from "./requests.js";

const PAUSE = 120; // ms after the last key

const rowsOf = (list) => [...list.querySelectorAll("[role=option]")];
const selectedIn = (list) => list.querySelector("[role=option][aria-selected=true]");

function select(field, list, row) {
  selectedIn(list)?.setAttribute("aria-selected", "false");
  field.removeAttribute("aria-activedescendant");
  if (!row) return;
  row.setAttribute("aria-selected", "true");
  field.setAttribute("aria-activedescendant", row.id);
  row.scrollIntoView({ block: "nearest" });
}

/** Select the row above or below; whether the key is for that. */
function step(field, list, key) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[key];
  const rows = rowsOf(list);
  if (!by || !rows.length) return false;
  select(field, list, rows.at((rows.indexOf(selectedIn(list)) + by) % rows.length));
  return true;
}

// The search: conversations, messages, plans, commands and settings. A message that is on this page is
// gone to, anything else is opened.

const SLOW = 400; // ms after which it is said that the answer has not come
const palette = byId("palette");
const words = byId("palette-field");
let searches = 0; // only the answer to the last one is drawn
let pause = 0;
let only = ""; // a kind of which all is shown
let isBehind = false; // what is listed is for words that are not those in the field any more
let entered = null; // Enter was pressed meanwhile
let isMoved = false; // somebody has chosen a row with the arrows, and keeps it while it is listed

document.addEventListener("keydown", (event) => {
  if (!palette || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  if (event.key.toLowerCase() !== "k") return;
  event.preventDefault();
  if (palette.open) palette.close();
  else openPalette();
});
on("click", "[data-opens-palette]", openPalette);
on("click", "#palette-close", () => palette.close());
// Beside it is the backdrop, which belongs to the dialog.
on("click", "#palette", (dialog, event) => event.target === dialog && dialog.close());

function openPalette() {
  words.value = "";
  only = "";
  entered = null;
  isMoved = false;
  palette.showModal();
  words.focus();
  search();
}

async function search() {
  const number = (searches += 1);
  isBehind = true;
  const here = byId("app")?.dataset.conversation ?? "";
  const sought = words.value;
  const query = new URLSearchParams({ q: sought, only, here });
  const slow = setTimeout(() => say(gettext("Still looking")), SLOW);
  const response = await fetch(`${palette.dataset.url}?${query}`, { headers: headers() }).catch(() => null);
  const text = response?.ok ? await response.text().catch(() => "") : "";
  clearTimeout(slow);
  if (number !== searches || !palette.open || (response && signedOut(response))) return;
  if (!text) return say(gettext("The search did not get through. Check the connection."));
  const chosen = isMoved && selectedIn(palette);
  const before = chosen ? keyOf(chosen) : "";
  await swap(text);
  isBehind = false;
  const rows = rowsOf(palette);
  const kept = before && rows.find((row) => keyOf(row) === before);
  isMoved = Boolean(kept);
  select(words, palette, kept || rows[0]);
  say(byId("palette-results").dataset.status);
  palette.dataset.drawn = sought; // what is listed is for these words
  if (entered && selectedIn(palette)) follow(selectedIn(palette), entered.inNewTab);
  entered = null;
}

const say = (sentence) => (byId("palette-status").textContent = sentence);
const keyOf = ({ href, dataset }) => [href, ...Object.values(dataset)].join(" ");

on("input", "#palette-field", () => {
  only = "";
  entered = null;
  isMoved = false;
  isBehind = true;
  clearTimeout(pause);
  pause = setTimeout(search, PAUSE);
});

on("keydown", "#palette-field", (_field, event) => {
  if (event.isComposing) return;
  if (step(words, palette, event.key)) isMoved = true;
  else if (event.key === "Enter") enter(event.ctrlKey || event.metaKey);
  else return;
  event.preventDefault();
});

/** What was typed last counts, not what is still listed. */
function enter(inNewTab) {
  if (isBehind && !isMoved) entered = { inNewTab };
  else if (selectedIn(palette)) follow(selectedIn(palette), inNewTab);
}

on("click", "#palette [role=option]", (row, event) => {
  const inNewTab = event.ctrlKey || event.metaKey;
  if (inNewTab && row.href) return;
  event.preventDefault();
  follow(row, inNewTab);
});

function follow(row, inNewTab) {
  const { message, command, presses, begins, text, only: kind } = row.dataset;
  if (kind) return showOnly(kind);
  if (begins) return begin(begins, text, inNewTab);
  if (inNewTab && row.href) return void window.open(row.href, "_blank", "noopener");
  palette.close();
  if (presses) return press(presses);
  if (command) return run(command, "fills" in row.dataset);
  if (!message || !goTo(message, palette.dataset.drawn)) location.assign(row.href);
}

function showOnly(kind) {
  only = kind;
  words.focus();
  search();
}

/** A new chat, with the words in its message box. */
function begin(agent, text, inNewTab = false) {
  const form = byId("palette-new");
  form.elements.agent.value = agent;
  form.elements.text.value = text;
  form.target = inNewTab ? "_blank" : "";
  form.submit();
}

function press(id) {
  const element = byId(id);
  (element?.matches("a, button") ? element : element?.querySelector("button"))?.click();
}

/** In a conversation it is sent; one that fills the message box waits there, here or in a new chat. */
function run(command, fills) {
  if (!byId("composer")) return begin("", command);
  const type = fills ? "planside:hand-over" : "planside:say";
  document.dispatchEvent(new CustomEvent(type, { detail: command === "/plan" ? "/plan " : command }));
}

// At the message that was found: its words are in view and marked, until something else is done.

const TINTED = 2000; // ms
const NEAR = 130; // signs in which found words belong together, as in a snippet (console/snippets.py)
const HIGHLIGHT = "found"; // in css/palette.css
/** Scripts that put no spaces between words: there a word begins anywhere (agents/words.py). */
const UNSPACED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Mymr}\p{sc=Khmr}]/u;

atStart(() => {
  const asked = new URLSearchParams(location.search);
  const found = asked.get("at");
  if (!byId("log") || !(found || asked.has("deleted"))) return;
  history.replaceState(null, "", location.pathname);
  if (found) goTo(found, asked.get("words") ?? "");
});

// A file leads to the call that changed it last.
on("click", "a[data-goes-to]", ({ dataset }, event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || !goTo(dataset.goesTo, "")) return;
  event.preventDefault();
  const call = byId(`call-${dataset.opensCall}`);
  if (!call) return;
  call.open = true;
  call.scrollIntoView({ block: "nearest" });
});

/** Whether it is on this page; then it has the focus and is tinted for a while, and the found words
 * are in view, else its beginning. */
function goTo(message, words) {
  const element = byId(`message-${message}`);
  if (!element) return false;
  unfoldAround(element);
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
  const [first, ...others] = rangesOf(element, words);
  bringIntoView(element, first);
  if (first) mark([first, ...others]);
  element.dataset.found = "";
  setTimeout(() => delete element.dataset.found, TINTED);
  return true;
}

/** A whole message where it fits; of a longer one the line with the words. */
function bringIntoView(element, range) {
  const log = byId("log");
  const fits = element.offsetHeight < log.clientHeight;
  element.scrollIntoView({ block: fits ? "center" : "start" });
  if (!range || fits) return;
  const [line, view] = [range.getBoundingClientRect(), log.getBoundingClientRect()];
  log.scrollTop += line.top - view.top - (view.height - line.height) / 2;
}

/** Drawn by the browser over the text, which stays as it is. */
function mark(ranges) {
  if (!globalThis.Highlight) return;
  CSS.highlights.set(HIGHLIGHT, new Highlight(...ranges));
  const done = new AbortController();
  const end = () => {
    CSS.highlights.delete(HIGHLIGHT);
    done.abort();
  };
  for (const type of ["pointerdown", "keydown"]) addEventListener(type, end, { signal: done.signal });
}

/** Where the words stand, the first of them where most are nearest to each other. */
function rangesOf(element, words) {
  const parts = [...new Set(signsOf(words).split(" ").filter(Boolean))];
  if (!parts.length) return [];
  const signs = textOf(element);
  const text = signs.map(({ sign }) => sign).join("");
  const spans = parts.flatMap((part) => spansOf(text, part)).sort((a, b) => a.start - b.start);
  const best = Math.max(...spans.map((span) => (span.score = scoreOf(span, spans))));
  const first = spans.find(({ score }) => score === best);
  return [first, ...spans.filter((span) => span !== first)].filter(Boolean).map(({ start, end }) => {
    const range = new Range();
    range.setStart(signs[start].node, signs[start].at);
    range.setEnd(signs[end - 1].node, signs[end - 1].end);
    return range;
  });
}

/** More for each other word that follows, less for the way to it. */
function scoreOf({ start }, spans) {
  const next = new Map(); // word: how far it is
  for (const span of spans) {
    const far = span.start - start;
    if (far >= 0 && far < NEAR && !next.has(span.part)) next.set(span.part, far);
  }
  return next.size * NEAR - Math.max(...next.values());
}

function spansOf(text, part) {
  const spans = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) {
    const before = text[at - 1] ?? " ";
    if (before === " " || UNSPACED.test(part[0]) || UNSPACED.test(before)) {
      spans.push({ part, start: at, end: at + part.length });
    }
  }
  return spans;
}

/** Each sign of what can be read there, as search reads it, and where it stands. Between two blocks
 * is a space. */
function textOf(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const signs = [];
  let block = null;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest(".message-foot") || !node.parentElement.checkVisibility()) continue;
    const around = node.parentElement.closest(":is(p, li, td, th, pre, h1, h2, h3, h4, h5, h6, div)");
    if (around !== block) signs.push({ sign: " ", node, at: 0, end: 0 });
    block = around;
    let at = 0;
    for (const letter of node.data) {
      const end = at + letter.length;
      for (const sign of signsOf(letter).split("")) signs.push({ sign, node, at, end });
      at = end;
    }
  }
  return signs;
}

/** Without letter case and accents; what is no part of a word is a space. */
function signsOf(text) {
  const plain = text.normalize("NFKD").replace(/[\u0300-\u036f]|\p{Cf}/gu, "").toLowerCase();
  return plain.replace(/[^\p{L}\p{M}\p{N}]/gu, " ");
}

// The model of the conversation, or of one reply that is asked for again.

const picker = byId("model-picker");
const modelField = byId("find-model");
/** Where its models come from and the choice goes: in Settings the button says it. */
let place = { ...picker?.dataset };
let again = ""; // the reply's address that the choice is for; empty for the conversation
let questions = 0; // only the answer to the last one is drawn
let typing = 0;
let drawn = Promise.resolve(); // the list, by the last question

atStart(() => {
  picker?.addEventListener("toggle", async ({ newState }) => {
    if (newState !== "open") return void (again = "");
    place = { ...picker.dataset, ...openerOf(picker)?.dataset };
    modelField.value = "";
    modelField.focus();
    select(modelField, picker, null);
    await drawModels();
    await drawModels("ask");
  });
});

on("click", "[data-another]", () => {
  const menu = byId("again-menu");
  const button = openerOf(menu);
  menu.hidePopover();
  again = button.dataset.again;
  openAt(picker, button);
});

/** The list for what is typed; with `ask` or `anew` after the providers have been asked. */
function drawModels(how = "") {
  drawn = fetchModels(how);
  return drawn;
}

async function fetchModels(how) {
  const number = (questions += 1);
  const query = new URLSearchParams({ find: modelField.value, ...(how && { [how]: "1" }) });
  const response = await fetch(`${place.models}?${query}`, { headers: headers() }).catch(() => null);
  const text = response && response.status < 500 ? await response.text().catch(() => "") : "";
  if (number !== questions) return;
  if (!text) return sayUntilReached(byId("model-alert"), LOST);
  byId("model-alert").textContent = "";
  if (!response.ok) return void (await swap(text));
  const before = selectedIn(picker)?.dataset.model;
  await swap(text);
  const rows = rowsOf(picker);
  const current = rows.find((row) => "current" in row.dataset);
  select(modelField, picker, rows.find((row) => row.dataset.model === before) ?? current ?? rows[0]);
}

on("input", "#find-model", () => {
  clearTimeout(typing);
  typing = setTimeout(findModel, PAUSE);
});

function findModel() {
  clearTimeout(typing);
  typing = 0;
  select(modelField, picker, null);
  drawModels();
}

/** Enter is for what is typed: where its list has not come yet, for the first of that. */
async function chooseTyped() {
  const wanted = modelField.value;
  if (typing) findModel();
  for (let last = null; !selectedIn(picker) && last !== drawn; ) await (last = drawn);
  const row = selectedIn(picker);
  if (row && modelField.value === wanted && picker.matches(":popover-open")) useModel(row.dataset);
}

on("keydown", "#find-model", (_field, event) => {
  if (event.isComposing) return;
  if (event.key === "Enter") chooseTyped();
  else if (!step(modelField, picker, event.key)) return;
  event.preventDefault();
});

on("click", "#model-picker [role=option]", (row) => useModel(row.dataset));
on("click", "[data-use-model]", ({ dataset }) => useModel({ model: dataset.useModel, name: dataset.name }));
on("click", "#model-picker [data-own-model]", (button) => useModel({ model: "", name: button.dataset.name }));
on("click", "#model-picker [data-look-again]", () => {
  modelField.focus();
  drawModels("anew");
});

async function useModel({ model, name }) {
  const address = again;
  picker.hidePopover();
  if (address) return askAgain(address, model);
  const answer = await send(place.chooses, { model });
  await show(answer);
  const said = gettext("{name} answers from now on.", { name });
  if (answer.ok && byId("status")) byId("status").textContent = said;
  else if (answer.error) alertHere().textContent = answer.error;
}

const alertHere = () => byId("say-alert") ?? byId(`${openerOf(picker).closest("article").id}-alert`);
