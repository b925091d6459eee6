// Small things: dialogs, what can be undone, the settings' cards, the list of plans.
import { always, atStart, behind, byId, gettext, on, person, withTextKept } from "./dom.js";
import { headers, poll, signedOut, swapFrom } from "./requests.js";

// Dialogs

/** Where the answer of an open dialog goes. */
const asked = new WeakMap();

on("click", "[data-opens]", (button) => {
  const dialog = byId(button.dataset.opens);
  button.closest("[popover]")?.hidePopover();
  sayWhatStops(dialog);
  const alert = dialog.querySelector("[role=alert]");
  if (alert) alert.textContent = "";
  pointDialogAt(dialog, button.dataset);
  if (dialog.id === "rename-dialog") {
    dialog.dataset.of = button.dataset.of;
    dialog.dataset.title = titleNow(dialog);
    const field = dialog.querySelector("[name=title]");
    field.defaultValue = field.value = dialog.dataset.title;
  }
  // What is answered is this plan at this version, whatever the drawer shows by then.
  const { planId, version } = byId("plan")?.dataset ?? {};
  if (planId) Object.assign(dialog.dataset, { planId, version });
  asked.set(dialog, button.dataset.to);
  dialog.showModal();
});
always(() => document.querySelectorAll("dialog[open]").forEach((dialog) => asked.has(dialog) && refresh(dialog)));

/** What a dialog asks about goes on meanwhile: its words follow, and when its button has gone there
 * is nothing left to ask, unless something was typed. */
function refresh(dialog) {
  const openers = [...document.querySelectorAll(`[data-opens="${dialog.id}"]`)];
  if (openers.some((button) => button.dataset.to === asked.get(dialog))) return sayWhatStops(dialog);
  const typed = [...dialog.querySelectorAll("textarea, input:not([type=hidden])")].some((field) => field.value.trim());
  if (!typed) return dialog.close();
  dialog.querySelector("[role=alert]").textContent = withTextKept(gettext("The plan has gone on meanwhile."));
}
// Done, the menu is in the way.
document.addEventListener("planside:answered", ({ detail: { element, ok } }) => {
  if (ok) element.closest("#menu")?.hidePopover();
});

/** Who renames it hears that it is called otherwise by now; what is typed stays, and where nothing was
 * the field follows. */
always(() => {
  const dialog = byId("rename-dialog");
  const title = dialog?.open && titleNow(dialog);
  if (!title || dialog.dataset.title === title) return;
  const field = dialog.querySelector("[name=title]");
  const isUntouched = field.value === dialog.dataset.title;
  if (isUntouched) field.value = title;
  dialog.dataset.title = title;
  const news = gettext("It is called “{title}” now.", { title });
  const hasText = !isUntouched && field.value.trim();
  dialog.querySelector("[role=alert]").textContent = hasText ? withTextKept(news) : news;
});

on("click", "[data-close-dialog]", (button) => button.closest("dialog").close());
on("click", "button[data-closes]", (button) => button.closest("dialog").close());
// A password that was typed and not sent stays nowhere.
document.addEventListener(
  "close",
  ({ target }) => target.querySelectorAll("input[type=password]").forEach((field) => (field.value = "")),
  true,
);
document.addEventListener("planside:answered", ({ detail: { element, ok } }) => {
  if (!ok) return;
  if (element.matches("form[data-closes]")) {
    element.closest("dialog").close();
    element.reset();
  }
  element.closest("[data-toast]")?.remove();
});

/** Which subtasks the question is about. */
function sayWhatStops(dialog) {
  const rows = [...document.querySelectorAll("#subtasks > li[data-key]")];
  const now = rows.findIndex((row) => ["in_progress", "todo"].includes(row.dataset.state)) + 1;
  const stop = dialog.querySelector("[data-stop-words]");
  if (stop && now) stop.textContent = stopWords(now, rows.length);
  const cancel = dialog.querySelector("[data-cancel-words]");
  if (cancel) {
    const began = byId("plan").dataset.approvedVersion;
    cancel.textContent = began
      ? gettext("What is done stays done, and files already written stay. The rest will not run.")
      : gettext("Nothing has run. The proposal stays in the conversation, marked cancelled.");
  }
}

function stopWords(now, last) {
  const rest = restWords(now + 1, last);
  const ends =
    now === last
      ? gettext("Subtask {now} ends where it is.", { now })
      : gettext("Subtask {now} ends where it is and {rest} will not run.", { now, rest });
  return behind(ends) + gettext("Files already written stay. You can start again from subtask {now}.", { now });
}

function restWords(next, last) {
  if (next === last) return last;
  return next + 1 === last ? gettext("{next} and {last}", { next, last }) : gettext("{next} to {last}", { next, last });
}

/** One dialog asks about many subtasks: the button says about which, and where the answer goes. */
function pointDialogAt(dialog, { to, about }) {
  if (!to) return;
  const form = dialog.querySelector("form");
  form.reset();
  form.setAttribute("hx-post", to);
  if (about) dialog.querySelector("h2").textContent = about;
}

// What can be undone stays until something else is done, or for ten seconds without the reader on it

const TOAST = 10_000;
let fading = 0;

document.addEventListener("planside:acts", ({ detail: element }) => {
  const toast = document.querySelector("[data-toast]");
  if (!toast?.contains(element)) toast?.remove();
});

always(() => {
  const toast = document.querySelector("[data-toast]:not([data-seen])");
  if (!toast) return;
  toast.dataset.seen = "";
  leaveAddress(toast.dataset.toast);
  clearTimeout(fading);
  fading = setTimeout(function fade() {
    if (toast.matches(":hover, :focus-within")) fading = setTimeout(fade, TOAST);
    else toast.remove();
  }, TOAST);
});

/** What has told of it is not in the address any more: the page that is loaded again says it no more. */
function leaveAddress(name) {
  const address = new URL(location);
  if (!name || !address.searchParams.has(name)) return;
  address.searchParams.delete(name);
  history.replaceState(history.state, "", address);
}

// Settings: one card open at a time, with its file beside it

/** The body that is open, "" for none, and nothing while the page is as it was loaded. */
let unfolded;

function applyUnfolded() {
  if (unfolded === undefined) return;
  for (const button of document.querySelectorAll("[data-unfold]")) {
    const isOpen = button.dataset.unfold === unfolded;
    button.setAttribute("aria-expanded", String(isOpen));
    byId(button.dataset.unfold).hidden = !isOpen;
  }
}

// A card that was folded while it was being saved is drawn anew, and stays folded.
always(applyUnfolded);

on("click", "[data-unfold]", (button, event) => {
  event.preventDefault();
  const opens = button.getAttribute("aria-expanded") === "false";
  unfolded = opens ? button.dataset.unfold : "";
  applyUnfolded();
  // In the address too, as without scripts: the card is open when the page is loaded again.
  const chosen = opens ? `?${new URLSearchParams({ [button.name]: button.value })}` : "";
  history.replaceState(null, "", location.pathname + chosen);
  if (!opens || !button.dataset.fileUrl) return;
  const isLoaded = !byId(button.dataset.unfold).querySelector("[data-loading]");
  htmx.ajax("GET", button.dataset.fileUrl + (isLoaded ? "" : "?card"), { source: button, swap: "none" });
});

// Cards that are opened one after the other: the file beside them is of the last one.
document.addEventListener("htmx:before:response", (event) => {
  const { unfold } = event.detail.ctx.sourceElement.dataset;
  if (unfold && unfold !== unfolded) event.preventDefault();
});

/** Of the conversation that is renamed: the page's own, or one of the list. */
function titleNow({ dataset }) {
  const isHere = dataset.of === byId("app").dataset.conversation;
  const title = isHere ? "#heading h1" : `#conversation-${dataset.of} > .truncate`;
  return document.querySelector(title)?.textContent ?? "";
}

// The list of plans, and the changes of one: the address says what is looked for

document.addEventListener("htmx:after:request", (event) => {
  const form = event.detail.ctx.sourceElement;
  if (!["plan-filter", "timeline-filter"].includes(form.id)) return;
  const wanted = [...new FormData(form)].filter(([, value]) => value);
  const query = String(new URLSearchParams(wanted));
  history.replaceState(null, "", location.pathname + (query && `?${query}`));
});

/** What was found in an alternative that is not shown: opened again once it is. */
document.addEventListener("planside:answered", ({ detail: { element, ok } }) => {
  if (ok && element.dataset.then) location.assign(element.dataset.then);
});

// One rule for the Enter key in every form: Enter saves from a field of one line, Ctrl+Enter from a
// field of several, where Enter begins a new line. The message box has keys of its own.

const ENTER_SAVES = "input, textarea[data-one-line]";

on("keydown", "form", (form, event) => {
  if (event.key !== "Enter" || event.isComposing || event.defaultPrevented || form.id === "composer") return;
  const isOneLine = event.target.matches(ENTER_SAVES);
  if (!isOneLine && !event.target.matches("textarea, [role=textbox]")) return;
  if (!isOneLine && !event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const button = form.querySelector("button:not([type=button])");
  // What counts as soon as it is chosen is not sent once more.
  const isSent = button || (form.getAttribute("hx-trigger") ?? "submit").includes("submit");
  if (!event.repeat && isSent) button ? button.click() : form.requestSubmit();
});

// The list of keys: ? opens it where nobody types, unless the person has turned that off.

const TYPED_IN = "input, textarea, select, [contenteditable]";

document.addEventListener("keydown", (event) => {
  const isHeld = event.ctrlKey || event.altKey || event.metaKey || event.isComposing;
  if (event.key !== "?" || isHeld || event.defaultPrevented || event.target.closest(TYPED_IN)) return;
  if (!("listsKeys" in document.documentElement.dataset) || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  openKeys();
});

on("click", "[data-lists-keys-now]", () => openKeys());

/** The place of the list is empty until it is first asked for. */
async function openKeys() {
  const { url } = byId("keys")?.dataset ?? {};
  if (url) await fetchList(url);
  byId("keys")?.showModal?.();
}

async function fetchList(url) {
  const answer = await poll(url, headers()).catch(() => null);
  if (answer && !signedOut(answer) && answer.ok) await swapFrom(answer);
}

// How the pages look for the person: what is chosen counts at once, here and in the other tabs. The
// server draws it into the page, and what a page was drawn with is news for tabs that are older.

const root = document.documentElement;
const KEY = `appearance-${person()}`;

const shown = () =>
  JSON.stringify({
    theme: root.dataset.theme,
    textSize: root.dataset.textSize,
    density: root.dataset.density,
    listsKeys: "listsKeys" in root.dataset,
  });

function apply(look) {
  const { theme, textSize, density, listsKeys } = look;
  Object.assign(root.dataset, { theme, textSize, density });
  root.toggleAttribute("data-lists-keys", listsKeys);
  const scheme = theme === "system" ? "light dark" : theme;
  document.querySelector("meta[name=color-scheme]").content = scheme;
  follow(look);
}

/** The form in another tab shows what counts. */
function follow({ theme, textSize, density, listsKeys }) {
  const fields = byId("appearance")?.elements;
  if (!fields) return;
  fields.theme.value = theme;
  fields.text_size.value = textSize;
  fields.density.value = density;
  fields.lists_keys.checked = listsKeys;
}

const chosen = ({ elements }) => ({
  theme: elements.theme.value,
  textSize: elements.text_size.value,
  density: elements.density.value,
  listsKeys: elements.lists_keys.checked,
});

const tell = () => localStorage.getItem(KEY) !== shown() && localStorage.setItem(KEY, shown());
const hear = () => localStorage.getItem(KEY) && apply(JSON.parse(localStorage.getItem(KEY)));

/** What was saved last: a choice that did not get through is taken back. */
let saved = shown();

on("change", "#appearance", (form) => apply(chosen(form)));
document.addEventListener("planside:answered", ({ detail: { element, ok } }) => {
  if (element.id !== "appearance") return;
  if (!ok) return apply(JSON.parse(saved));
  saved = shown();
  tell();
});
document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
  if (ctx?.sourceElement.id === "appearance") apply(JSON.parse(saved));
});

atStart(() => person() && tell());
addEventListener("storage", ({ key }) => key === KEY && hear());
addEventListener("pageshow", ({ persisted }) => persisted && hear());
