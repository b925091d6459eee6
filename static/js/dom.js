// What all modules use. While a file is read it only declares and registers; what it does at the start
// is given to `atStart`, so that a module that fails leaves the others alone.
export const byId = (id) => document.getElementById(id);

/** Call `act(element, event)` for events of this type on, or inside, elements that match. */
export function on(type, selector, act) {
  document.addEventListener(type, (event) => {
    const element = event.target.closest?.(selector);
    if (element) act(element, event);
  });
}

let hasStarted = false;
document.addEventListener("DOMContentLoaded", () => (hasStarted = true), { once: true });

/** Call `act` once, when all modules have been read. */
export function atStart(act) {
  if (hasStarted) queueMicrotask(() => act());
  else document.addEventListener("DOMContentLoaded", () => act(), { once: true });
}

/** Call `act` at the start and after each time the server has changed something on the page. */
export function always(act) {
  document.addEventListener("htmx:after:swap", act);
  atStart(act);
}

/** Move an element to the end of `place`; who types in it goes on. */
export function moveInto(place, element) {
  if (place.moveBefore) return place.moveBefore(element, null);
  const held = document.activeElement;
  place.append(element);
  if (element.contains(held)) held.focus();
}

/** Open what is folded around an element. */
export function unfoldAround(element) {
  const folded = element.parentElement.closest("details");
  if (!folded) return;
  folded.open = true;
  unfoldAround(folded);
}

/** Draw another icon of the sprite (static/icons.svg) in the place of the one that is there. */
export function setIcon(element, name) {
  const use = element.querySelector("use");
  const [sprite, now] = use.getAttribute("href").split("#i-");
  if (name !== now) use.setAttribute("href", `${sprite}#i-${name}`);
  return now;
}

/** Whether the agent's files are in view, in place of the drawer. */
export const areFilesOpen = () => byId("app")?.dataset.files === "open";

/** Whether the drawer is in view. */
export const isDrawerOpen = () => byId("app")?.dataset.drawer === "open" && !areFilesOpen();

export const offCanvas = matchMedia("(max-width: 1180px)");

/** Whether the list of conversations lies over the page, where it is not beside it. */
export const isSidebarOver = () => location.hash === "#side" && offCanvas.matches && Boolean(byId("side"));

/** The number of the last event this page has shown. */
export const cursor = () => byId("cursor")?.dataset.seq ?? "0";

export const csrf = () => document.querySelector("meta[name=csrf]").content;

/** Whose page this is; another one after another sign-in. */
export const person = () => document.querySelector("meta[name=person]").content;

// Texts, in the language of the page (console/language.py: script_texts).

const lang = document.documentElement.lang;

/** For Intl: the language of the page, as the browser's owner has it (en-GB writes 3 Nov, en Nov 3). */
export const locale = navigator.languages.find((each) => family(each) === family(lang)) ?? lang;

/** Language and script; nothing where the browser names something that is no language. */
function family(tag) {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script}`;
  } catch {
    return "";
  }
}

/** The text in the page's language, with `values` at their {names}. */
export function gettext(text, values = {}) {
  return filled(globalThis.django?.gettext(text) ?? text, values);
}

/** One of two forms, by the number `values.n`. */
export function ngettext(one, several, values) {
  const text = globalThis.django?.ngettext(one, several, values.n) ?? (values.n === 1 ? one : several);
  return filled(text, values);
}

/** A sentence with the space that another one behind it wants: none after a full-width sign. */
export const behind = (sentence) => (/(^|[。！？])$/.test(sentence) ? sentence : `${sentence} `);

/** What has happened, where something that a person has typed outlives it. */
export const withTextKept = (news) => gettext("{news} Your text is kept.", { news });

function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

const list = new Intl.ListFormat(locale);

/** a, b and c. */
export const listed = (words) => list.format(words);
