// Four words used everywhere.
export const byId = (id) => document.getElementById(id);

/** Call `act(element, event)` for events of this type on, or inside, elements that match. */
export function on(type, selector, act) {
  document.addEventListener(type, (event) => {
    const element = event.target.closest?.(selector);
    if (element) act(element, event);
  });
}

/** Call `act` now and after each time the server has changed something on the page. */
export function always(act) {
  document.addEventListener("htmx:after:swap", act);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", act);
  else act();
}

/** The number of the last event this page has shown. */
export const cursor = () => byId("cursor")?.dataset.seq ?? "0";

export const csrf = () => document.querySelector("meta[name=csrf]").content;
