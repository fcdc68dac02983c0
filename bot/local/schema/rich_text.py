"""Rich text, field by field."""

from bot.local.schema.checks import among, boolean, list_of, number, one_of, record, string, typed
from bot.local.schema.elements import ID

_STYLE = record(
    {}, {"bold": boolean, "italic": boolean, "strike": boolean, "code": boolean, "underline": boolean}
)
_INLINE = among(
    {
        "text": typed("text", {"text": string(100_000)}, {"style": _STYLE}),
        "link": typed(
            "link", {"url": string(3000)}, {"text": string(3000), "style": _STYLE, "unsafe": boolean}
        ),
        "user": typed("user", {"user_id": ID}, {"style": _STYLE}),
        "usergroup": typed("usergroup", {"usergroup_id": ID}, {"style": _STYLE}),
        "channel": typed("channel", {"channel_id": ID}, {"style": _STYLE}),
        "emoji": typed("emoji", {"name": string(100)}, {"unicode": string(100)}),
        "broadcast": typed("broadcast", {"range": one_of("here", "channel", "everyone")}),
        "date": typed(
            "date",
            {"timestamp": number, "format": string(200)},
            {"url": string(3000), "fallback": string(200)},
        ),
    }
)
_INLINES = list_of(_INLINE, 1000, least=0)
_RICH_SECTION = typed("rich_text_section", {"elements": _INLINES})
RICH_TEXT = typed(
    "rich_text",
    {
        "elements": list_of(
            among(
                {
                    "rich_text_section": _RICH_SECTION,
                    "rich_text_list": typed(
                        "rich_text_list",
                        {"style": one_of("bullet", "ordered"), "elements": list_of(_RICH_SECTION, 1000)},
                        {"indent": number, "offset": number, "border": number},
                    ),
                    "rich_text_preformatted": typed(
                        "rich_text_preformatted",
                        {"elements": _INLINES},
                        {"border": number, "language": string(50)},
                    ),
                    "rich_text_quote": typed("rich_text_quote", {"elements": _INLINES}, {"border": number}),
                }
            ),
            1000,
        )
    },
    {"block_id": ID},
)
