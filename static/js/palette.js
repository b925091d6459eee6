// Ctrl K: one search for conversations, messages, plans, commands and settings. The server draws what
// it finds; a message that is on this page is gone to, anything else is opened.
import { byId, on } from "./dom.js";
import { goTo } from "./found.js";
import { signedOut, swap } from "./requests.js";
import { gettext } from "./texts.js";

const PAUSE = 120; // ms after the last key
const SLOW = 400; // ms after which it is said that the answer has not come
const palette = byId("palette");
const field = byId("palette-field");
let asked = 0; // only the answer to the last question is drawn
let typing = 0;
let only = ""; // a kind of which all is shown
let isBehind = false; // what is listed is for words that are not those in the field any more
let entered = null; // Enter was pressed meanwhile
let isMoved = false; // somebody has chosen a row with the arrows, and keeps it while it is listed

/** It has just been opened, with an empty field (palette_door.js); something may be typed by now. */
export function start() {
  only = "";
  entered = null;
  isMoved = false;
  draw();
}

async function draw() {
  const number = (asked += 1);
  isBehind = true;
  const here = byId("app")?.dataset.conversation ?? "";
  const sought = field.value;
  const query = new URLSearchParams({ q: sought, only, here });
  const slow = setTimeout(() => say(gettext("Still looking")), SLOW);
  const response = await fetch(`${palette.dataset.url}?${query}`).catch(() => null);
  const text = response?.ok ? await response.text().catch(() => "") : "";
  clearTimeout(slow);
  if (number !== asked || !palette.open || (response && signedOut(response))) return;
  if (!text) return say(gettext("The search did not get through. Check the connection."));
  const before = isMoved && selected() ? keyOf(selected()) : "";
  await swap(text);
  isBehind = false;
  const kept = before && rows().find((row) => keyOf(row) === before);
  isMoved = Boolean(kept);
  select(kept || rows()[0]);
  say(byId("palette-results").dataset.status);
  palette.dataset.drawn = sought; // what is listed is for these words
  if (entered && selected()) choose(selected(), entered.inNewTab);
  entered = null;
}

const say = (sentence) => (byId("palette-status").textContent = sentence);
const rows = () => [...palette.querySelectorAll("[role=option]")];
const keyOf = ({ href, dataset }) => [href, ...Object.values(dataset)].join(" ");
const selected = () => palette.querySelector("[role=option][aria-selected=true]");

function select(row) {
  selected()?.setAttribute("aria-selected", "false");
  field.removeAttribute("aria-activedescendant");
  if (!row) return;
  row.setAttribute("aria-selected", "true");
  field.setAttribute("aria-activedescendant", row.id);
  row.scrollIntoView({ block: "nearest" });
}

on("input", "#palette-field", () => {
  only = "";
  entered = null;
  isMoved = false;
  isBehind = true;
  clearTimeout(typing);
  typing = setTimeout(draw, PAUSE);
});

on("keydown", "#palette-field", (_field, event) => {
  if (event.isComposing) return;
  const all = rows();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && all.length) {
    isMoved = true;
    select(all.at((all.indexOf(selected()) + step) % all.length));
  } else if (event.key === "Enter") enter(event.ctrlKey || event.metaKey);
  else return;
  event.preventDefault();
});

/** What was typed last counts, not what is still listed. */
function enter(inNewTab) {
  if (isBehind && !isMoved) entered = { inNewTab };
  else if (selected()) choose(selected(), inNewTab);
}

on("click", "#palette [role=option]", (row, event) => {
  const inNewTab = event.ctrlKey || event.metaKey;
  if (inNewTab && row.href) return;
  event.preventDefault();
  choose(row, inNewTab);
});

function choose(row, inNewTab) {
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
  field.focus();
  draw();
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
