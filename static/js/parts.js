// Parts of the script that come when they are first used. What uses one that is not there yet waits,
// and is done again once it is, in the same order. What the pointer or the focus comes to is fetched
// ahead. A part's file names its modules, as planside.js does.
import { always, byId } from "./dom.js";
import { LOST, failed } from "./requests.js";

const WITH_COMMENTS = '#app:has(.subtask-comment-place:not([data-comment=""]))';
const WITH_FILES = "#app:has(#attachments [data-attachment])";
const MOVES = ["ArrowUp", "ArrowDown"];

/** `uses`: on what an event of this type uses it; of the keys only those of `keys`. `behind`: the form
 * that is not sent before what waits. `there`: what needs it as soon as that is on the page. */
const parts = {
  editing: {
    load: () => import("./editing.js"),
    uses: {
      click:
        "#subtasks :is([data-edit], [data-edit-check], [data-remove], [data-move], [data-comments]), " +
        "#add-subtask, [data-edit-plan], [data-versions]",
      pointerdown: ".grip",
      submit: `${WITH_COMMENTS} :is(#start, #ask-changes-form)`,
      keydown: "#subtasks .step-row[tabindex]",
    },
    keys: ({ key, altKey, target }) =>
      altKey ? MOVES.includes(key) : target.matches(".step-row") && ["Enter", "F2", "Delete"].includes(key),
    behind: "#start",
    there: () => document.querySelector(`${WITH_COMMENTS} #plan`),
  },
  palette: {
    load: () => import("./palette.js"),
    uses: { click: "a[data-goes-to]", keydown: "#palette-field" },
    keys: ({ key }) => ["Enter", ...MOVES].includes(key),
    there: () => /[?&](at|deleted)=/.test(location.search),
  },
  model_picker: {
    load: () => import("./model_picker.js"),
    uses: { click: "[popovertarget=model-picker], [data-another], [data-use-model]" },
  },
  attachments: {
    load: () => import("./attachments.js"),
    uses: {
      click: "#attachments button",
      submit: `${WITH_FILES} #composer, #composer[data-takes-files]`,
      keydown: ".attachment",
    },
    keys: ({ key }) => ["Delete", "Backspace"].includes(key),
    there: () => document.querySelector(WITH_FILES),
  },
};

const names = Object.keys(parts);
const coming = new Map();
const here = new Set();
/** By part, what waits for it: {event, target}. */
const waiting = new Map();
/** When every module of the page has had its start. */
const started = new Promise((resolve) => addEventListener("DOMContentLoaded", resolve, { once: true }));

/** The module of this part; one that did not come is asked for again the next time. */
export async function bring(name) {
  if (!coming.has(name)) coming.set(name, parts[name].load());
  try {
    const module = await coming.get(name);
    await started;
    here.add(name);
    return module;
  } catch (error) {
    coming.delete(name);
    throw error;
  }
}

/** It did not get through, or it is broken: said where it was used, else of the page. */
export function missed(error, element) {
  const isLost = error instanceof TypeError;
  if (!isLost) reportError(error);
  if (!isLost || !failed(element, LOST)) byId("page-fault").hidden = false;
}

// Before everybody else.
addEventListener("click", hold, true);
addEventListener("pointerdown", hold, true);
addEventListener("submit", hold, true);
addEventListener("keydown", hold, true);

function hold(event) {
  const name = names.find((each) => !here.has(each) && (isUsed(parts[each], event) || isBehind(each, event)));
  if (!name) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const held = { event, target: event.target };
  if (waiting.has(name)) waiting.get(name).push(held);
  else {
    waiting.set(name, [held]);
    release(name);
  }
}

function isUsed({ uses, keys }, event) {
  const { type, target } = event;
  if (!uses[type] || !target.closest?.(uses[type])) return false;
  if (type === "keydown") return !event.isComposing && keys(event);
  // A link in a new tab is the browser's own.
  return !(event.ctrlKey || event.metaKey || event.shiftKey) || !target.closest("a[href]");
}

function isBehind(name, { type, target }) {
  const { behind } = parts[name];
  return behind && type === "submit" && waiting.has(name) && target.matches(behind);
}

async function release(name) {
  const error = await bring(name).then(() => null, (fault) => fault);
  const held = waiting.get(name);
  waiting.delete(name);
  if (error) missed(error, held[0].target);
  else held.forEach(again);
}

/** On the same element, which may have been drawn anew meanwhile. */
function again({ event, target }) {
  const place = target.isConnected ? target : target.id && byId(target.id);
  if (!place) return;
  if (event.type === "submit") place.requestSubmit(event.submitter?.isConnected ? event.submitter : null);
  else place.dispatchEvent(new event.constructor(event.type, event));
}

// Ahead

document.addEventListener("pointerover", comesNear);
document.addEventListener("focusin", comesNear);

function comesNear({ target }) {
  if (byId("app")?.hasAttribute("data-stale")) return;
  const isNear = ({ uses: { submit, ...others } }) => target.closest?.(Object.values(others).join());
  for (const name of names) if (!coming.has(name) && isNear(parts[name])) bring(name).catch(() => {});
}

always(() => {
  for (const name of names.filter((each) => !here.has(each) && parts[each].there?.())) {
    bring(name).catch((error) => missed(error, document.body));
  }
});
