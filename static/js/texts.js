// What the scripts say, in the language of the page. Another language than English brings its catalog
// before them (console/language.py: script_texts).

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
