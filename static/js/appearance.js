// How the pages look for the person: what is chosen counts at once, here and in the other tabs. The
// server draws it into the page, and what a page was drawn with is news for tabs that are older.
import { atStart, byId, on, person } from "./dom.js";

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
