// The message box: Enter sends, what is typed is kept, / lists the commands.
import { asSeen } from "./approving.js";
import { dismissAll, takeFiles } from "./attachments.js";
import { always, atStart, byId, gettext, listed, on } from "./dom.js";
import { isSending, post, textsOnTheirWay, textsThatWait, useOutbox } from "./outbox.js";
import { headers, inTurn } from "./requests.js";

const COMMANDS = [
  ["/plan", gettext("<description>"), gettext("Make a plan and wait for you to start it")],
  ["/clear", "", gettext("Empty this view, delete nothing")],
  ["/new", "", gettext("Start a new conversation")],
  ["/help", "", gettext("Every command")],
];
const DRAFT_PAUSE = 800; // ms after the last key

const form = byId("composer");
const box = byId("say");
const menu = byId("commands");
let chosen = 0;
let saving = 0;
/** Whether something stands in the box that no request to save it has taken along. */
let isUnsaved = false;
/** The last event that this page had shown when it was saved. */
let savedAt = Number(byId("actions")?.dataset.seq);
/** The event of the last stop whose messages stand in the box. */
let taken = savedAt;
/** Messages that did not get through while something else was being typed. */
let lost = [];

useOutbox({
  address: () => form.action,
  changed: saveSoon,
  takes(text) {
    box.value = joined(text, box.value);
    saveSoon();
  },
  refused: giveBack,
  sent() {
    nameLostAgain();
    if (typed()) saveSoon();
  },
});

atStart(() => {
  if (!form) return;
  box.addEventListener("keydown", onKey);
  box.addEventListener("input", () => {
    showMenu();
    saveSoon();
    // What was not sent stood in the box: taken out by hand, there is nothing to try again.
    const alert = byId("say-alert");
    if (!box.value && !lost.length && alert.querySelector("[data-again]")) alert.textContent = "";
  });
  box.addEventListener("blur", () => hideMenu());
  menu.addEventListener("pointerdown", (event) => event.preventDefault());
  form.addEventListener("submit", onSubmit);
  addEventListener("pagehide", () => isUnsaved && leave());
  document.addEventListener("planside:leaving", gather);
  takeLeft();
  const isTypedElsewhere = document.activeElement.matches("input, textarea, [contenteditable]");
  if (!isTypedElsewhere && !matchMedia("(max-width: 820px)").matches) box.focus({ preventScroll: true });
});

function onKey(event) {
  if (event.isComposing || (!menu.hidden && onMenuKey(event))) return;
  if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
    event.preventDefault();
    form.requestSubmit(form.querySelector(".send:not([data-kind])"));
  }
}

// Sending

function onSubmit(event) {
  event.preventDefault();
  const text = box.value;
  const files = takeFiles();
  box.value = "";
  hideMenu();
  if (!text.trim() && !files.count) return;
  dismissAll();
  say(text, files);
}

/** Messages go one after the other, each with the plan and version that its sender saw. */
function say(text, files = takeFiles()) {
  clearTimeout(saving);
  isUnsaved = false;
  byId("log").scrollTop = 0; // not when it is answered: its sender may be reading elsewhere by then
  const values = asSeen({ ...Object.fromEntries(new FormData(form)), text });
  if (byId("app").hasAttribute("data-unsaved")) values.unsaved = "1";
  post(values, files);
}

/** It stands in the box again; beside what was typed meanwhile it is named instead. */
function giveBack(text, isLost) {
  if (!box.value) box.value = text;
  else lost.push(text);
  nameLost(isLost);
  saveSoon();
}

/** Behind what the server has said meanwhile; where nothing was lost that says enough. */
function nameLost(isLost = false) {
  if (!isLost && !lost.length) return;
  const alert = byId("say-alert");
  const said = isLost || alert.querySelector("[data-again]") ? "" : alert.textContent.trim();
  const texts = listed(lost.map(quoted));
  const what = texts ? gettext("Not sent: {texts}.", { texts }) : gettext("Not sent.");
  const again = link(gettext("Try again"), "again");
  alert.replaceChildren(said, said && " ", what, " ", again, " / ", link(gettext("Discard"), "discard"));
}

function quoted(whole) {
  const text = whole.length > 60 ? `${whole.slice(0, 59)}…` : whole;
  return gettext("“{text}”", { text });
}

/** What was done since has put its own sentence, or none, in the place of this one. */
function nameLostAgain() {
  const alert = byId("say-alert");
  if (!isSending() && lost.length && !alert.querySelector("[data-again]")) nameLost();
}

function link(textContent, name) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "link", textContent });
  button.dataset[name] = "";
  return button;
}

on("click", "#say-alert [data-again]", () => {
  byId("say-alert").textContent = "";
  if (!lost.length) return form.requestSubmit();
  for (const text of lost.splice(0)) say(text);
});

on("click", "#say-alert [data-discard]", () => {
  byId("say-alert").textContent = "";
  if (lost.length) lost = [];
  else box.value = "";
  saveSoon();
  box.focus();
});

// The draft

function saveSoon() {
  isUnsaved = true;
  clearTimeout(saving);
  saving = setTimeout(saveDraft, DRAFT_PAUSE);
}

const typed = () => [...lost, ...textsThatWait(), box.value].filter(Boolean).join("\n\n");

/** Never before a message that was sent earlier, which empties the draft. What is refused is older
 * than what another page has saved since a stop: it is saved again when this page shows that. */
function saveDraft(leaving) {
  const text = typed();
  const seen = headers();
  const keepalive = leaving === true;
  const store = async () => {
    if (text === typed()) isUnsaved = false;
    savedAt = Number(seen["Planside-Seen"]);
    const body = new URLSearchParams({ text });
    const address = box.dataset.draftUrl;
    const answer = await fetch(address, { method: "POST", headers: seen, body, keepalive }).catch(() => null);
    await answer?.text().catch(() => ""); // what nobody reads the browser aborts
    if (answer?.status === 409 && text === typed()) saveSoon();
  };
  return keepalive ? store() : inTurn("composer", store);
}

/** The page is being loaded again over a sign-in: unsent.js keeps what stands in the box. */
function gather() {
  box.value = joined(...textsOnTheirWay(), typed());
  isUnsaved = false;
}

const leftHere = `unsent-${byId("app")?.dataset.conversation}`;
const RELOAD = 60_000; // ms

/** A page that is loaded again is often drawn before what this one still saves has arrived. */
function leave() {
  saveDraft(true);
  sessionStorage.setItem(leftHere, JSON.stringify({ text: typed(), taken, at: Date.now() }));
}

function takeLeft() {
  const left = JSON.parse(sessionStorage.getItem(leftHere) ?? "null");
  sessionStorage.removeItem(leftHere);
  if (!left || Date.now() - left.at > RELOAD) return;
  const early = box.value === box.defaultValue ? "" : box.value;
  box.value = joined(left.text, early);
  taken = left.taken;
  saveSoon();
}

const joined = (...texts) => texts.filter((each) => each.trim()).join("\n\n");

/** What the server says about the box: its invitation, whether a reply is written, messages given
 * back by a stop, and whether a draft is kept: a message of another page empties it. */
always(() => {
  const actions = byId("actions");
  if (!actions) return;
  box.placeholder = actions.dataset.placeholder;
  form.toggleAttribute("data-busy", "busy" in actions.dataset);
  nameLostAgain();
  takeGivenBack(actions);
  const isKept = "draft" in actions.dataset || isUnsaved || isSending();
  if (typed() && !isKept && Number(actions.dataset.seq) > savedAt) saveSoon();
});

/** What a stop gave back comes before what is being typed, and the caret stays where it is. */
function takeGivenBack(actions) {
  const all = [...actions.querySelectorAll("[data-given-back]")];
  const comes = all.filter(({ dataset }) => Number(dataset.givenBack) > taken);
  if (!comes.length) return;
  taken = Number(comes.at(-1).dataset.givenBack);
  const text = comes.map(({ value }) => value).join("\n\n");
  if (box.value.trim()) box.setRangeText(`${text}\n\n`, 0, 0, "preserve");
  else box.value = text;
  saveSoon();
}

/** Text that has lost its place elsewhere on the page; a command counts only at the beginning. */
document.addEventListener("planside:hand-over", ({ detail: text }) => {
  box.value = text.startsWith("/") ? joined(text, box.value) : joined(box.value, text);
  saveSoon();
  box.focus();
});

/** A command from elsewhere on the page is sent; what stands in the box stays there. */
document.addEventListener("planside:say", ({ detail: text }) => {
  say(text);
  box.focus();
});

// Beginnings

/** In front of what was typed, which stays; in the place of another one. */
let starter = "";
on("click", "[data-start]", (button) => {
  const typed = starter && box.value.startsWith(starter) ? box.value.slice(starter.length) : box.value;
  starter = button.querySelector("span").textContent.replace(/\s+/g, " ").trim();
  box.value = [starter, typed.trim()].filter(Boolean).join("\n\n");
  saveSoon();
  box.focus();
});

on("click", "#slash", () => {
  if (!box.value) box.value = "/";
  box.focus();
  showMenu();
});

// The list of commands

function matching() {
  const word = /^\/\w*$/.test(box.value) ? box.value.toLowerCase() : null;
  return word === null ? [] : COMMANDS.filter(([name]) => name.startsWith(word));
}

function showMenu() {
  const found = matching();
  if (!found.length) return hideMenu();
  chosen = 0;
  menu.replaceChildren(...found.map(option));
  menu.hidden = false;
  choose(0);
}

function option([name, argument, does], index) {
  const row = document.createElement("div");
  row.setAttribute("role", "option");
  row.id = `command-${index}`;
  const command = span("command", `${name} `);
  if (argument) command.append(Object.assign(document.createElement("i"), { textContent: argument }));
  row.append(command, span("muted truncate", does), span("meta wide", ""));
  row.addEventListener("click", () => pick(index));
  return row;
}

function span(className, textContent) {
  return Object.assign(document.createElement("span"), { className, textContent });
}

function choose(index) {
  chosen = index;
  [...menu.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === index)));
  box.setAttribute("aria-controls", "commands");
  box.setAttribute("aria-activedescendant", `command-${index}`);
}

function hideMenu() {
  menu.hidden = true;
  box.removeAttribute("aria-controls");
  box.removeAttribute("aria-activedescendant");
}

function pick(index) {
  const [name, argument] = matching()[index];
  box.value = argument ? `${name} ` : name;
  hideMenu();
  box.focus();
  saveSoon();
}

/** True when the key was for the list. */
function onMenuKey(event) {
  const count = menu.children.length;
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  if (event.key in steps) choose((chosen + steps[event.key] + count) % count);
  else if (event.key === "Escape") hideMenu();
  else if (event.key === "Tab" || (event.key === "Enter" && !isWhole())) pick(chosen);
  else return false;
  event.preventDefault();
  return true;
}

/** A command typed to its end is sent by Enter, not completed. */
function isWhole() {
  return matching()[chosen][0] === box.value.toLowerCase();
}
