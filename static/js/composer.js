// The message box: Enter sends, what is typed is kept, / lists the commands.
import { always, atStart, byId, on } from "./dom.js";
import { inTurn } from "./queue.js";
import { headers, send, show } from "./requests.js";

const COMMANDS = [
  ["/plan", "<description>", "Make a plan and wait for you to start it"],
  ["/clear", "", "Empty this view, delete nothing"],
  ["/new", "", "Start a new conversation"],
  ["/help", "", "Every command"],
];
const DRAFT_PAUSE = 800; // ms after the last key

const form = byId("composer");
const box = byId("say");
const menu = byId("commands");
let chosen = 0;
let saving = 0;
let sending = 0;
let returned = byId("actions")?.dataset.draft ?? "";
/** Messages that did not get through while something else was being typed. */
let lost = [];
/** Drafts saved from here: the server's echo of one is no text given back. */
const saved = new Set();

atStart(() => {
  if (!form) return;
  box.addEventListener("keydown", onKey);
  box.addEventListener("input", () => {
    showMenu();
    saveSoon();
  });
  box.addEventListener("blur", () => hideMenu());
  menu.addEventListener("pointerdown", (event) => event.preventDefault());
  form.addEventListener("submit", onSubmit);
  addEventListener("pagehide", () => saving && saveDraft(true));
  window.takeHeldMessages?.().forEach(say);
  if (!matchMedia("(max-width: 820px)").matches) box.focus({ preventScroll: true });
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
  box.value = "";
  hideMenu();
  if (text.trim()) say(text);
}

/** Messages go one after the other, each with the plan and version that its sender saw. */
function say(text) {
  clearTimeout(saving);
  saving = 0;
  const values = { ...Object.fromEntries(new FormData(form)), text };
  if (byId("app").hasAttribute("data-unsaved")) values.unsaved = "1";
  return inTurn("composer", () => post(values));
}

async function post(values) {
  sending += 1; // the box is empty for now; a draft that the server still knows is not for it
  const answer = await send(form.action, values);
  await show(answer);
  sending -= 1;
  if (!answer.ok) return giveBack(values.text, answer.error);
  saved.clear();
  byId("log").scrollTop = 0;
  if (box.value) saveSoon();
}

/** It stands in the box again; beside what was typed meanwhile it is named instead. */
function giveBack(text, isLost) {
  const alert = byId("say-alert");
  const reason = isLost ? "Not sent" : alert.textContent.replace(/\.$/, "");
  if (!box.value) box.value = text;
  else lost.push(text);
  const named = lost.map((each) => ` “${each.length > 60 ? `${each.slice(0, 59)}…` : each}”`);
  alert.replaceChildren(`${reason}${named.length ? ":" : ""}${named.join(",")}. `);
  if (isLost || lost.length) alert.append(link("Try again", "again"), " / ", link("Discard", "discard"));
  saveSoon();
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
  clearTimeout(saving);
  saving = setTimeout(saveDraft, DRAFT_PAUSE);
}

const typed = () => [...lost, box.value].filter(Boolean).join("\n\n");

/** Never before a message that was sent earlier, which empties the draft. What is refused was typed
 * before a stop gave something back that the page does not show yet: it is saved when it does. */
function saveDraft(leaving) {
  saving = 0;
  const text = typed();
  const seen = headers();
  const keepalive = leaving === true;
  const store = async () => {
    const body = new URLSearchParams({ text });
    const address = box.dataset.draftUrl;
    const answer = await fetch(address, { method: "POST", headers: seen, body, keepalive }).catch(() => null);
    await answer?.text().catch(() => ""); // what nobody reads the browser aborts
    if (answer?.status === 409 && text === typed()) saveSoon();
  };
  saved.add(text);
  return keepalive ? store() : inTurn("composer", store);
}

/** What the server says about the box: its invitation, whether a reply is written, a draft given
 * back after a stop. */
always(() => {
  const actions = byId("actions");
  if (!actions) return;
  box.placeholder = actions.dataset.placeholder;
  form.toggleAttribute("data-busy", "busy" in actions.dataset);
  if (sending) return;
  const draft = actions.dataset.draft ?? "";
  const isNew = draft !== returned && !saved.has(draft);
  if (isNew && draft.endsWith(box.value) && (box.value || !saving)) putBack(draft);
  returned = draft;
});

/** A draft that ends with what stands in the box holds all of it: nothing typed is lost. It is
 * saved again, as an earlier saving may still be on its way and arrive behind it. */
function putBack(draft) {
  box.value = draft;
  saveSoon();
}

// Beginnings

on("click", "[data-start]", (button) => {
  box.value = button.querySelector("span").textContent.replace(/\s+/g, " ").trim();
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
