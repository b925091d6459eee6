// The message box: Enter sends, what is typed is kept, / lists the commands.
import { always, byId, csrf, on } from "./dom.js";

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
let sent = null;
let returned = byId("actions")?.dataset.draft ?? "";

if (form) {
  box.addEventListener("keydown", onKey);
  box.addEventListener("input", () => {
    showMenu();
    saveSoon();
  });
  box.addEventListener("blur", () => hideMenu());
  menu.addEventListener("pointerdown", (event) => event.preventDefault());
  form.addEventListener("htmx:config:request", onSend);
  form.addEventListener("htmx:after:request", onAnswer);
  addEventListener("pagehide", () => saving && saveDraft(true));
  if (!matchMedia("(max-width: 820px)").matches) box.focus({ preventScroll: true });
}

function onKey(event) {
  if (event.isComposing || (!menu.hidden && onMenuKey(event))) return;
  if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
    event.preventDefault();
    form.requestSubmit(form.querySelector(".send:not([data-k])"));
  }
}

// Sending

function onSend(event) {
  const { ctx } = event.detail;
  if (ctx.sourceElement !== form) return;
  if (!box.value.trim()) return event.preventDefault();
  clearTimeout(saving);
  saving = 0;
  sent = box.value;
}

function onAnswer(event) {
  const { ctx } = event.detail;
  if (ctx.sourceElement !== form || sent === null) return;
  if (ctx.response.status < 300 && box.value === sent) {
    box.value = "";
    byId("log").scrollTop = 0;
  }
  sent = null;
}

document.addEventListener("planside:unsent", () => {
  const alert = byId("say-alert");
  alert.innerHTML =
    'Not sent. <button class="lk">Try again</button> / <button type="button" class="lk" data-discard>Discard</button>';
});

on("click", "#say-alert [data-discard]", () => {
  byId("say-alert").textContent = "";
  box.value = "";
  saveSoon();
  box.focus();
});

// The draft

function saveSoon() {
  clearTimeout(saving);
  saving = setTimeout(saveDraft, DRAFT_PAUSE);
}

function saveDraft(leaving) {
  saving = 0;
  const body = new URLSearchParams({ text: box.value });
  const keepalive = leaving === true;
  fetch(box.dataset.draftUrl, { method: "POST", headers: { "X-CSRFToken": csrf() }, body, keepalive }).catch(() => {});
}

/** What the server says about the box: its invitation, whether a reply is written, a draft given
 * back after a stop. */
always(() => {
  const actions = byId("actions");
  if (!actions) return;
  box.placeholder = actions.dataset.placeholder;
  form.toggleAttribute("data-busy", "busy" in actions.dataset);
  const draft = actions.dataset.draft ?? "";
  if (draft !== returned && !box.value && !saving) box.value = draft;
  returned = draft;
});

// Beginnings

on("click", "[data-start]", (button) => {
  box.value = button.querySelector("span").textContent.trim();
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
  const command = span("cmd", `${name} `);
  if (argument) command.append(Object.assign(document.createElement("i"), { textContent: argument }));
  row.append(command, span("sub cut", does), span("meta wide", ""));
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
