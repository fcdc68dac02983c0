"""How people say clocks, days, dates and stretches of time, as patterns over a line of words."""

CLOCK = r"(?:\d{1,2}(?::\d{2})?(?:am|pm)|\d{1,2}:\d{2}z?|noon|midnight)"
SPOKEN = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
HALF = (
    rf"(?:(?:half past|quarter past|quarter to) (?:\d{{1,2}}(?:am|pm)|(?:{SPOKEN}) (?:am|pm))"
    rf"|(?:{SPOKEN}) (?:am|pm)|"
    r"\d{1,2} in the (?:morning|afternoon|evening)|\d{1,2} at night|\d{1,2} o'clock(?: in the "
    r"(?:morning|afternoon|evening))?)"
)
UHR = (
    r"(?:\d{1,2}(?::\d{2})? uhr|\d{1,2} de la (?:mañana|manana|tarde|noche|madrugada)|(?:mediodía|"
    r"mediodia|medianoche|mitternacht|mittag))"
)
MILITARY = r"(?:[01]\d|2[0-3])[0-5]\d(?= zone\d)"  # “0300 UTC”
HOUR = rf"(?:{CLOCK}|{HALF}|{UHR}|{MILITARY})"
NUMBERED = r"\d{1,2}"
WEEKDAYS = {
    "monday": "mon|monday|mondays|montag|montags|lunes",
    "tuesday": "tue|tues|tuesday|tuesdays|dienstag|dienstags|martes",
    "wednesday": "wed|weds|wednesday|wednesdays|mittwoch|mittwochs|miércoles|miercoles",
    "thursday": "thu|thur|thurs|thursday|thursdays|donnerstag|donnerstags|jueves",
    "friday": "fri|friday|fridays|freitag|freitags|viernes",
    "saturday": "sat|saturday|saturdays|samstag|samstags|sábado|sabado|sábados",
    "sunday": "sun|sunday|sundays|sonntag|sonntags|domingo|domingos",
}
DAYS = {said: name for name, listed in WEEKDAYS.items() for said in listed.split("|")}
WEEKDAY = rf"(?:{'|'.join(sorted(DAYS, key=len, reverse=True))})"
SAME_DAY = {
    "today": "today|heute|hoy|later today",
    "tonight": "tonight|this night|heute nacht|esta noche|heute abend",
    "day after tomorrow": "the day after tomorrow|day after tomorrow|übermorgen|pasado mañana",
    "tomorrow": "tomorrow|tmrw|tmr|tomorow|tommorow|morgen|mañana|manana",
    "tomorrow night": "tomorrow night|morgen nacht|mañana por la noche",
}
RELATIVE = {said: name for name, listed in SAME_DAY.items() for said in listed.split("|")}
DAYWORD = (
    rf"(?:{'|'.join(sorted(RELATIVE, key=len, reverse=True))}|(?:(?:this|coming|am|el|next|"
    rf"nächsten|próximo) )?{WEEKDAY}(?: night)?)"
)
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
MONTH = rf"(?:{'|'.join(f'{name}|{name[:3]}' for name in MONTHS)}|sept)"
DATE = (
    rf"(?:(?:{MONTH}) \d{{1,2}}(?:st|nd|rd|th)?(?: ,)?(?: \d{{4}})?|(?:the )?\d{{1,2}}(?:st|nd|rd|"
    rf"th)?(?: of)? (?:{MONTH})(?: ,)?(?: \d{{4}})?"
    r"|\d{4}-\d{2}-\d{2}(?![t\d])|\d{1,2}/\d{1,2}(?:/\d{2,4})?)"
)
ISO = r"\d{4}-\d{2}-\d{2}t\d{2}:\d{2}(?::\d{2})?(?:z|[+-]\d{2}:?\d{2})?"
AT = r"(?:(?:at|@|around|um|ab|a las|a la|a|on|,|starting at|starting|from|by the time of|am|el) )*"
ZONED = r"(?: zone\d+)?"
NOW = (
    r"(?:right now|right away|at once|immediately|as soon as possible|as soon as you can|asap|"
    r"a\.s\.a\.p|straight away|straightaway|instantly|this minute|now|jetzt|sofort|gleich|ahora "
    r"mismo|ahora|ya mismo|inmediatamente|cuanto antes|on approval|so schnell wie möglich)"
)
COUNT = (
    r"(?:\d+|an?|one|two|three|four|five|six|ten|fifteen|twenty|thirty|half an|a couple of|einer?|"
    r"zwei|drei|una?|dos|tres)"
)
UNIT = r"(?:hours?|hrs?|h|minutes?|mins?|min|m|seconds?|secs?|stunden?|minuten?|horas?|minutos?)"
LATER = (
    rf"(?:(?:in|en|dentro de|after) {COUNT} ?{UNIT}(?:(?: and)? {COUNT} ?{UNIT})?(?: time| from "
    rf"now)?|{COUNT} {UNIT} from now|\d+(?:h|m|min|hr|hrs|mins) from now|in \d+(?:h|m|min|hr|hrs|"
    rf"mins))"
)
DAYS_ON = (
    r"(?:in|en) (?:\d+|a|one|two|three|four|five|einem|zwei|dos) (?:days?|weeks?|months?|tagen?|"
    r"wochen?|días?|semanas?)"
)
RANGE = (
    rf"(?:between {HOUR} and {HOUR}|between {NUMBERED}(?::\d\d)? and {HOUR}|from {HOUR} (?:to|"
    rf"until|till) {HOUR}|{HOUR} ?[-–] ?{HOUR}|between {NUMBERED} and {NUMBERED}|zwischen "
    rf"{NUMBERED} und {NUMBERED} uhr|entre las {NUMBERED} y las {NUMBERED})"
)
VAGUE = (
    r"(?:eod|e\.o\.d|end of (?:the )?(?:day|week|month)|cob|close of business|tomorrow-?ish|"
    r"(?:later|sometime)(?: (?:today|tonight|this week|tomorrow|next week))?"
    r"|(?:this|next|at the|over the|on the) (?:week|weekend|month|quarter|year|sprint)|in the "
    r"(?:morning|evening|afternoon|night)"
    r"|(?:this|tomorrow|today) ?(?:morning|evening|afternoon)|at night|overnight|lunchtime|"
    r"at lunch|first thing(?: (?:tomorrow|in the morning))?|soonish|shortly"
    r"|now and then|now and again|(?:one|some) day|someday|at some point|sooner or later|eines tages"
    r"|from time to time|every so often|over and over|von zeit zu zeit|de vez en cuando"
    r"|algún día"
    r"|out of hours|off hours|off-hours|off-peak|outside business hours|after hours|in a (?:bit|"
    r"while|moment|few minutes|few hours)|in a couple of (?:hours|minutes|days))"
)
