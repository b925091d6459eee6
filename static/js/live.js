// The connection: a socket that speaks, and polls beside it. What it is doing stands in the header.
import { stampOf } from "./clock.js";
import { always, atStart, behind, byId, cursor, gettext, isDrawerOpen, setIcon } from "./dom.js";
import { headers, poll, reached, sayUntilReached, send, signedOut, swap } from "./requests.js";
import { leave } from "./unsent.js";

const EVERY = 5000; // ms between two polls
const AWAY = 2000; // the same while nothing answers
const RESTART = 30_000; // ms in which a server that said it would restart is believed
const SIGN_IN = 4401;
const GONE = 4404;
const RESTARTS = 1012;
const STATES = {
  live: [gettext("Live"), "live", gettext("Updates arrive as they happen")],
  polling: [gettext("Checking every 5 s"), "poll", gettext("Live updates dropped. Checking every 5 seconds.")],
  restarting: [gettext("Planside is restarting"), "poll", gettext("Planside said that it restarts")],
  offline: [gettext("Offline"), "off", gettext("No connection")],
  gone: [gettext("Deleted"), "off", gettext("This conversation was deleted")],
};
const NOTES = {
  live: "",
  polling: [
    gettext("Live updates dropped. Checking every 5 seconds until they are back."),
    [gettext("Reconnect"), reconnect],
  ],
  restarting: [gettext("This page comes back by itself. What you type stays here."), [gettext("Try now"), reconnect]],
  offline: [gettext("What you send waits here. What is shown is as it was."), [gettext("Try now"), reconnect]],
  gone: [
    gettext("This conversation was deleted. What is shown is all that is left of it."),
    [gettext("Undo"), takeBack],
    [gettext("Leave"), () => location.assign("/")],
  ],
};

const TONES = { live: "", polling: "waiting", restarting: "waiting", offline: "failed", gone: "failed" };
const AWAY_STATES = ["restarting", "offline"];

const status = byId("connection");
const tags = new Map();
let socket = null;
let since = 0; // when the socket was opened
let isUp = false; // the socket has brought something, and nothing was missed since
let isOnline = true;
let isGone = false;
let wasListed = false;
let restartedAt = -Infinity;
let shown = "live";
let heardAt = Date.now(); // when the server was within reach for the last time
let hiddenStatus = null; // what the status line said before the page was offline
let saidAway = ""; // what it says of being offline

// Before the start: the socket may be opened earlier.
document.addEventListener("htmx:ws:before:connection", onConnecting);
document.addEventListener("htmx:ws:after:message:incoming", () => {
  heardAt = Date.now();
  if (!isUp) settle(true);
});
document.addEventListener("htmx:ws:close", onClose);
document.addEventListener("planside:silence", onSilence);
always(setNextUrl);
always(() => isAway() && blankStatus(true)); // an answer may have come late
atStart(() => {
  if (!hasSocket()) return addEventListener("offline", () => looked(false));
  document.addEventListener("visibilitychange", () => document.hidden || check());
  document.addEventListener("planside:drawer-opened", () => ask(status.dataset.drawerUrl));
  addEventListener("online", () => reconnect());
  addEventListener("offline", () => {
    if (isUp) heardAt = Date.now();
    goOffline();
  });
  setInterval(() => document.hidden || look(), EVERY);
  setInterval(() => document.hidden || isOnline || check(), AWAY);
});

const hasSocket = () => Boolean(status && byId("live"));

/** A page without a socket looks for what is new by itself (needs.js): it had an answer,
 * or none. */
export function looked(isAnswered) {
  if (!status || hasSocket()) return;
  isUp = isOnline = isAnswered;
  if (isAnswered) heardAt = Date.now();
  say();
}

function onConnecting(event) {
  socket = event.detail.connection;
  since = Date.now();
  setNextUrl();
}

/** The next connection asks for what comes after what is on the page now. */
function setNextUrl() {
  if (socket) socket.url = socket.url.replace(/after=\d+/, `after=${cursor()}`);
}

function onClose(event) {
  const { code } = event.detail;
  if (isUp) heardAt = Date.now();
  if (code === SIGN_IN) return leave();
  isGone = code === GONE;
  if (code === RESTARTS) {
    restartedAt = Date.now();
    isOnline = false;
  }
  if (isUp || shown === "live") settle(false);
}

/** It is open, and others' changes do not come through it. */
function onSilence() {
  if (!isUp && shown !== "live") return;
  settle(false);
  connect();
}

function settle(up) {
  isUp = up;
  if (up) {
    isOnline = true;
    reached();
  }
  say();
  if (!up) check();
}

function goOffline() {
  isOnline = false;
  say();
}

function reconnect() {
  if (isGone) return;
  say(); // a short gap has not closed the socket
  connect();
  check();
}

/** The conversation was deleted, and here, too, that can be taken back. */
async function takeBack() {
  const answer = await send(`/c/${byId("app").dataset.conversation}/restore`, {});
  if (!answer.ok) return sayUntilReached(byId("say-alert"), answer.error);
  comeBack();
  byId("say").focus();
}

function comeBack() {
  isGone = false;
  reconnect();
}

/** Where it was deleted it may be taken back too: then it comes into the list again. */
always(() => {
  const isListed = Boolean(byId(`conversation-${byId("app")?.dataset.conversation}`));
  if (isGone && isListed && !wasListed) comeBack();
  wasListed = isListed;
});

/** A new element makes a new connection at once, however long the pause between tries has grown. */
function connect() {
  if (isUp) return;
  const [old, silent] = [byId("live"), socket?.socket];
  const fresh = old.cloneNode(false);
  fresh.removeAttribute("data-htmx-powered");
  old.replaceWith(fresh);
  silent?.close();
  htmx.process(fresh);
}

function say() {
  const state = stateNow();
  if (state === shown) return;
  const wasAway = isAway();
  shown = state;
  const [words, icon, title] = STATES[state];
  status.querySelector(".wide-text").textContent = words;
  setIcon(status, icon);
  status.title = title;
  status.dataset.status = TONES[state];
  status.toggleAttribute("data-quiet", state === "live");
  if (isAway() || isGone) byId("app").dataset.stale = isGone ? "gone" : navigator.onLine ? "" : "offline";
  else delete byId("app").dataset.stale;
  if (isGone) stamp();
  blankStatus(isAway());
  note(state);
  if (isAway()) away();
  else if (wasAway) {
    back();
    reached();
  }
}

function stateNow() {
  if (isGone) return "gone";
  if (!navigator.onLine) return "offline";
  if (isUp) return "live";
  if (Date.now() < restartedAt + RESTART) return "restarting";
  return isOnline ? "polling" : "offline";
}

/** While the server is away nobody knows what the agent does: its line is empty until it is known
 * again, but for what was said meanwhile of being away. */
function blankStatus(isAway) {
  const line = byId("status");
  if (!line) return;
  const text = line.textContent;
  if (isAway) {
    if (text.trim() && text !== saidAway) hiddenStatus = { seq: line.dataset.seq, text };
    if (text !== saidAway) line.textContent = saidAway;
    return;
  }
  if (hiddenStatus?.seq === line.dataset.seq) line.textContent = hiddenStatus.text;
  else if (saidAway && text === saidAway) line.textContent = "";
  hiddenStatus = null;
  saidAway = "";
}

/** Say in the status line why something is not done now; it stands there until the server is back. */
function sayAway(sentence) {
  saidAway = sentence;
  (byId("status") ?? byId("needs-said")).textContent = sentence;
}

function note(state) {
  const place = byId("connection-note");
  if (!place) return;
  place.replaceChildren();
  if (!NOTES[state]) return;
  const [words, ...actions] = NOTES[state];
  const line = byId("connection-note-form").content.firstElementChild.cloneNode(true);
  line.dataset.kind = state === "offline" ? "error" : "";
  setIcon(line, STATES[state][1]);
  line.querySelector("b").textContent = behind(lead(state));
  line.querySelector("span span").textContent = words;
  const button = line.querySelector("button");
  for (const [textContent, act] of actions) {
    const each = Object.assign(button.cloneNode(), { textContent });
    each.addEventListener("click", () => act());
    line.append(each);
  }
  button.remove();
  place.append(line);
}

function lead(state) {
  if (state === "restarting") return gettext("Planside is restarting.");
  if (state !== "offline") return "";
  return navigator.onLine ? gettext("Planside does not answer.") : gettext("You are offline.");
}

// Polls

/** A socket that was opened and has never brought anything gives way to another one. */
function look() {
  if (!isUp) say();
  const isOpen = socket?.socket?.readyState === WebSocket.OPEN;
  if (!isUp && isOpen && Date.now() - since > EVERY) connect();
  check();
}

async function check() {
  if (isGone) return;
  if (isDrawerOpen()) await ask(status.dataset.drawerUrl);
  if (!isUp) await ask(`${status.dataset.url}?after=${cursor()}`, status.dataset.url);
}

/** One GET; when nothing has changed the server says 304 and nothing is read. */
async function ask(url, key = url) {
  const known = tags.get(key);
  const sent = performance.now();
  let response;
  try {
    response = await poll(url, { ...headers(), ...(known && { "If-None-Match": known }) });
  } catch {
    return goOffline();
  }
  heardAt = Date.now();
  if (!isOnline) connect();
  isOnline = true;
  if (response.status < 500) reached(sent);
  say();
  if (signedOut(response)) return;
  // Read to its end always: what nobody reads the browser aborts.
  const text = await response.text().catch(() => "");
  if (response.status === 404 && byId("connection-note") && !isGone) {
    isGone = true;
    say();
  }
  if (response.status === 304 || !response.ok || !text) return;
  tags.set(key, response.headers.get("ETag"));
  await swap(text);
}

// While the server is out of reach: since when, and nothing that needs it can be pressed. What a person
// decides is about what they see, so it is never kept for later; messages are (outbox.js).

const WHY = gettext("Planside cannot be reached now. This works again when it is back.");
const LATER = gettext("Write a message to send later");
/** What asks the server for something, and what opens a dialog for that. */
const DECISIONS = [
  "[hx-post]:not(form)",
  "[data-opens]",
  "form[hx-post] button:not([type=button])",
]
  .map((each) => `:is(#plan, #dock, #log, #needs-list) ${each}`)
  .join();

/** The buttons that wait, and the titles that they had. */
const blocked = new Map();

always(() => isAway() && away());

const isAway = () => AWAY_STATES.includes(shown);

/** Since when what is shown may not be so any more. */
function stamp() {
  for (const place of document.querySelectorAll("[data-heard-at]")) place.textContent = stampOf(heardAt);
}

function away() {
  stamp();
  for (const button of document.querySelectorAll(DECISIONS)) block(button);
  const box = byId("say");
  if (box) box.placeholder = LATER;
}

function block(button) {
  if (button.ariaDisabled === "true") return;
  blocked.set(button, button.getAttribute("title"));
  button.ariaDisabled = "true";
  button.title = WHY;
}

function back() {
  for (const [button, title] of blocked) {
    button.ariaDisabled = null;
    if (title === null) button.removeAttribute("title");
    else button.title = title;
  }
  blocked.clear();
  const box = byId("say");
  if (box) box.placeholder = byId("actions").dataset.placeholder;
}

// Before htmx and everybody else.
document.addEventListener("click", keep, true);
document.addEventListener("submit", keep, true);

function keep(event) {
  if (!isAway()) return;
  const isBlocked = blocked.has(event.target.closest?.("button"));
  const decides = event.type === "submit" && event.target.querySelector("button[aria-disabled=true]");
  if (!isBlocked && !(decides && blocked.has(decides))) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  sayAway(WHY);
}
