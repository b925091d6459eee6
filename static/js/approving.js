// Whether a press may be a yes. What saves in one place would start in the next one, as the focus goes
// on: a key that is held, or pressed again in the same breath, was meant for the place before.
import { always, atStart, byId, on } from "./dom.js";
import { fetched, isChanging, show, sinceChange } from "./requests.js";

const MOMENT = 500; // ms
const MODIFIERS = ["Control", "Meta", "Shift", "Alt"];
// They stay on: some systems tell of one press and never of its end.
const LOCKS = /Lock$|^Lang\d$|^KanaMode$/;
/** Keys that are down, by their place on the keyboard. */
const down = new Set();
/** Whether an Enter went down since all keys were up. */
let isUsed = false;
/** What was pressed last, modifiers aside. */
let last = "";
let refusedAt = -Infinity;
let isOwnPress = false;

/** Whether the last Enter was a press of its own: not held, nor the next one after what it saved. */
export const mayApprove = () => isOwnPress;

// Before everybody else.
addEventListener("keydown", onDown, true);
addEventListener("keyup", onUp, true);
addEventListener("pointerdown", () => (last = ""), true);
addEventListener("blur", allUp);

function onDown(event) {
  if (event.key === "Enter") enter(event);
  // Where the focus has gone while it is held, the browser would press that when it is let go.
  if (event.key?.trim() === "" && event.repeat && event.target.closest?.("button")) event.preventDefault();
  if (!MODIFIERS.includes(event.key)) last = event.key;
  if (!LOCKS.test(event.code)) down.add(event.code);
}

function enter(event) {
  const isAgain = event.repeat || isUsed;
  const pause = Math.min(sinceChange(), performance.now() - refusedAt);
  isOwnPress = !isAgain && !(last === "Enter" && pause < MOMENT);
  if (!isOwnPress) refusedAt = performance.now(); // who taps on and on still means what was before
  isUsed = true;
  // The browser would press a button as often as the key repeats.
  if (isAgain && event.target.closest?.("button:not([type=button])")) event.preventDefault();
}

function onUp({ key, code }) {
  down.delete(code);
  // macOS tells of no other key that went up while this one was down.
  if (key === "Meta" || !down.size) allUp();
}

function allUp() {
  down.clear();
  isUsed = false;
}

// A button that starts or allows something is armed once it has stood still for a moment: what has just
// come, or moved under the pointer, is not what the person aimed at. A no works at once.

const OFTEN = 250; // ms between two looks, as what moves need not change
const GLIDING = 400; // ms in which what an own press has opened comes to its place
const VERBS = [
  ...["activate", "again", "approve", "check", "decide", "go-back", "looked", "make-admin"],
  ...["raise", "replan", "restore", "resume", "retry", "run", "skip", "take", "try"],
];
const WHERE = ["hx-post", "action"].flatMap((name) =>
  VERBS.flatMap((verb) => [`[${name}$="/${verb}"]`, `[${name}*="/${verb}?"]`]),
);
const GRANTING = `button:is(${WHERE}), form:is(${WHERE}):not([data-why]) button:not([type=button])`;
/** Of each that is seen: {grant, place, since, glides}. */
const standing = new Map();

/** Takes in those within `root`, as to look through a long page takes too long. */
function gather(root) {
  if (root.matches?.(GRANTING)) standing.set(root, standing.get(root));
  for (const button of root.querySelectorAll?.(GRANTING) ?? []) standing.set(button, standing.get(button));
}

function grantOf(button) {
  const sent = button.form ? [...button.form.querySelectorAll("input[type=hidden]")] : [];
  const plan = button.closest("[data-plan-id]")?.dataset;
  const posts = [button, button.form].map((each) => each?.getAttribute("hx-post") ?? "");
  return [...posts, ...sent.map(({ value }) => value), plan?.planId, plan?.version].join();
}

/** Whether what changes now is the doing of a press. */
let isActing = false;

const dialogs = document.getElementsByTagName("dialog");

/** What a modal dialog covers is not seen. */
function seenIn() {
  const modal = [...dialogs].filter((each) => each.matches(":modal"));
  return (button) => !modal.length || modal.some((each) => each.contains(button));
}

/** `isScroll`: what moves is moved by the person. */
function look(isScroll = false) {
  if (document.hidden) return; // what comes meanwhile is new to who comes back
  const [now, isUncovered] = [performance.now(), seenIn()];
  for (const [button, before] of standing) {
    if (!button.isConnected || !button.matches(GRANTING)) {
      standing.delete(button);
      continue;
    }
    const { left, top, width } = button.getBoundingClientRect();
    if (!width || !isUncovered(button)) {
      standing.set(button);
      continue;
    }
    const [grant, place] = [grantOf(button), `${Math.round(left)},${Math.round(top)}`];
    const isSame = before?.grant === grant;
    const mayMove = isSame && (isScroll || now < before.glides);
    const stays = isSame && (mayMove || before.place === place);
    const fresh = isActing ? { since: -Infinity, glides: now + GLIDING } : { since: now, glides: 0 };
    standing.set(button, { ...(stays ? before : fresh), grant, place });
    button.toggleAttribute("data-unarmed", !isArmed(button));
  }
}

/** When the press that goes on now began: what came in between was not aimed at. */
let pressedAt = null;

const isArmed = (button) => (pressedAt ?? performance.now()) - standing.get(button)?.since >= MOMENT;

addEventListener("pointerdown", begins, true);
addEventListener("keydown", begins, true);
// Of a press that leaves the window, or opens a menu of the browser, no other end is told.
addEventListener("pointerup", ends, true);
addEventListener("pointercancel", ends, true);
addEventListener("keyup", ends, true);
addEventListener("contextmenu", ends, true);
addEventListener("blur", ends);

function begins({ repeat }) {
  if (!repeat) pressedAt = performance.now();
}

/** Behind the click of it; a browser that is busy may let the next press begin before. */
function ends() {
  const ended = pressedAt;
  setTimeout(() => {
    if (pressedAt === ended) pressedAt = null;
  });
}

// Before everybody else, and by whatever it is pressed: pointer, key, or a chord of ours.
addEventListener("click", onClick, true);

function onClick(event) {
  const button = event.target.closest?.(GRANTING);
  if (button) gather(button);
  look();
  const isKey = event.detail === 0 && last === "Enter" && event.isTrusted;
  if (!button || (isArmed(button) && event.detail < 2 && (!isKey || isOwnPress))) return acts(event);
  event.preventDefault();
  event.stopImmediatePropagation();
}

addEventListener("keydown", acts, true);
addEventListener("cancel", acts, true); // Escape closes a dialog behind its keydown
// On the window, so behind them; the timer is for what stops on its way.
addEventListener("click", acted);
addEventListener("keydown", acted);

/** What comes until all who hear of it are done, the press has opened. */
function acts({ isTrusted }) {
  look();
  isActing = isTrusted;
  setTimeout(acted);
}

function acted() {
  if (isActing) look();
  isActing = false;
}

let scrolledAt = -Infinity;
addEventListener("wheel", scrolls, { passive: true });
addEventListener("touchmove", scrolls, { passive: true });
addEventListener("pointermove", scrolls, { passive: true });
addEventListener("keydown", scrolls);

/** By wheel, finger, a key, or the bar that is dragged. */
function scrolls({ type, buttons }) {
  if (type !== "pointermove" || buttons) scrolledAt = performance.now();
}

addEventListener("scroll", () => look(performance.now() - scrolledAt < 2 * MOMENT), true);
addEventListener("visibilitychange", () => look());
atStart(() => setInterval(look, OFTEN));
atStart(() => {
  const attributeFilter = ["action", "data-unarmed", "data-version", "hidden", "hx-post", "open", "value"];
  new MutationObserver(changed).observe(document.body, { attributeFilter, childList: true, subtree: true });
  gather(document);
  look();
});

function changed(records) {
  for (const { addedNodes, target, type } of records) {
    if (type === "attributes") gather(target);
    else addedNodes.forEach(gather);
  }
  look();
}

// A word that starts a plan is about the version that was on the screen as it was typed. Where another
// one took its place in the last moment it is sent with the one before, and the server says what is now.

let before = null;

document.addEventListener("planside:drawer", ({ detail: { dataset: fresh } }) => {
  const { planId: plan, version } = byId("plan").dataset;
  const isAnother = fresh.planId !== plan || fresh.version !== version;
  if (!isAnother || !byId("start-button") || isChanging()) return;
  const read = isFresh() ? before : { plan, version };
  before = { ...read, now: fresh.version, until: performance.now() + MOMENT };
});

const isFresh = () => before && performance.now() < before.until;

/** What the message box sends. */
export function asSeen(values) {
  if (!isFresh() || values.plan_version !== before.now) return values;
  return { ...values, plan: before.plan, plan_version: before.version };
}

// A long text folds until a person asks for all of it, and a call can be allowed once every line
// of every argument has been on the screen. Without this script nothing is folded. What a call gave
// back, and what it did to a file, come whole when asked for.

const unfolded = new Set(); // texts whose "Show all" was pressed
const wrapped = new Set();
const seen = new Map(); // how far each text was scrolled: {layout, down, right}
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) target.isConnected ? update(target) : sizes.unobserve(target);
});
const SLACK = 2; // pixels

/** A text has no id of its own: it is the nth of its card or row. */
function nameOf(text) {
  const owner = text.closest("[data-approval], details.tool, li");
  const place = [...owner.querySelectorAll("[data-whole]")].indexOf(text);
  return `${owner.id}/${place}`;
}

function update(text) {
  const name = nameOf(text);
  const fold = text.querySelector("[data-fold]");
  const isFolded = Boolean(fold) && !unfolded.has(name);
  if (fold) fold.hidden = !isFolded;
  text.toggleAttribute("data-folded", isFolded);
  text.toggleAttribute("data-wrapped", wrapped.has(name));
  recordSeen(text, name, isFolded);
  const card = text.closest("[data-approval]");
  if (card) guard(card);
}

/** What has been in view stays seen; a text that has no size is not in view. Where the lines lie
 *  otherwise than before, a part that was seen is another part now, so it starts again. */
function recordSeen(text, name, isFolded) {
  if (!text.clientHeight) return;
  const layout = layoutOf(text, isFolded);
  const last = seen.get(name) ?? {};
  if (isSeen(last)) return;
  const before = last.layout === layout ? last : {};
  seen.set(name, {
    layout,
    down: before.down || (!isFolded && text.scrollTop + text.clientHeight >= text.scrollHeight - SLACK),
    right: before.right || text.scrollLeft + text.clientWidth >= text.scrollWidth - SLACK,
  });
}

/** How the lines lie: folding, wrapping and the size of the letters change it, and what is wrapped
 *  lies otherwise at another width. */
function layoutOf(text, isFolded) {
  const parts = [...text.querySelectorAll("pre")];
  const height = parts.reduce((sum, part) => sum + part.offsetHeight, 0);
  const width = text.hasAttribute("data-wrapped") ? text.clientWidth : "";
  const file = text.closest("[data-approval]")?.querySelector("[name=against]")?.value;
  return [isFolded, width, height, file].join();
}

const isSeen = ({ down, right }) => Boolean(down && right);

/** Until all is seen the yes is dashed and says why; the no works at once. */
function guard(card) {
  const texts = [...card.querySelectorAll("[data-whole]")];
  const sights = texts.map((text) => seen.get(nameOf(text)) ?? {});
  const isWhole = sights.every(isSeen);
  const note = card.querySelector("[data-see-all]");
  if (note) note.hidden = isWhole;
  const wrap = card.querySelector("[data-wrap]");
  if (wrap) wrap.hidden = sights.every(({ right }) => right !== false);
  for (const button of card.querySelectorAll("[data-allow]")) (isWhole ? allow : refuse)(button, card);
}

function refuse(button, card) {
  button.setAttribute("aria-disabled", "true");
  button.setAttribute("aria-describedby", `${card.id}-see-all`);
  button.dataset.title ??= button.title;
  button.title = card.querySelector("[data-see-all] p").textContent.trim();
}

function allow(button) {
  button.removeAttribute("aria-disabled");
  button.removeAttribute("aria-describedby");
  if (button.dataset.title !== undefined) button.title = button.dataset.title;
}

document.addEventListener(
  "click",
  (event) => {
    const button = event.target.closest?.("[data-allow][aria-disabled=true]");
    if (!button) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  },
  true,
);

on("click", "[data-show-all]", (button) => {
  const text = button.closest("[data-whole]");
  unfolded.add(nameOf(text));
  update(text);
  text.focus({ preventScroll: true });
});

on("click", "[data-shows-rest]", async (button) => {
  const { id } = button.closest("[id^=call-][hx-ignore]");
  const answer = await fetched(button.dataset.showsRest);
  await show(answer);
  if (answer.error) byId("say-alert").textContent = answer.error;
  else byId(id)?.querySelector("pre, summary")?.closest("[tabindex]")?.focus({ preventScroll: true });
});

on("click", "[data-wrap]", (button) => {
  for (const text of button.closest("[data-approval]").querySelectorAll("[data-whole]")) {
    wrapped.add(nameOf(text));
    update(text);
  }
});

document.addEventListener(
  "scroll",
  ({ target }) => {
    if (target.matches?.("[data-whole]")) update(target);
  },
  true,
);

always(() => {
  for (const text of document.querySelectorAll("[data-whole]")) {
    sizes.observe(text);
    update(text);
  }
});
