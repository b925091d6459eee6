// Messages between the box and the conversation: sent one after the other, each once. One whose files
// are on their way, or that did not get through, waits above the box, and so do those behind it; they
// go by themselves when the files are up and the server is within reach.
import { refuse, whenUp } from "./attachments.js";
import { byId, gettext, ngettext, on } from "./dom.js";
import { LOST, inTurn, send, show } from "./requests.js";

const AGAIN = 2000; // ms before what did not get through is sent again
const NOTE = 10_000; // ms

/** In the order in which they were written: {number, values, files, bubble, isUp, isLost, wasLost}. */
let waiting = [];
/** Messages whose answer has not come. */
const onTheirWay = new Set();
/** Those that are sent, or whose answer is being shown. */
let sending = 0;
let written = 0;
let sentLate = 0;
let pause = Promise.resolve();
/** What the message box does: `takes(text)`, `refused(text, error)`, `sent()`, `changed()`. */
let box = {};

export const useOutbox = (callbacks) => (box = callbacks);
export const textsThatWait = () => waiting.map(({ values }) => values.text);
export const isSending = () => sending > 0;
export const textsOnTheirWay = () => [...onTheirWay].map(({ values }) => values.text);

/** `sent_as` is the same each time the message is sent: the server takes it in once. */
export function post(values, files) {
  written += 1;
  const message = { number: written, values: { ...values, sent_as: someId() }, files };
  const mustWait = files.waitsFor() || waiting.length || isAway();
  if (mustWait) hold(message);
  else carry(message);
}

const isAway = () => ["", "offline"].includes(byId("app").dataset.stale);

/** randomUUID is only there where the address is safe. */
const someId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(36)).join("");

function carry(message) {
  onTheirWay.add(message);
  return inTurn("composer", () => deliver(message));
}

async function deliver(message) {
  sending += 1;
  const isBehind = waiting.some(({ number }) => number < message.number);
  const ids = await message.files.isUp();
  const values = { ...message.values, attachments: ids.join(",") };
  const answer = isBehind ? { error: LOST } : await send(box.address(), values);
  if (answer.isLeaving) return;
  if (answer.error === LOST) return lose(message, isBehind);
  onTheirWay.delete(message);
  await show(answer);
  sending -= 1;
  message.files.release();
  if (!answer.ok) return box.refused(message.values.text, answer.error);
  box.sent();
  if (message.wasLost) sayIsBack();
}

/** The connection that lost it is looked at; what is heard next lets it go again. */
function lose(message, isBehind) {
  onTheirWay.delete(message);
  sending -= 1;
  Object.assign(message, { isLost: true, wasLost: true });
  hold(message);
  if (isBehind) return;
  pause = new Promise((resolve) => setTimeout(resolve, AGAIN));
  document.dispatchEvent(new CustomEvent("planside:silence"));
}

document.addEventListener("planside:reached", async () => {
  if (!waiting.length) return;
  await pause;
  if (isAway()) return;
  for (const message of waiting) message.isLost = false;
  sendWaiting();
});

function sayIsBack() {
  sentLate += 1;
  if (waiting.length || onTheirWay.size) return;
  const note = byId("back-online-form").content.firstElementChild.cloneNode(true);
  note.querySelector("span").textContent = ngettext(
    "Back online. Sent {n} message.",
    "Back online. Sent {n} messages.",
    { n: sentLate },
  );
  sentLate = 0;
  byId("back-online").replaceChildren(note);
  setTimeout(() => note.remove(), NOTE);
}

// What waits stands above the box, and in the draft

async function hold(message) {
  const { files, values } = message;
  if (isAway()) message.wasLost = true;
  message.bubble = byId("held-form").content.firstElementChild.cloneNode(true);
  const own = message.bubble.querySelector(".own-message");
  own.textContent = values.text.trim();
  own.hidden = !own.textContent;
  message.bubble.querySelector(".message-attachments").append(...files.names.map(chip));
  const next = waiting.find(({ number }) => number > message.number);
  waiting.splice(next ? waiting.indexOf(next) : waiting.length, 0, message);
  byId("held").insertBefore(message.bubble, next?.bubble ?? null);
  count();
  box.changed();
  const ids = await files.isUp();
  message.isUp = true;
  if (!waiting.includes(message)) return;
  if (!ids) {
    takeBack(message);
    refuse(gettext("Not sent: a file was not uploaded."));
  }
  sendWaiting();
}

const chip = (textContent) => Object.assign(document.createElement("span"), { className: "file-chip", textContent });

/** In order, up to the first whose files are not up, or that did not get through. */
function sendWaiting() {
  while (waiting[0]?.isUp && !waiting[0].isLost && !isAway()) {
    const message = waiting.shift();
    message.bubble.remove();
    carry(message);
  }
  count();
}

function count() {
  let files = 0;
  for (const { files: own, bubble } of waiting) {
    files += own.waitsFor();
    bubble.querySelector(".unsent span").textContent = files ? whenUp(files) : gettext("Waiting to send");
  }
}

function leaveOut(message) {
  waiting = waiting.filter((each) => each !== message);
  message.bubble.remove();
}

function takeBack(message) {
  leaveOut(message);
  message.files.release();
  box.takes(message.values.text);
}

const heldAt = (button) => waiting.find(({ bubble }) => bubble.contains(button));

on("click", "[data-edit-held]", (button) => {
  takeBack(heldAt(button));
  byId("say").focus();
  sendWaiting();
});

on("click", "[data-discard-held]", (button) => {
  const message = heldAt(button);
  leaveOut(message);
  message.files.discard();
  box.changed();
  byId("say").focus();
  sendWaiting();
});
