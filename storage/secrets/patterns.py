r"""What an unknown secret looks like: listed patterns, each linear in the text, each behind a hint.

A hint is a lower-case piece of every text that a pattern can match; without it the pattern is not tried.
Quantifiers are bounded or possessive, and a run can be entered only at its beginning: no text makes a
search quadratic. A group `secret` is what is hidden; without one it is the whole match.
"""

import re
from dataclasses import dataclass

KEY = r"[A-Z0-9 ]{0,30} PRIVATE KEY(?: BLOCK)?-----"
KEY_BODY = r"(?:[^-]|-(?!----)){0,20000}"  # not possessive: Python 3.11.2 loses the end then
OPEN_KEY = re.compile(rf"-----BEGIN{KEY}(?!{KEY_BODY}-----END{KEY})")  # one whose end has not come yet
LONGEST = 24 * 1024  # no pattern matches more characters than that

# Names that announce a secret. What follows a strong one is a secret; after a weak one it must look likely.
STRONG = r"(?:password|passwd|passphrase|pwd)"
WEAK = (
    r"(?:secret(?:[_-]?access)?(?:[_-]?key)?|token|credentials?|connection[_-]?string|shared[_-]?access[_-]?signature"
    r"|(?:api|access|private|auth|account|shared[_-]?access|encryption|signing|master|session|storage|license|factor)[_-]?key)"
)
SECRET_NAME = re.compile(rf"(?:{STRONG}|{WEAK}|secret[_-]?key[_-]?base|authorization|dsn)\Z", re.IGNORECASE)
# What stands in a secret's place and is none: absence, a type, a call, a reference, a path, an address.
NOT_ONE = (
    r"(?!(?:true|false|none|null|nil|undefined|required|optional|missing|invalid|expired|empty|unset|unknown"
    r"|redacted|hidden|changed|string|str|bytes|\d{1,7})(?![\w/+-]))"
    r"(?![*•]{3}|\.{3}|x{4}|[<({\[]|\$[a-z_{(]|%[(sd]|[a-z_.]{1,60}[(\[<]|(?:os|env|process|self|settings)\.)"
    r"(?!https?://|[~.]{0,2}/[a-z][\w.-]{0,60}(?:[/.]|$))"
)
LIKELY = r"(?=[^\s\"',;]{0,200}[\d!@#$%^*+=?~])"  # a word of letters alone is prose
# Where a word begins: also behind the escaped line end of a text that was quoted as a whole.
BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[abfnrtv]))"
WORDS = r"(?:\b|(?<=\\[abfnrtv]))"
WORD = r"[^\s\"'`,;&<>]"
QUOTE = r"\\{0,3}[\"']"
GIVEN = rf"(?:{QUOTE})?\]?[ \t]{{0,3}}(?:=>|:=|[=:])[ \t]{{0,3}}"


@dataclass(frozen=True)
class Pattern:
    """One kind of secret."""

    name: str
    hints: tuple[str, ...]
    regex: re.Pattern[str]
    lines: bool = False  # whether it may reach over several lines


def _token(name: str, hints: str, regex: str) -> Pattern:
    """A token with a form of its own; it begins where a word begins."""
    return Pattern(name, tuple(hints.split()), re.compile(rf"{BEGIN}(?:{regex})", re.ASCII))


def _context(name: str, hints: str, regex: str) -> Pattern:
    """A secret known only by what stands around it."""
    return Pattern(name, tuple(hints.split()), re.compile(regex, re.ASCII | re.IGNORECASE))


TOKENS = (
    _token("Slack token", "xox", r"xox[a-z](?:\.xox[a-z])?-[\w-]{10,255}"),
    _token("Signoff token", "sgn_", r"sgn_[\w-]{20,255}"),
    _token("Slack workflow token", "xwfp-", r"xwfp-[\w-]{10,255}"),
    _token("Slack app token", "xapp-", r"xapp-[\w-]{10,255}"),
    _token(
        "Slack webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?P<secret>(?:services|workflows|triggers|actions|commands)/[\w/-]{15,255})",
    ),
    _token("GitHub token", "gho_ ghp_ ghr_ ghs_ ghu_", r"gh[oprsu]_[A-Za-z0-9]{30,255}"),
    _token("GitHub fine-grained token", "github_pat_", r"github_pat_\w{30,255}"),
    _token(
        "GitLab token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat)-[\w.-]{20,255}",
    ),
    _token("GitLab runner registration", "gr1348941", r"GR1348941[\w-]{20,64}"),
    _token("Anthropic key", "sk-ant-", r"sk-ant-[\w-]{20,255}"),
    _token("OpenAI key", "sk-", r"sk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{32,255}"),
    _token("Stripe key", "_live_", r"[rsp]k_live_[A-Za-z0-9]{16,255}"),
    _token("Stripe test key", "k_test_", r"[rs]k_test_[A-Za-z0-9]{16,255}"),
    _token("signing secret of webhooks", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,255}"),
    _token("AWS access key id", "akia asia abia acca", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
    _token("Google API key", "aiza", r"AIza[\w-]{35}"),
    _token("Google OAuth token", "ya29.", r"ya29\.[\w-]{20,1024}"),
    _token("Google OAuth client secret", "gocspx-", r"GOCSPX-[\w-]{20,64}"),
    _token("Azure client secret", "q~", r"[\w.~-]{3}\dQ~[\w.~-]{31,34}"),
    _token("DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _token("Heroku key", "hrku-", r"HRKU-[\w-]{36,80}"),
    _token("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _token("PyPI token", "pypi-", r"pypi-Ag[\w-]{50,1024}"),
    _token("RubyGems key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _token("Docker Hub token", "dckr_", r"dckr_[po]at_[\w-]{20,64}"),
    _token("Vault token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{20,512}"),
    _token("Terraform Cloud token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,70}"),
    _token("SendGrid key", "sg.", r"SG\.[\w-]{22}\.[\w-]{43}"),
    _token("Mailgun key", "key-", r"key-[a-f0-9]{32}(?![A-Za-z0-9])"),
    _token("Mailchimp key", "-us", r"[a-f0-9]{32}-us\d{1,2}(?!\w)"),
    _token("Square token", "sq0", r"sq0[a-z]{3}-[\w-]{22,64}"),
    _token("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _token("Telegram bot token", ":aa", r"\d{8,10}:AA[\w-]{33}"),
    _token(
        "Discord webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d+/[\w-]{60,80})"
    ),
    _token("Databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _token("Grafana token", "glsa_ glc_", r"gl(?:sa|c)_[A-Za-z0-9+/_=-]{32,512}"),
    _token("New Relic key", "nrak- nraa- nral-", r"NRA[KAL]-[A-Z0-9]{20,40}"),
    _token("Sentry token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_-]{40,512}"),
    _token("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{32,64}"),
    _token("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,64}"),
    _token("Postman key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _token("Atlassian token", "atatt3 atctt3 atbb", r"AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=+/-]{24,255}"),
    _token("Figma token", "figd_", r"figd_[\w-]{36,64}"),
    _token("Hugging Face token", "hf_", r"hf_[A-Za-z]{34}(?![A-Za-z0-9])"),
    _token("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,64}"),
    _token("xAI key", "xai-", r"xai-[A-Za-z0-9]{70,90}"),
    _token("PlanetScale secret", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{32,64}"),
    _token("Supabase token", "sbp_", r"sbp_[a-f0-9]{40}"),
    _token("Doppler token", "dp.", r"dp\.(?:st|pt|ct|sa|scim|audit)\.[\w.-]{40,64}"),
    _token("1Password service token", "ops_ey", r"ops_eyJ[\w-]{100,2048}"),
    _token("Pulumi token", "pul-", r"pul-[a-f0-9]{40}"),
    _token("Tailscale key", "tskey-", r"tskey-[a-z]+-[\w-]{20,80}"),
    _token("Buildkite token", "bkua_ bkaj_ bkct_ bkat_", r"bk(?:ua|aj|ct|at)_[a-f0-9]{32,64}"),
    _token("age key", "age-secret-key-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    Pattern(
        "JSON Web Token",
        ("eyj",),
        re.compile(
            r"(?:(?<![\w-])|(?<=\\[abfnrtv]))eyJ[\w-]{10,4000}+\.[\w-]{4,16000}+(?:\.[\w-]{0,1000}+){1,3}",
            re.ASCII,
        ),
    ),
    Pattern(
        "private key",
        ("private key",),
        re.compile(rf"-----BEGIN{KEY}{KEY_BODY}(?:-----END{KEY})?"),
        lines=True,
    ),
    Pattern(
        "private key in base64",
        ("ls0tls1crudjti",),
        re.compile(
            r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{0,30}?(?:UFJJVkFURSBLRVk|BSSVZBVEUgS0VZ|QUklWQVRFIEtFW)"
            r"[A-Za-z0-9+/=]{16,20000}+"
        ),
    ),
)

CONTEXTS = (
    _context("password in a URL", "://", r"://[^\s:/?@\"'<>]{0,200}:(?P<secret>[^\s/?\"'<>]{1,500})@"),
    _context("token in a URL", "://", r"://(?P<secret>[^\s:/?@\"'<>]{20,500})@"),
    _context(
        "Authorization header",
        "authorization",
        rf"authorization{GIVEN}(?:{QUOTE})?(?:(?:bearer|basic|token|digest|negotiate|apikey)[ \t]+|{LIKELY})"
        r"(?P<secret>[^\s\"'\\,;]{6,4000})",
    ),
    _context("bearer token", "bearer", rf"{WORDS}bearer[ \t]+{LIKELY}(?P<secret>[^\s\"',;<>]{{12,4000}})"),
    _context(
        "cookie",
        "cookie",
        rf"cookie(?:{QUOTE})?[ \t]{{0,3}}:[ \t]{{0,3}}(?:{QUOTE})?"
        r"(?P<secret>[\w.-]{1,99}=[^\r\n\"']{6,4000})",
    ),
    _context(
        "registry login",
        'auth" auth\\"',
        rf"{QUOTE}auth{QUOTE}[ \t]{{0,3}}:[ \t]{{0,3}}{QUOTE}(?P<secret>[A-Za-z0-9+/=]{{12,2000}}){QUOTE}",
    ),
    _context(
        "password in SQL",
        "identified password",
        rf"{WORDS}(?:identified[ \t]+by|password)[ \t]+\\{{0,3}}'(?P<secret>[^'\s]{{3,500}})'",
    ),
    _context(
        "netrc entry", "login", rf"{WORDS}login[ \t]+\S{{1,200}}[ \t]+password[ \t]+(?P<secret>\S{{1,500}})"
    ),
    _context(
        "login given to curl",
        "curl",
        rf"{WORDS}curl\b[^\r\n]{{0,300}}?[ \t](?:-u|--user)[ =]?(?:{QUOTE})?[^\s:\"']{{1,100}}:"
        r"(?P<secret>[^\s\"']{3,500})",
    ),
    _context(
        "secret in a flag",
        "-pass -pwd -secret -token -key -credential -api -access",
        rf"-(?:{STRONG}|{WEAK})[ \t]+[\"']?{NOT_ONE}{LIKELY}(?P<secret>[^\s\"'-][^\s\"']{{3,500}})",
    ),
    _context(
        "quoted password",
        "pass pwd",
        rf"{STRONG}{GIVEN}(?P<q>{QUOTE}){NOT_ONE}(?P<secret>\S{{3,500}}?)(?P=q)",
    ),
    _context(
        "quoted passphrase",
        "passphrase",
        rf"passphrase{GIVEN}(?P<q>{QUOTE}){NOT_ONE}(?P<secret>[^\r\n]{{8,200}}?)(?P=q)",
    ),
    _context("password", "pass pwd", rf"{STRONG}{GIVEN}{NOT_ONE}{LIKELY}(?P<secret>{WORD}{{4,500}})"),
    _context(
        "password in the environment",
        "passw",
        rf"(?-i:PASSW(?:OR)?D)={NOT_ONE}(?P<secret>{WORD}{{4,500}})",
    ),
    _context(
        "assigned secret",
        "secret token key credential connection signature",
        rf"{WEAK}{GIVEN}(?:{QUOTE})?{NOT_ONE}{LIKELY}(?P<secret>{WORD}{{8,2000}})",
    ),
)

PATTERNS = TOKENS + CONTEXTS
HINTED = {
    hint: [pattern for pattern in PATTERNS if hint in pattern.hints]
    for hint in sorted({hint for pattern in PATTERNS for hint in pattern.hints})
}
