// What needs the person: its number in the tab's title, the icon and the list beside, in every tab,
// and the page that lists it. One tab of a browser asks the server; the others hear of it.
import { always, atStart, byId, on, person } from "./dom.js";
import { looked } from "./live.js";
import { headers, signedOut, swap } from "./requests.js";
import { gettext } from "./texts.js";

const EVERY = 2000; // ms
const channel = new BroadcastChannel("planside-needs");
let heard = 0; // when this tab last knew what waits
let leads = false; // of all hidden tabs, this one asks
let isAsking = false;
let posts = 0; // what is asked before one is answered would not know of it

const count = () => byId("needs-count");
const list = () => byId("needs-list");

atStart(() => {
  if (!count()) return;
  heard = Date.now();
  channel.addEventListener("message", ({ data }) => hear(data));
  navigator.locks?.request(`planside-needs-${person()}`, () => {
    leads = true;
    return new Promise(() => {}); // until the tab is closed
  });
  setInterval(() => (leads || !document.hidden) && lookIfLate(), EVERY);
  document.addEventListener("visibilitychange", () => document.hidden || look());
  document.addEventListener("planside:answered", () => {
    posts += 1;
    if (!list()) setTimeout(look);
  });
  // A hidden tab's clock is slow; its socket is not.
  document.addEventListener("htmx:ws:after:message:incoming", lookIfLate);
});

function lookIfLate() {
  if (Date.now() - heard > EVERY - 200) look();
}

function hear({ whose, tag }) {
  if (whose !== person()) return;
  heard = Date.now();
  looked(true);
  if (tag !== count().dataset.tag) look();
}

async function look() {
  if (isAsking) return;
  isAsking = true;
  heard = Date.now();
  const before = posts;
  try {
    const response = await fetch(address(), { headers: { ...headers(), "If-None-Match": `"${count().dataset.tag}"` } });
    if (signedOut(response)) return;
    const text = await response.text();
    looked(true);
    if (posts !== before) return void (heard = 0);
    if (response.status === 200) await show(text);
    if (response.status === 200 || response.status === 304) {
      channel.postMessage({ whose: person(), tag: count().dataset.tag });
    }
  } catch {
    looked(false);
  } finally {
    isAsking = false;
  }
}

/** What was typed below a card that was answered elsewhere meanwhile stays in view. */
async function show(text) {
  const cards = list() ? [...list().querySelectorAll("[data-need]")] : [];
  const typed = cards.map((card) => [card.id, [...card.querySelectorAll("textarea")].map(({ value }) => value.trim())]);
  await swap(text);
  for (const [id, texts] of typed) {
    const line = byId(id);
    const text = texts.filter(Boolean).join(" ");
    if (!text || !line?.matches("[data-need-settled]")) continue;
    const kept = document.createElement("p");
    kept.className = "muted";
    kept.textContent = gettext("Not sent: {text}", { text });
    line.append(kept);
  }
}

const address = () => (list() ? `/needs/changes?page&${new URLSearchParams(shown())}` : "/needs/changes");
const shown = () => [...list().querySelectorAll("[data-need]")].map((card) => ["shows", card.dataset.need]);

// The tab's title and icon

const title = document.title;
const titleNow = () => byId("heading")?.querySelector("h1").textContent ?? "";

always(() => {
  if (!count()) return;
  const waits = "inTitle" in count().dataset ? Number(count().dataset.count) : 0;
  const name = titleNow() ? `${titleNow()} · Planside` : title;
  const now = waits ? `(${waits}) ${name}` : name;
  if (document.title !== now) document.title = now;
  const icon = byId("icon");
  const address = waits ? icon.dataset.waiting : icon.dataset.quiet;
  if (icon.getAttribute("href") !== address) icon.setAttribute("href", address);
});

// The page: what is answered below a card

document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  if (list() && ctx.request.method === "POST") {
    posts += 1;
    for (const [name, key] of shown()) ctx.request.body.append(name, key);
  }
});

on("click", "[data-need-opens]", (button) => unfold(button.closest(".need-card"), button.dataset.needOpens));
on("click", "[data-need-back]", (button) => unfold(button.closest(".need-card"), ""));
on("keydown", ".need-card", (card, event) => {
  const form = event.target.closest("form");
  if (event.key === "Escape" && form?.matches("[data-need-form]")) {
    event.preventDefault();
    unfold(card, "");
  } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("[data-sends]")) {
    event.preventDefault();
    if (!event.repeat) form.requestSubmit();
  }
});

/** One of the card's forms in place of its buttons; without a name the buttons. */
function unfold(card, name) {
  const before = card.querySelector("[data-need-form]:not([hidden])")?.dataset.needForm;
  for (const form of card.querySelectorAll("[data-need-form]")) form.hidden = form.dataset.needForm !== name;
  card.querySelector("[data-need-buttons]").hidden = Boolean(name);
  const open = card.querySelector(`[data-need-form="${name}"]`);
  const field = open?.querySelector("textarea, input:not([type=hidden])") ?? open?.querySelector("button");
  (field ?? card.querySelector(`[data-need-opens="${before}"]`))?.focus();
}

// What became of it is said once, and the focus goes to the next card.
always(() => {
  const line = document.querySelector("[data-need-settled]:not([data-said])");
  if (!line) return;
  line.dataset.said = "";
  byId("needs-said").textContent = line.querySelector("span").textContent.trim().replace(/\s+/g, " ");
});
