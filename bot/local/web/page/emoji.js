import { el, icon } from "./dom.js";

// The emoji that plans and answers use; an unknown name stays as it was written.
const TABLE = {
  white_check_mark: "✅", heavy_check_mark: "✔️", x: "❌", warning: "⚠️", rotating_light: "🚨", no_entry: "⛔",
  snowflake: "❄️", no_entry_sign: "🚫", octagonal_sign: "🛑", hourglass: "⌛", hourglass_flowing_sand: "⏳", clock1: "🕐", clock2: "🕑",
  alarm_clock: "⏰", calendar: "📅", date: "📅", lock: "🔒", unlock: "🔓", key: "🔑", rocket: "🚀", ship: "🚢",
  package: "📦", wrench: "🔧", hammer: "🔨", gear: "⚙️", mag: "🔍", eyes: "👀", bulb: "💡", memo: "📝", clipboard: "📋",
  bar_chart: "📊", chart_with_upwards_trend: "📈", floppy_disk: "💾", cd: "💿", file_folder: "📁", link: "🔗", pushpin: "📌",
  bell: "🔔", no_bell: "🔕", speech_balloon: "💬", thought_balloon: "💭", robot_face: "🤖", zap: "⚡", fire: "🔥",
  boom: "💥", sparkles: "✨", tada: "🎉", star: "⭐", heart: "❤️", thumbsup: "👍", "+1": "👍", thumbsdown: "👎", "-1": "👎",
  wave: "👋", pray: "🙏", clap: "👏", ok_hand: "👌", raised_hand: "✋", point_right: "👉", arrow_right: "➡️", arrow_left: "⬅️",
  arrow_up: "⬆️", arrow_down: "⬇️", leftwards_arrow_with_hook: "↩️", arrows_counterclockwise: "🔄", repeat: "🔁", rewind: "⏪",
  fast_forward: "⏩", pause_button: "⏸️", double_vertical_bar: "⏸️", stop_button: "⏹️", arrow_forward: "▶️", skip: "⏭️",
  black_right_pointing_double_triangle_with_vertical_bar: "⏭️", question: "❓", grey_question: "❔", exclamation: "❗",
  information_source: "ℹ️", heavy_minus_sign: "➖", scissors: "✂️", checkered_flag: "🏁", twisted_rightwards_arrows: "🔀",
  ballot_box_with_check: "☑️", bookmark: "🔖", anchor: "⚓", red_circle: "🔴", large_yellow_circle: "🟡", large_green_circle: "🟢", large_blue_circle: "🔵",
  white_circle: "⚪", black_circle: "⚫", large_orange_circle: "🟠", shield: "🛡️", construction: "🚧", test_tube: "🧪",
  broom: "🧹", wastebasket: "🗑️", moon: "🌙", crescent_moon: "🌙", sunny: "☀️", coffee: "☕", slightly_smiling_face: "🙂",
};

// Not every machine has an emoji font; the signs that carry meaning are drawn.
const DRAWN = {
  "✅": ["check", "good boxed"], "✔️": ["check", "good"], "❌": ["cross", "bad"], "⚠️": ["warn", "warn"], "⚠": ["warn", "warn"],
  "🚨": ["warn", "bad"], "⛔": ["stop", "bad"], "🚫": ["stop", "bad"], "🛑": ["stop", "bad"], "⏳": ["clock", ""], "⌛": ["clock", ""],
  "⏰": ["clock", ""], "🕐": ["clock", ""], "🕑": ["clock", ""], "🔒": ["lock", ""], "⏸️": ["pause", ""], "👀": ["eye", ""], "🔄": ["turn", ""], "🔁": ["turn", ""],
  "✋": ["hand", "warn"], "➖": ["dash", ""], "🔖": ["mark", ""], "❄️": ["flake", ""],
};
const SIGN = new RegExp(`(${Object.keys(DRAWN).join("|")})`);

function sign(character) {
  const [name, kind] = DRAWN[character];
  return el("span", { class: `emoji ${kind}`, role: "img", "aria-label": character }, icon(name));
}

// Text with emoji characters, as strings and nodes.
export const withSigns = (text) => text.split(SIGN).filter(Boolean).map((part) => (DRAWN[part] ? sign(part) : part));

// Text in which emoji may also be written by name.
export const withEmoji = (text) => withSigns(text.replace(/:([a-z0-9_+-]+):/g, (whole, name) => TABLE[name] ?? whole));
