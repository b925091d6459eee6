// Times as the reader's clock tells them, and ages that grow without the server.
import { always, atStart, byId, gettext, locale } from "./dom.js";
import { lastNews } from "./swaps.js";

const SILENCE = 30; // seconds without news before that is said
const LATE = 10; // seconds that a clock of work may wait for the server's
const DAY = 86_400_000;

/** How far the server's clock is ahead of this one (ms), measured when the page was told. */
let ahead = 0;
let lastStamp = "";

const now = () => Date.now() + ahead;
const parts = (options) => new Intl.DateTimeFormat(locale, options);
const clock = parts({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const exact = parts({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const weekday = parts({ weekday: "short" });
const monthDay = parts({ day: "numeric", month: "short" });
const full = parts({ dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });

/** The ways to write a moment; `stamp` is to the second. */
const forms = {
  day: dayOf,
  moment: momentOf,
  within: withinSentence,
  stamp: (moment) => (isToday(moment) ? exact.format(moment) : dayAndTime(monthDay.format(moment), moment)),
};

always(() => {
  const stamp = byId("cursor")?.dataset.now;
  if (stamp && stamp !== lastStamp) {
    lastStamp = stamp;
    ahead = Date.parse(stamp) - Date.now();
  }
  document.querySelectorAll("time[datetime]").forEach(localise);
  tick();
});
atStart(() => setInterval(tick, 1000));
// What comes says the server's time: told as the reader's before it is on the page, it changes nothing.
document.addEventListener("planside:comes", ({ detail }) => {
  detail.querySelectorAll("time[datetime]").forEach(localise);
});

/** To the second; with its day, unless that is today. */
export const stampOf = (moment) => forms.stamp(new Date(moment));

/** What each was written as, for which day: a reply that is being written is news 25 times a second. */
const written = new WeakMap();

function localise(element) {
  const today = new Date(now()).toDateString();
  const as = () => `${element.dateTime} ${element.textContent} ${today}`;
  if (written.get(element) === as()) return;
  const moment = new Date(element.dateTime);
  const text = (forms[element.dataset.form] ?? clock.format)(moment);
  if (element.textContent !== text) element.textContent = text;
  element.title = full.format(moment);
  written.set(element, as());
}

function isToday(moment) {
  return daysAhead(moment) === 0;
}

function isYesterday(moment) {
  return daysAhead(moment) === -1;
}

/** Days by the calendar, not by hours: a day on which the clock is changed has another length. */
function daysAhead(moment) {
  const midnight = (date) => new Date(date).setHours(0, 0, 0, 0);
  return Math.round((midnight(moment) - midnight(now())) / DAY);
}

function dayOf(moment) {
  if (isToday(moment)) return clock.format(moment);
  if (isYesterday(moment)) return gettext("Yesterday");
  return earlierDay(moment);
}

function earlierDay(moment) {
  return (Math.abs(daysAhead(moment)) <= 6 ? weekday : monthDay).format(moment);
}

function momentOf(moment) {
  if (isToday(moment)) return gettext("Today {time}", { time: clock.format(moment) });
  if (daysAhead(moment) === 1) return gettext("Tomorrow {time}", { time: clock.format(moment) });
  if (isYesterday(moment)) return gettext("Yesterday {time}", { time: clock.format(moment) });
  return dayAndTime(earlierDay(moment), moment);
}

/** As it stands in the middle of a sentence. */
function withinSentence(moment) {
  if (isToday(moment)) return gettext("today {time}", { time: clock.format(moment) });
  if (daysAhead(moment) === 1) return gettext("tomorrow {time}", { time: clock.format(moment) });
  if (isYesterday(moment)) return gettext("yesterday {time}", { time: clock.format(moment) });
  return momentOf(moment);
}

function dayAndTime(day, moment) {
  return gettext("{day} {time}", { day, time: clock.format(moment) });
}

function tick() {
  if ("stale" in (byId("app")?.dataset ?? {})) return; // nobody knows whether it still goes on
  for (const element of document.querySelectorAll("[data-since]")) {
    element.textContent = elapsed(aged(element), element.dataset.form);
  }
  for (const element of document.querySelectorAll("[data-until]")) {
    const left = -seconds(element.dataset.until);
    element.textContent = left > 0 ? elapsed(left) : gettext("a moment");
  }
  document.querySelectorAll("[data-silence]").forEach(saySilence);
}

/** Seconds since a moment; negative before it. */
function seconds(moment) {
  return Math.round(age(moment));
}

const age = (moment) => (now() - Date.parse(moment)) / 1000;

/** What each clock shows. */
const shown = new WeakMap();

/** How old what an element tells of is. A clock of work counts whole seconds, as the server does, and
 * waits rather than goes back when the server tells the time anew, a little late: after a restart. */
function aged(element) {
  const { since, form } = element.dataset;
  if (form !== "clock") return seconds(since);
  const total = Math.floor(age(since));
  const before = shown.get(element) ?? 0;
  const isLate = total < before && before - total < LATE;
  shown.set(element, isLate ? before : total);
  return shown.get(element);
}

function elapsed(total, form) {
  const whole = Math.max(0, total);
  if (whole < 60 && form !== "clock") return gettext("{n} s", { n: whole });
  const minutes = Math.floor(whole / 60);
  const rest = String(whole % 60).padStart(2, "0");
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}

function saySilence(element) {
  const age = Math.min(seconds(element.dataset.silence), Math.round((Date.now() - lastNews()) / 1000));
  element.hidden = age <= SILENCE;
  const text = element.hidden ? "" : gettext("No news for {time}", { time: elapsed(Math.floor(age / 10) * 10) });
  if (element.textContent !== text) element.textContent = text;
}
