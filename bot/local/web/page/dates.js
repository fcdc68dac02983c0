// Times in the reader's own zone, in Slack's formats.

// The demo's clock may be ahead of the browser's: the newest message says how far.
let newest = 0;
export const noteTime = (ts) => (newest = Math.max(newest, Number(ts) || 0));
const now = () => Math.max(Date.now() / 1000, newest);

const at = (seconds) => new Date(seconds * 1000);
const show = (seconds, options) => new Intl.DateTimeFormat(undefined, options).format(at(seconds));

export const clockTime = (seconds) => show(seconds, { hour: "numeric", minute: "2-digit" });
export const fullTime = (seconds) => show(seconds, { dateStyle: "full", timeStyle: "medium" });

export function dayName(seconds, { short = false } = {}) {
  const days = dayNumber(now()) - dayNumber(seconds);
  const near = { 0: "Today", 1: "Yesterday", "-1": "Tomorrow" }[days];
  return near ?? show(seconds, short ? { month: "short", day: "numeric" } : { weekday: "long", month: "long", day: "numeric" });
}

function dayNumber(seconds) {
  const day = at(seconds);
  return Math.round(new Date(day.getFullYear(), day.getMonth(), day.getDate()).getTime() / 86400000);
}

export const sameDay = (one, other) => dayNumber(one) === dayNumber(other);

export function ago(seconds) {
  const minutes = Math.floor((now() - seconds) / 60);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} minute${minutes === 1 ? "" : "s"} ago`;
  return `${dayName(seconds, { short: true })} at ${clockTime(seconds)}`;
}

const lower = (text) => (/^(Today|Yesterday|Tomorrow)$/.test(text) ? text.toLowerCase() : text);
const pretty = (seconds, style) => {
  const near = dayName(seconds, { short: true });
  return /^(Today|Yesterday|Tomorrow)$/.test(near) ? lower(near) : FORMATS[style](seconds);
};

const FORMATS = {
  date_num: (s) => show(s, { year: "numeric", month: "2-digit", day: "2-digit" }),
  date: (s) => show(s, { year: "numeric", month: "long", day: "numeric" }),
  date_short: (s) => show(s, { year: "numeric", month: "short", day: "numeric" }),
  date_long: (s) => show(s, { weekday: "long", year: "numeric", month: "long", day: "numeric" }),
  date_pretty: (s) => pretty(s, "date"),
  date_short_pretty: (s) => pretty(s, "date_short"),
  date_long_pretty: (s) => pretty(s, "date_long"),
  time: clockTime,
  time_secs: (s) => show(s, { hour: "numeric", minute: "2-digit", second: "2-digit" }),
  day_divider_pretty: (s) => lower(dayName(s)),
  ago,
};

export function dateText(seconds, format) {
  if (!Number.isFinite(seconds)) return "";
  return format.replace(/\{(\w+)\}/g, (whole, name) => FORMATS[name]?.(seconds) ?? whole);
}
