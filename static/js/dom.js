// Words used everywhere.
//
// Every file here is a module script of its own, so that one which fails leaves the others alone.
// While a file is read it only declares and registers; what it does at the start is given to
// `atStart`, and runs when all files have been read, each by itself.
export const byId = (id) => document.getElementById(id);

/** Call `act(element, event)` for events of this type on, or inside, elements that match. */
export function on(type, selector, act) {
  document.addEventListener(type, (event) => {
    const element = event.target.closest?.(selector);
    if (element) act(element, event);
  });
}

/** Call `act` once, when all modules have been read: listeners do not stop each other. */
export function atStart(act) {
  document.addEventListener("DOMContentLoaded", () => act(), { once: true });
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

/** Whether the drawer is in view. */
export const isDrawerOpen = () => byId("app")?.dataset.drawer === "open";

export const offCanvas = matchMedia("(max-width: 1180px)");

/** Whether the list of conversations lies over the page, where it is not beside it. */
export const isSidebarOver = () => location.hash === "#side" && offCanvas.matches && Boolean(byId("side"));

/** The number of the last event this page has shown. */
export const cursor = () => byId("cursor")?.dataset.seq ?? "0";

export const csrf = () => document.querySelector("meta[name=csrf]").content;

/** Whose page this is; another one after another sign-in. */
export const person = () => document.querySelector("meta[name=person]").content;
