// Each request carries the CSRF token and how far the page has read. What fails is said once, where
// it happened, and what was typed stays.
import { byId, csrf, cursor } from "./dom.js";

export const LOST = "That did not get through. Check the connection and try again.";
export const BROKE = "Something broke inside Planside. Nothing was changed.";
export const AWAY = "The database does not answer at the moment. Try again in a few seconds.";
export const FULL = "The server’s disk is full. Nothing was changed; make room and try again.";

document.addEventListener("htmx:config:request", (event) => {
  const { ctx } = event.detail;
  Object.assign(ctx.request.headers, headers());
  ctx.target = byId("app"); // what was pressed may be gone before its answer comes
});

document.addEventListener("htmx:before:response", (event) => {
  if (signedOut(event.detail.ctx.response.raw)) event.preventDefault();
});

document.addEventListener("htmx:error", (event) => {
  if (event.detail.ctx) failed(event.detail.ctx.sourceElement, LOST);
});

document.addEventListener("htmx:response:error", (event) => {
  const { ctx } = event.detail;
  const { status } = ctx.response;
  if (status >= 500 || status === 403 || status === 404) failed(ctx.sourceElement, told(status));
});

function told(status) {
  return { 503: AWAY, 507: FULL }[status] ?? BROKE;
}

export function headers() {
  return { "X-CSRFToken": csrf(), "Planside-After": cursor() };
}

/** The session has ended: the page asks for a sign-in by being loaded again. */
export function signedOut(response) {
  if (!response.redirected || !response.url.includes("/signin/")) return false;
  location.reload();
  return true;
}

/** POST as a form and put what changed onto the page. Answers {ok, said}. */
export async function send(url, values, source) {
  let response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { ...headers(), "HX-Request": "true" },
      body: new URLSearchParams(values),
    });
  } catch {
    return { ok: false, said: LOST };
  }
  if (signedOut(response)) return { ok: false, said: "" };
  if (response.status >= 500) return { ok: false, said: told(response.status) };
  return { ok: response.ok, said: "", text: await response.text(), source };
}

export function swap(text) {
  return htmx.swap({ sourceElement: byId("app"), target: byId("app"), swap: "none", text });
}

function failed(element, sentence) {
  if (element.id === "composer") {
    document.dispatchEvent(new CustomEvent("planside:unsent"));
    return;
  }
  const alert = alertOf(element);
  if (alert) alert.textContent = sentence;
}

/** The alert nearest to where the request came from. */
function alertOf(element) {
  const card = element.closest("article.card[id]");
  return (
    element.closest("form, aside")?.querySelector("[role=alert]") ??
    (card && byId(`${card.id}-alert`)) ??
    byId(element.closest("#composer, .log") ? "say-alert" : "plan-alert") ??
    byId("say-alert")
  );
}
