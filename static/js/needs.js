// What needs the person: its number in the tab's title, the icon and the list beside, in every tab,
// and the page that lists it. One tab of a browser asks the server; the others hear of it.
import { always, atStart, byId, gettext, on, person } from "./dom.js";
import { looked } from "./live.js";
import { headers, signedOut, swap } from "./requests.js";

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
    const card = ctx.sourceElement.closest("[data-need]");
    if (card) ctx.request.body.set("need", card.dataset.need);
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
  }
});
on("keydown", "[data-sends]", (field, event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  if (!event.repeat) field.form.querySelector("button:not([type=button])").click();
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

// Notifications of the browser: while no tab of Planside is in view, once for each thing.

const LONG = 60_000; // ms that a plan runs before it is worth asking
const ASKED = `planside-asked-${person()}`;
const MOST = 200; // keys that are remembered
const VISIBLE = `planside-visible-${person()}`;
const TOLD = `planside-told-${person()}`;
let known = null; // what was there when the page was opened is no news
let leave = null; // ends that this tab is in view

const keys = () => (byId("needs-count")?.dataset.keys ?? "").split(" ").filter(Boolean);

atStart(() => {
  if (!byId("needs-count") || !navigator.locks) return;
  known = new Set(keys());
  document.addEventListener("visibilitychange", mark);
  mark();
});
always(() => {
  if (!known) return;
  const fresh = keys().filter((key) => !known.has(key));
  fresh.forEach((key) => known.add(key));
  if (fresh.length) tell(fresh);
});

/** A lock that every tab in view holds with the others: others ask whether there is one. */
function mark() {
  if (document.hidden) {
    leave?.();
    leave = null;
  } else if (!leave) {
    const gone = new Promise((resolve) => (leave = resolve));
    navigator.locks.request(VISIBLE, { mode: "shared" }, () => gone);
  }
}

/** One tab after the other, so that each thing is told by the first. */
function tell(fresh) {
  return navigator.locks.request(TOLD, async () => {
    const told = JSON.parse(localStorage.getItem(TOLD) ?? "[]");
    const news = fresh.filter((key) => !told.includes(key));
    if (!news.length) return;
    localStorage.setItem(TOLD, JSON.stringify([...told, ...news].slice(-MOST)));
    const { held } = await navigator.locks.query();
    if (!document.hidden || held.some((lock) => lock.name === VISIBLE)) return;
    // Those that the person is to be told of: not what they have asked for themselves.
    const notices = await noticesOf(news);
    if ("sounds" in byId("needs-count").dataset && notices.some((each) => each.is_need)) sound();
    if (globalThis.Notification?.permission === "granted") notices.forEach(notify);
  });
}

async function noticesOf(news) {
  const wanted = new URLSearchParams(news.map((key) => ["key", key]));
  const answer = await fetch(`/needs/notices?${wanted}`, { headers: headers() }).catch(() => null);
  const { notices = [] } = answer?.ok ? await answer.json().catch(() => ({})) : {};
  return notices;
}

function notify({ key, title, body, address }) {
  const icon = byId("icon").dataset.quiet;
  const notice = new Notification(title, { body, icon, tag: `planside-${key}` });
  notice.addEventListener("click", () => {
    notice.close();
    window.focus();
    location.assign(address);
  });
}

/** Two short tones; a page that nobody has touched yet may not make any. */
function sound() {
  const context = new AudioContext();
  const volume = context.createGain();
  volume.gain.value = 0.08;
  volume.connect(context.destination);
  [660, 880].forEach((pitch, place) => {
    const tone = context.createOscillator();
    tone.frequency.value = pitch;
    tone.connect(volume);
    tone.start(context.currentTime + place * 0.12);
    tone.stop(context.currentTime + place * 0.12 + 0.1);
  });
  setTimeout(() => context.close(), 1000);
}

// The browser's leave: asked for in the settings, and once when a plan takes long

const state = () => globalThis.Notification?.permission ?? "none";

always(drawPermission);
function drawPermission() {
  for (const each of document.querySelectorAll("#permission [data-when]")) {
    const isSo = each.dataset.when === state();
    if (each.hidden === isSo) each.hidden = !isSo;
  }
}

on("click", "[data-ask-permission]", async () => {
  dismiss();
  await Notification.requestPermission();
  drawPermission();
  byId("permission")?.focus();
});
on("click", "[data-not-now]", dismiss);
on("click", "[data-send-test]", () => {
  const body = gettext("Notifications arrive here.");
  notify({ key: "test", title: "Planside", body, address: location.pathname });
});

function dismiss() {
  localStorage.setItem(ASKED, "asked");
  const note = byId("ask-notices");
  if (!note || note.hidden) return;
  const hadFocus = note.contains(document.activeElement);
  note.hidden = true;
  if (hadFocus) byId("say").focus();
}

let runsSince = 0;
always(() => {
  const runs = ["running", "queued"].includes(byId("plan")?.dataset.run);
  if (!runs) runsSince = 0;
  else if (!runsSince) setTimeout(offer, LONG, (runsSince = Date.now()));
});

/** Still the same run, in a browser that nobody has asked. */
function offer(since) {
  const isNew = state() === "default" && !localStorage.getItem(ASKED);
  if (since === runsSince && isNew && byId("ask-notices")) byId("ask-notices").hidden = false;
}

// The list of plans, as it is now: asked for again while somebody looks at it.

let isAskingPlans = false;
let plansTag = ""; // the tag of what is shown, and the query that it answers
const query = () => byId("plans-query").value;

atStart(() => {
  if (!byId("plans-query")) return;
  setInterval(() => document.hidden || lookAtPlans(), EVERY);
  document.addEventListener("visibilitychange", () => document.hidden || lookAtPlans());
});

async function lookAtPlans() {
  if (isAskingPlans) return;
  isAskingPlans = true;
  const asked = query();
  try {
    const response = await fetch(`${location.pathname}?${asked}`, {
      headers: { ...headers(), "HX-Request": "true", "If-None-Match": plansTag },
    });
    if (signedOut(response)) return;
    const text = await response.text();
    looked(true);
    if (response.status !== 200 || query() !== asked) return; // filtered otherwise meanwhile
    plansTag = response.headers.get("ETag");
    await swap(text);
  } catch {
    looked(false);
  } finally {
    isAskingPlans = false;
  }
}
