// Each request carries the CSRF token and the number of the last event on the page. A POST is
// answered with the number of an event, and is over when the page shows that. What fails is said
// once, where it happened, and what was typed stays.
import { byId, csrf, cursor, gettext } from "./dom.js";
import { leave } from "./unsent.js";

export const LOST = gettext("That did not get through. Check the connection and try again.");
const BROKE = gettext("Something broke inside Planside. Nothing was changed.");
export const AWAY = gettext("The database does not answer at the moment. Try again in a few seconds.");
const GONE = gettext("That is gone. Nothing was changed; load the page again.");
const FULL = gettext("The server’s disk is full. Nothing was changed; make room and try again.");
const LOST_BEFORE = new Error(gettext("A change before it was not saved. Nothing was started."));
const LATE = 1000; // ms after which what a socket has not brought is fetched
const PATIENCE = 20_000; // ms for the answer of a poll

const PASSING = [LOST, AWAY];
/** Where it was said that something did not get through, and when, by performance.now(). */
const lost = new Map();

/** What changes a plan waits for the change before it; what halts a run never waits. */
const CHANGES = /\/plan\/(approve|edit|subtasks|comments|go-back)/;
/** Changes that did not get through. A start that waited for one of them was about a plan that is not. */
let lostChanges = 0;
export const loseChange = () => (lostChanges += 1);

/** The version that a change of this page's own made of another one. */
const made = new Map();

/** A person who starts v3 while their own change makes it v4 has seen v4; any other is refused. */
export function follow({ plan, version }) {
  const now = byId("plan").dataset;
  if (now.planId === plan && Number(now.version) === Number(version) + 1) {
    made.set(`${plan}/${version}`, now.version);
  }
}

function upToDate(request) {
  const next = () => made.get(`${request.body?.get("plan")}/${request.body?.get("version")}`);
  while (next()) request.body.set("version", next());
  return request;
}

/** Posts of this page that were sent, and those that were answered. */
let done = 0;
/** How many there had been when a poll was sent. */
const polls = new WeakMap();
/** When a request of htmx was sent. */
const sentAt = new WeakMap();
/** When this page last changed something, by performance.now(); Infinity while it does. */
let changedAt = -Infinity;
/** How long ago that was, in ms. A yes is no change. */
export const sinceChange = () => performance.now() - changedAt;
/** Whether a new version may be what was done here. */
export const isChanging = () => sinceChange() < LATE;
const APPROVES = /\/plan\/approve/;

/** Sends what changes something, so that news that come with it count as one's own. */
async function changing(url, post) {
  if (APPROVES.test(url)) return post();
  changedAt = Infinity;
  return post().finally(() => (changedAt = performance.now()));
}

document.addEventListener("htmx:config:request", (event) => {
  const { ctx } = event.detail;
  sentAt.set(ctx, performance.now());
  Object.assign(ctx.request.headers, headers());
  ctx.target = byId("app"); // what was pressed may be gone before its answer comes
  if (ctx.sourceElement.matches("[hx-trigger^=every]")) polls.set(ctx, done);
  if (ctx.request.method !== "POST") return;
  done += 1;
  acts(ctx.sourceElement);
  forgetRefusal(ctx.sourceElement);
  nameThePlan(ctx);
  const post = async (url, request) => {
    const response = await fetch(url, request);
    done += 1;
    answered(ctx.sourceElement, response);
    await shown(response);
    tell("planside:shown", ctx.sourceElement, response);
    return response;
  };
  const act = (url, request) => changing(url, () => post(url, request));
  const lostBefore = lostChanges;
  const actInTurn = async (url, request) => {
    if (APPROVES.test(url) && lostChanges !== lostBefore) throw LOST_BEFORE;
    return act(url, upToDate(request));
  };
  const waits = CHANGES.test(ctx.request.action);
  ctx.fetch = waits ? (url, request) => inTurn("plan", () => actInTurn(url, request)) : act;
});

/** Something is done: what could be undone until then is over. */
function acts(element = null) {
  document.dispatchEvent(new CustomEvent("planside:acts", { detail: element }));
}

/** Said before this answer is shown; htmx's own event comes after that. */
const answered = (element, response) => tell("planside:answered", element, response);

function tell(type, element, { ok }) {
  document.dispatchEvent(new CustomEvent(type, { detail: { element, ok } }));
}

/** What was wrong with a form as it was sent before is not said of what is on its way now. */
function forgetRefusal(element) {
  const alert = element.closest("form")?.querySelector("[role=alert]");
  if (alert) alert.textContent = "";
}

/** A decision is about the plan and version on the screen: those of the form or dialog as it was
 * opened, else of the drawer. */
function nameThePlan({ sourceElement, request }) {
  const shown = sourceElement.closest("[data-plan-id]")?.dataset;
  if (!shown) return;
  if (!request.body.has("plan")) request.body.set("plan", shown.planId);
  if (!request.body.has("version")) request.body.set("version", shown.version);
}

document.addEventListener("htmx:before:response", (event) => {
  const { ctx } = event.detail;
  // What a poll found before something was done here would draw over what came of that.
  const isLate = polls.has(ctx) && polls.get(ctx) !== done;
  if (signedOut(ctx.response.raw) || isLate) event.preventDefault();
});

document.addEventListener("htmx:error", (event) => {
  const { ctx, error } = event.detail;
  if (!ctx) return;
  const said = error === LOST_BEFORE ? `${alertOf(ctx.sourceElement).textContent} ${error.message}` : LOST;
  failed(ctx.sourceElement, said.trim());
});

document.addEventListener("htmx:response:error", (event) => {
  const { ctx } = event.detail;
  const { status } = ctx.response;
  if (isBroken(status, ctx.text)) failed(ctx.sourceElement, errorText(status));
});

/** A refusal brings fragments; what stands outside of the application brings a page, or nothing. */
function isBroken(status, text) {
  return status >= 500 || status === 403 || (status === 404 && !text.includes("<hx-partial"));
}

function errorText(status) {
  return { 404: GONE, 503: AWAY, 507: FULL }[status] ?? BROKE;
}

export function headers() {
  return { "X-CSRFToken": csrf(), "Planside-Seen": cursor(), "Accept-Language": document.documentElement.lang };
}

/** The session has ended, or the page's token is of an earlier one: it is loaded again, which asks for
 * a sign-in where one is needed. */
export function signedOut(response) {
  if (!response.headers.has("Planside-Reload")) return false;
  leave();
  return true;
}

// What happened is shown

let connection = null;
let messages = 0; // that the socket has brought
document.addEventListener("htmx:ws:before:connection", (event) => {
  connection = event.detail.connection;
});
document.addEventListener("htmx:ws:before:message:incoming", () => (messages += 1));

/** Resolves when the page shows the event that an answer names. The socket is told that the page
 * waits for it, as not all news is announced; what it does not bring is fetched. */
export async function shown(response) {
  const seq = Number(response.headers.get("Planside-Seq"));
  const isShown = () => Number(cursor()) >= seq;
  if (isShown() || isOfAnother(response.url)) return;
  // A page of no conversation has what the answer brings; beside changed files there may be a drawer.
  if (!byId("cursor")) return bringDrawer();
  const socket = connection?.socket;
  const before = messages;
  const isOpen = socket?.readyState === WebSocket.OPEN;
  if (isOpen) {
    socket.send(String(seq));
    await until(isShown);
  }
  if (isShown()) return;
  await fetchChanges();
  if (isOpen && messages === before) silence();
}

let drawerTag = "";

/** The drawer of a page without a socket; when nothing has changed the server says 304. */
export async function bringDrawer() {
  const address = byId("drawer-beside")?.dataset.url;
  if (!address) return;
  const known = drawerTag && { "If-None-Match": drawerTag };
  const response = await fetch(address, { headers: { ...headers(), ...known } }).catch(() => null);
  if (!response || signedOut(response)) return;
  const text = await response.text().catch(() => "");
  if (response.status !== 200 || !text) return;
  drawerTag = response.headers.get("ETag") ?? "";
  await swap(text);
}

/** What is done with another conversation of the list has a number in that one's events. */
function isOfAnother(url) {
  const [, pk] = /\/c\/(\d+)\//.exec(url) ?? [];
  return pk && pk !== byId("app").dataset.conversation;
}

const silence = () => document.dispatchEvent(new CustomEvent("planside:silence"));
let isCatchingUp = false;

/** A GET that comes again, answered with the number of the last event that there is. What does not
 * answer is told, whatever the socket seems to be. */
export async function poll(url, headers) {
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(PATIENCE) });
    catchUp(response);
    return response;
  } catch (error) {
    if (error.name === "TimeoutError") silence();
    throw error;
  }
}

async function catchUp(response) {
  if (isCatchingUp || !byId("cursor")) return;
  isCatchingUp = true;
  await shown(response).finally(() => (isCatchingUp = false));
}

/** Resolves when it is so, when the socket has closed, or after a second. */
function until(isSo) {
  return new Promise((resolve) => {
    const end = new AbortController();
    const listen = (type, act) => document.addEventListener(type, act, { signal: end.signal });
    end.signal.addEventListener("abort", resolve);
    listen("htmx:after:swap", () => isSo() && end.abort());
    listen("htmx:ws:close", () => end.abort());
    setTimeout(() => end.abort(), LATE);
  });
}

async function fetchChanges() {
  const address = `${byId("connection").dataset.url}?after=${cursor()}`;
  const changes = await fetch(address, { headers: headers() }).catch(() => null);
  if (changes && !signedOut(changes) && changes.ok) await swapFrom(changes);
}

/** What an answer brings; nothing of one that is cut off: what comes by itself is asked for again. */
export async function swapFrom(answer) {
  const text = await answer.text().catch(() => "");
  if (text) await swap(text);
}

/** POST as a form. Answers {ok, error, response, text}: `error` when no fragments came, `text` when they
 * did; or `isLeaving`. What it has changed is on the page after `show`. */
export async function send(url, values) {
  acts();
  const sent = performance.now();
  let response;
  try {
    const request = { headers: { ...headers(), "HX-Request": "true" }, body: new URLSearchParams(values) };
    response = await changing(url, () => fetch(url, { method: "POST", ...request }));
  } catch {
    return { ok: false, error: LOST };
  }
  if (signedOut(response)) return { ok: false, error: "", isLeaving: true };
  if (response.status < 500) reached(sent);
  const elsewhere = response.headers.get("HX-Redirect");
  if (elsewhere) location.assign(elsewhere);
  const text = await response.text().catch(() => "");
  if (isBroken(response.status, text)) return { ok: false, error: errorText(response.status) };
  return { ok: response.ok, error: "", response, text };
}

/** GET of a part of the page. */
export async function fetched(url) {
  const response = await fetch(url, { headers: headers() }).catch(() => null);
  if (!response) return { error: LOST };
  if (signedOut(response)) return { error: "" };
  const text = await response.text().catch(() => null); // to its end always: what nobody reads is aborted
  if (text === null) return { error: LOST };
  return response.ok ? { text } : { error: errorText(response.status) };
}

export async function show({ response, text }) {
  if (response) await shown(response);
  if (text) await swap(text);
}

export function swap(text) {
  return htmx.swap({ sourceElement: byId("app"), target: byId("app"), swap: "none", text });
}

function failed(element, sentence) {
  const alert = alertOf(element);
  if (alert) sayUntilReached(alert, sentence);
}

/** What only says that nothing got through is taken away when the way is back. */
export function sayUntilReached(alert, sentence) {
  alert.textContent = sentence;
  if (PASSING.includes(sentence)) lost.set(alert, performance.now());
}

/** An answer has come: what was lost before its request was `sent` may be tried again. */
export function reached(sent = performance.now()) {
  for (const [alert, said] of lost) {
    if (said > sent) continue;
    if (PASSING.includes(alert.textContent)) alert.textContent = "";
    lost.delete(alert);
  }
  document.dispatchEvent(new CustomEvent("planside:reached"));
}
document.addEventListener("htmx:before:response", ({ detail: { ctx } }) => {
  if (ctx.response.status < 500) reached(sentAt.get(ctx));
});

/** The alert nearest to where the request came from. */
function alertOf(element) {
  const card = element.closest("article.card[id]");
  return (
    byId(element.dataset.alert) ??
    element.closest("form, aside, [popover]")?.querySelector("[role=alert]") ??
    (card && byId(`${card.id}-alert`)) ??
    byId(element.closest("#composer, .log") ? "say-alert" : "plan-alert") ??
    byId("say-alert")
  );
}

// Requests that must not overtake each other

const lines = new Map();

/** Run `task` when every earlier one of this line has ended; answers as the task does. */
export function inTurn(line, task) {
  const before = lines.get(line) ?? Promise.resolve();
  const now = before.then(task, task);
  lines.set(
    line,
    now.catch(() => {}),
  );
  return now;
}
