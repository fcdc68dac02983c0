"""Secrets to plant: one maker per listed pattern, and known values in each encoding. Made up, every one."""

import base64
import json
import random
import string
from collections.abc import Callable
from urllib.parse import quote, quote_plus

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM, HEX = LOWER + UPPER + DIGITS, "0123456789abcdef"
URLSAFE, BASE64 = ALNUM + "_-", ALNUM + "+/"
LETTERS = {
    "alnum": ALNUM, "hex": HEX, "url": URLSAFE, "b64": BASE64, "UP": UPPER + DIGITS, "AZ27": UPPER + "234567",
    "digit": DIGITS, "alpha": LOWER + UPPER,
}  # fmt: skip


class Chance(random.Random):
    """Random strings, always the same for a seed."""

    def of(self, letters: str, count: int) -> str:
        return "".join(self.choices(letters, k=count))

    def password(self) -> str:
        """As people make them: letters, and at least one digit or sign."""
        letters = [*self.of(ALNUM, self.randint(7, 20)), self.choice(DIGITS), self.choice("!@#%^*+=?~")]
        self.shuffle(letters)
        return self.choice(LOWER) + "".join(letters)

    def jwt(self) -> str:
        head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
        body = base64.urlsafe_b64encode(json.dumps({"sub": self.of(ALNUM, 20)}).encode()).decode().rstrip("=")
        return f"{head}.{body}.{self.of(URLSAFE, 43)}"

    def key_lines(self) -> str:
        return "\n".join(self.of(BASE64, 64) for _ in range(self.randint(3, 12)))


Made = tuple[str, str]  # a text, and the secret in it that must not be seen


def bare(*parts: str) -> Callable[[Chance], Made]:
    """A token: literal parts, and `letters*count` parts."""

    def make(chance: Chance) -> Made:
        secret = "".join(_part(chance, part) for part in parts)
        return chance.choice(["{}", "got {} back", "x={}", "see '{}'.", '{{"v": "{}"}}']).format(
            secret
        ), secret

    return make


def _part(chance: Chance, part: str) -> str:
    kind, star, count = part.partition("*")
    return chance.of(LETTERS[kind], int(count)) if star else part


def around(*templates: str) -> Callable[[Chance], Made]:
    """A password in one of these places."""

    def make(chance: Chance) -> Made:
        secret = chance.password()
        return chance.choice(templates).replace("{}", secret), secret

    return make


def _jwt(chance: Chance) -> Made:
    secret = chance.jwt()
    return f"cookie is {secret}", secret


def _key(chance: Chance) -> Made:
    kind = chance.choice(["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""])
    body = chance.key_lines()
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----", body


def _key_base64(chance: Chance) -> Made:
    secret = base64.b64encode(_key(chance)[0].encode()).decode()
    return f"client-key-data: {secret}", secret


def _passphrase(chance: Chance) -> Made:
    secret = " ".join(chance.of(LOWER, 6) for _ in range(4))
    return f'passphrase = "{secret}"', secret


def _url_token(chance: Chance) -> Made:
    secret = chance.of(ALNUM, 32)
    return f"cloning https://{secret}@git.example/team/app.git", secret


def _url_password(chance: Chance) -> Made:
    secret = quote(chance.password(), safe="")
    scheme = chance.choice(["postgres", "mysql", "redis", "amqp", "https", "mongodb+srv"])
    return f"{scheme}://app:{secret}@db.example:5432/auth", secret


def _basic(chance: Chance) -> Made:
    secret = base64.b64encode(f"ann:{chance.password()}".encode()).decode()
    return chance.choice(['{{"auth": "{}"}}', '"registry.example": {{ "auth" : "{}" }}']).format(
        secret
    ), secret


KINDS: dict[str, Callable[[Chance], Made]] = {
    "Slack token": bare("xoxb-", "digit*12", "-", "digit*13", "-", "alnum*24"),
    "Signoff token": bare("sgn_", "url*43"),
    "Slack workflow token": bare("xwfp-", "alnum*24"),
    "Slack app token": bare("xapp-1-A", "UP*10", "-", "digit*13", "-", "hex*64"),
    "Slack webhook": bare("services/T", "UP*10", "/B", "UP*10", "/", "alnum*24"),
    "GitHub token": bare("ghp_", "alnum*36"),
    "GitHub fine-grained token": bare("github_pat_", "alnum*22", "_", "alnum*59"),
    "GitLab token": bare("glpat-", "url*20"),
    "GitLab runner registration": bare("GR1348941", "url*20"),
    "Anthropic key": bare("sk-ant-api03-", "url*93", "AA"),
    "OpenAI key": bare("sk-proj-", "url*74"),
    "Stripe key": bare("sk_live_", "alnum*24"),
    "Stripe test key": bare("sk_test_", "alnum*24"),
    "signing secret of webhooks": bare("whsec_", "b64*32"),
    "AWS access key id": bare("AKIA", "AZ27*16"),
    "Google API key": bare("AIza", "url*35"),
    "Google OAuth token": bare("ya29.", "url*120"),
    "Google OAuth client secret": bare("GOCSPX-", "url*28"),
    "Azure client secret": bare("alnum*3", "8Q~", "alnum*34"),
    "DigitalOcean token": bare("dop_v1_", "hex*64"),
    "Heroku key": bare("HRKU-", "hex*8", "-", "hex*4", "-", "hex*4", "-", "hex*4", "-", "hex*12"),
    "npm token": bare("npm_", "alnum*36"),
    "PyPI token": bare("pypi-AgEIcHlwaS5vcmc", "url*100"),
    "RubyGems key": bare("rubygems_", "hex*48"),
    "Docker Hub token": bare("dckr_pat_", "url*27"),
    "Vault token": bare("hvs.", "url*90"),
    "Terraform Cloud token": bare("alnum*14", ".atlasv1.", "url*67"),
    "SendGrid key": bare("SG.", "url*22", ".", "url*43"),
    "Mailgun key": bare("key-", "hex*32"),
    "Mailchimp key": bare("hex*32", "-us12"),
    "Square token": bare("sq0atp-", "url*22"),
    "Shopify token": bare("shpat_", "hex*32"),
    "Telegram bot token": bare("digit*9", ":AA", "url*33"),
    "Discord webhook": bare("digit*18", "/", "url*68"),
    "Databricks token": bare("dapi", "hex*32"),
    "Grafana token": bare("glsa_", "alnum*32", "_", "hex*8"),
    "New Relic key": bare("NRAK-", "UP*27"),
    "Sentry token": bare("sntrys_", "b64*60"),
    "Linear key": bare("lin_api_", "alnum*40"),
    "Notion token": bare("ntn_", "alnum*46"),
    "Postman key": bare("PMAK-", "hex*24", "-", "hex*34"),
    "Atlassian token": bare("ATATT3xFfGF0", "url*180"),
    "Figma token": bare("figd_", "url*40"),
    "Hugging Face token": bare("hf_", "alpha*34"),
    "Groq key": bare("gsk_", "alnum*52"),
    "xAI key": bare("xai-", "alnum*80"),
    "PlanetScale secret": bare("pscale_tkn_", "url*43"),
    "Supabase token": bare("sbp_", "hex*40"),
    "Doppler token": bare("dp.pt.", "alnum*43"),
    "1Password service token": bare("ops_eyJ", "url*300"),
    "Pulumi token": bare("pul-", "hex*40"),
    "Tailscale key": bare("tskey-auth-", "alnum*40"),
    "Buildkite token": bare("bkua_", "hex*40"),
    "age key": bare("AGE-SECRET-KEY-1", "UP*58"),
    "JSON Web Token": _jwt,
    "private key": _key,
    "private key in base64": _key_base64,
    "password in a URL": _url_password,
    "token in a URL": _url_token,
    "Authorization header": around(
        "Authorization: Basic {}", "authorization: {}",
        '"Authorization": "token {}"', "> Authorization: Bearer {}",
    ),
    "bearer token": around("used Bearer {}abc123", "bearer {}abc123 was refused"),
    "cookie": around("Set-Cookie: session={}; Path=/; HttpOnly", "cookie: sid={}; theme=dark"),
    "registry login": _basic,
    "password in SQL": around("ALTER USER app IDENTIFIED BY '{}'", "CREATE ROLE app PASSWORD '{}';"),
    "netrc entry": around("machine git.example login ann password {}"),
    "login given to curl": around("+ curl -s -u ann:{} https://x.example", "curl --user 'ann:{}' x.example"),
    "secret in a flag": around("backup --password {} --full", "run --db-password {}", "login --token {}"),
    "quoted password": around(
        '"password": "{}"', "password = '{}'", '{\\"password\\":\\"{}\\"}', "passwd='{}'",
    ),
    "quoted passphrase": _passphrase,
    "password": around("password={}", "password: {}", "Server=db;Uid=sa;Pwd={};", "?user=a&password={}"),
    "password in the environment": around("PGPASSWORD={} psql", "export DB_PASSWORD={}", "MYSQL_PWD={}"),
    "assigned secret": around(
        "API_KEY={}x7", "client_secret: {}x7", '"aws_secret_access_key": "{}x7"', "token = '{}x7'",
        "AccountKey={}x7;EndpointSuffix=core", "secretKey => {}x7", "X-Api-Key: {}x7",
        "--set-credentials={}x7",
    ),
}  # fmt: skip
PLACES = {  # a token that is known only by its address stands in it
    "Slack webhook": "https://hooks.slack.com/{}",
    "Discord webhook": "https://discord.com/api/webhooks/{}",
}


def unknown(chance: Chance, kind: str) -> Made:
    """A text with a secret of this kind in it."""
    text, secret = KINDS[kind](chance)
    return text.replace(secret, PLACES.get(kind, "{}").format(secret)), secret


def known(chance: Chance) -> tuple[str, dict[str, Made]]:
    """A value; and, for each encoding, a text with it and what of it must not be seen."""
    value = chance.of(ALNUM + "!\"$%&/()=?+*'#-_.:,;<>|\\ äß€", chance.randint(12, 60)).strip() + "7Z"
    raw = value.encode()
    forms = {
        "plain": value,
        "urlsafe base64": base64.urlsafe_b64encode(raw).decode().rstrip("="),
        "hex": raw.hex(),
        "upper hex": raw.hex().upper(),
        "url": quote(value, safe=""),
        "form": quote_plus(value),
        "json": json.dumps(value)[1:-1],
        "json in json": json.dumps(json.dumps(value, ensure_ascii=False))[3:-3],
    }
    made = {name: (f"before {form} after", form) for name, form in forms.items()}
    for offset in (0, 1, 2):  # the first and the last characters hold bits of the neighbours, too
        coded = base64.b64encode(b"x" * offset + raw + b"yyyy").decode()
        made[f"base64 after {offset}"] = (f"before {coded} after", coded[4:-9])
    return value, made
