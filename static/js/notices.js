// Notifications of the browser: while no tab of Planside is in view, once for each thing.
import { always, atStart, byId, on, person } from "./dom.js";
import { headers } from "./requests.js";
import { gettext } from "./texts.js";

const LONG = 60_000; // ms that a plan runs before it is worth asking
const ASKED = `planside-asked-${person()}`;
const MOST = 200; // keys that are remembered
const VISIBLE = `planside-visible-${person()}`;
const TOLD = `planside-told-${person()}`;
const NEEDS = /^(approval|question|start|failed|budget|halted)-/;
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
    if ("sounds" in byId("needs-count").dataset && notices.some(({ key }) => NEEDS.test(key))) sound();
    if (globalThis.Notification?.permission === "granted") notices.forEach(show);
  });
}

async function noticesOf(news) {
  const wanted = new URLSearchParams(news.map((key) => ["key", key]));
  const answer = await fetch(`/needs/notices?${wanted}`, { headers: headers() }).catch(() => null);
  const { notices = [] } = answer?.ok ? await answer.json().catch(() => ({})) : {};
  return notices;
}

function show({ key, title, body, address }) {
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
  show({ key: "test", title: "Planside", body, address: location.pathname });
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
