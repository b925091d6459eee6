// What the scripts say, in the language of the page. Another language than English brings its catalog
// before them (console/language.py: script_texts).

/** The text in the page's language, with `values` at their {names}. */
export function gettext(text, values = {}) {
  return filled(globalThis.django?.gettext(text) ?? text, values);
}

/** One of two forms, by the number `values.n`. */
export function ngettext(one, several, values) {
  const text = globalThis.django?.ngettext(one, several, values.n) ?? (values.n === 1 ? one : several);
  return filled(text, values);
}

function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}
