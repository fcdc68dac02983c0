"""The voice: what people say, and where the answer stands. The real app over Socket Mode, one process."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import pytest
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient

from bot.context import Bot
from bot.local.client.person import Person
from bot.local.client.text import readable
from bot.local.server import LocalSlack
from bot.local.shapes import DEFAULT_BOT, Json, Member
from bot.process import make_bot
from bot.slack.app import build
from bot.slack.outbox import Outbox
from storage.config import SignoffConfig
from storage.contract.capability import Check
from storage.contract.report import AnyReport
from storage.database.engine import migrate, open_engine
from storage.database.tables import Plan
from tests.support.fakes import (
    NOW,
    FakeClock,
    bad,
    demo_config,
    ok,
    permitted,
    real_contracts,
    step_row,
    taker,
)
from tests.support.local_kit import until
from tests.support.room import handle_all, think
from tests.support.store import Store

Place = Literal["both", "card", "private", "nod", "wave", "thread", "direct", "silence"]
US = f"@{DEFAULT_BOT.name}"
DEPLOY = "deploy auth-service v2.1.4 to production"
MEMBERS = [
    Member("U0ANN", "ann", "Ann"), Member("U0BOB", "bob", "Bob"), Member("U0CAROL", "carol", "Carol"),
    Member("U0DAN", "dan", "Dan"), Member("U0GUS", "gus", "Gus", is_restricted=True),
]  # fmt: skip


OFFERED = {
    (made.worker, made.action): made.model_copy(update={"preview": False}) for made in real_contracts()
}


class Row(NamedTuple):
    """Row `number` of the script: said at this door, by whom; where the answer is, and what it says."""

    number: int
    door: str  # "/": slash, "@": mention, "T": a plan's thread, "@T": mention there, "D": direct message
    words: str
    place: Place
    says: str = ""
    who: str = "U0ANN"
    then: str = ""  # what has become of the plan of the thread: approved, done, failed


# As the script says it, or, where the words differ, as the product does: the place is the script's.
SAID = [
    Row(1, "/", DEPLOY, "card", "3.  *Deploy* auth-service *v2.1.4* on production"),
    Row(2, "/", "pls deploy auth-service v2.1.5 to prod thx :rocket:", "card", "*v2.1.5* on production"),
    Row(3, "/", "DEPLOY AUTH-SERVICE V2.1.5 TO PRODUCTION!!!", "card", "*v2.1.5* on production"),
    Row(4, "/", "depoly auth-service v2.1.6 to prod", "card", "Read “depoly” as deploy"),
    Row(5, "/", "deploy auth-service", "private", "Which version?"),
    Row(6, "/", "deploy auth v2.1.5", "private", "“auth” may be auth-service"),
    Row(7, "/", "deploy billing v1.0", "private", "billing"),
    Row(8, "/", "deploy auth-service latest", "private", "Which version?"),
    Row(9, "/", "ship it", "private", "Which version?"),
    Row(10, "/", "deploy auth-service v2.1.5 to staging and production", "private", "[staging] [production]"),
    Row(11, "/", f"{DEPLOY} without a backup", "private", "[Plan without it]"),
    Row(12, "/", f"test, back up and {DEPLOY} tonight at 2am EST", "card", "02:00 EST"),
    Row(13, "/", "back up auth_prod", "card", "1.  *Back up auth_prod* · on approval"),
    Row(14, "/", "bakcup auth_prod", "card", "Read “bakcup” as backup"),
    Row(15, "/", "back up auth_prod every day at 2am", "private", "Each run asks for its approval"),
    Row(16, "/", "back up auth_prod asap", "card", "on approval"),
    Row(17, "/", "back up auth_prod tomorrow at 9", "private", "in the morning or the afternoon"),
    Row(18, "/", "back up auth_prod on tuesday at 2am in Berlin", "card", "02:00 CET"),
    Row(19, "/", "roll back auth-service", "private", "To which version"),
    Row(20, "/", "undo the last deploy", "private", "no deployment here that could be taken back"),
    Row(21, "/", "restart everything", "private", "“everything”; I take one at a time"),
    Row(22, "/", "scale auth-service to 4", "private", "In which environment?"),
    Row(23, "/", "drop the users table", "private", "I make none up"),
    Row(24, "/", "what version of auth-service is in production?", "private", "it is done"),
    Row(25, "/", "is auth-service healthy?", "private", "it is done"),
    Row(26, "/", "are the tests green?", "private", "That is a question"),
    Row(27, "/", "what's running?", "private", "Nothing runs."),
    Row(28, "/", "what is waiting for me?", "private", "Nothing waits for you."),
    Row(29, "/", "who can approve?", "private", "<@U0BOB> or <@U0CAROL>"),
    Row(30, "/", "list", "private", "deploy auth-service v2.1.5 on production — cancelled"),
    Row(30, "/", "my plans", "private", "newest first"),
    Row(31, "/", "hlep", "private", "For example:"),
    Row(32, "/", "", "private", "For example:"),
    Row(32, "/", "what can you do?", "private", "For example:"),
    Row(33, "/", "cancel {plan}", "both", "<@U0ANN> cancelled it", then="proposed"),
    Row(34, "/", "cancel last", "private", "[Cancel Plan", then="proposed"),
    Row(35, "/", "approve {plan}", "private", "Approving is a button", then="proposed"),
    Row(36, "/", "tell me a joke", "private", "it works on my machine"),
    Row(37, "/", "Bitte auth-service v2.1.4 in Produktion ausrollen", "card", "*v2.1.4* on production"),
    Row(38, "/", "Sichere die Datenbank auth_prod heute Nacht um 2", "card", "02:00 EST"),  # it is understood
    Row(40, "/", "haz una copia de auth_prod", "card", "*Back up auth_prod*"),
    Row(39, "/", "despliega auth-service v2.1.4 en producción", "card", "*v2.1.4* on production"),
    Row(41, "/", "could you deploy auth-service v2.1.5 to production on friday at 2am?", "card", "02:00 EST"),
    Row(42, "/", "should we deploy auth-service today?", "private", "That is a question"),
    Row(43, "/", "don't deploy auth-service today", "private", "nothing is planned"),
    Row(44, "@", DEPLOY, "card", "*v2.1.4* on production"),
    Row(45, "@", "hi", "private", "For example:"),  # the first time, also what one can say
    Row(45, "@", "hello", "wave"),
    Row(46, "@", "thanks!", "wave"),
    Row(47, "T", "lgtm", "private", "Words don't approve here, the button does", "U0BOB"),
    Row(47, "T", "+1", "private", "the button does", "U0BOB"),
    Row(47, "T", "approve", "private", "the button does", "U0BOB"),
    Row(47, "T", "ship it", "private", "the button does", "U0BOB"),
    Row(48, "T", "lgtm", "silence"),
    Row(49, "T", "ok", "silence"),
    Row(49, "T", "lol", "silence", "", "U0BOB"),
    Row(50, "T", "Modify step-3 to schedule for 2AM EST", "nod", "step 3: ~after 2~ → *Mon 16 Nov 02:00"),
    Row(51, "T", "Plan looks good, but let's deploy during maintenance window", "nod", "Nov 02:00 EST*"),
    Row(52, "T", "make the deploy 3am", "nod", "03:00 EST"),
    Row(52, "T", "deploy at 2AM EST", "nod", "02:00 EST"),
    Row(52, "T", "make it 3am", "private", "Which step?\n[step 2] [step 3]"),
    Row(53, "T", "wait until friday", "private", "At what time"),
    Row(54, "T", "postpone by one hour", "nod", "~on approval~"),
    Row(55, "T", "skip the backup", "nod", "without *backup*; step 2: now after *1*"),
    Row(55, "T", "no backup please", "nod", "Left out: back up auth_prod; deploy auth-service relied on it"),
    Row(56, "T", "put the backup back", "private", "I did not get “backup back”", then="without"),
    Row(57, "T", "use canary instead", "nod", "strategy ~blue-green~ → *canary*"),
    Row(57, "T", "2.1.8 instead", "nod", "version ~v2.1.4~ → *v2.1.8*"),
    Row(58, "T", "run the tests twice", "private", "[Edit]"),
    Row(59, "T", "do the tests last", "nod", "relied on it"),  # with what it costs
    Row(60, "T", "undo", "nod", "*Back up auth_prod*", then="without"),
    Row(61, "@T", "what about the migration?", "private", "I did not get that", "U0BOB"),
    Row(61, "T", "what about the migration?", "silence", "", "U0BOB"),
    Row(62, "T", "status?", "private", "aiting for approval"),
    Row(63, "T", "why?", "private", "High risk, because"),
    Row(63, "T", "why high risk?", "private", "High risk, because"),
    Row(64, "T", "who can approve?", "private", "<@U0BOB> or <@U0CAROL>"),
    Row(65, "T", "how long does it take?", "private", "of work"),
    Row(66, "T", "what if it fails?", "private", "nothing else runs"),
    Row(67, "T", "never mind", "thread", "cancelled it"),
    Row(68, "T", "stop!!", "thread", "cancelled it"),
    Row(67, "T", "cancel this plan", "thread", "cancelled it"),
    Row(69, "T", "cancel", "private", "Only <@U0ANN>", "U0DAN"),
    Row(69, "T", "cancel", "silence", "", "U0GUS"),
    Row(70, "@T", "deploy at 2AM EST", "nod", "02:00 EST"),
    Row(71, "@T", "deploy web v8.1 too", "private", "web v8.1"),
    Row(72, "T", "move step 3 to tuesday 2am EST", "both", "your approval stays", then="approved"),
    Row(73, "T", "do it again", "card", "auth-service", then="done"),
    Row(74, "T", "roll it back", "card", "*Roll back* auth-service", then="done"),
    Row(75, "T", "why did it fail?", "private", "it broke", then="failed"),
    Row(76, "T", "try again", "card", "*Deploy* auth-service", then="failed"),
    Row(77, "D", "back up auth_prod", "card", "*Back up auth_prod*"),
    Row(78, "D", "remind me tomorrow", "direct", "`/remind me …`"),
    Row(79, "D", "hi", "direct", "Guests", "U0GUS"),
]  # fmt: skip


@dataclass(frozen=True)
class Desk:
    """The bot without workers: what it hears, it answers before anything else happens."""

    slack: LocalSlack
    store: Store
    bot: Bot
    outbox: Outbox
    clock: FakeClock
    heard: list[str]  # where each message stands that the app was told of, once it is a row

    def person(self, user: str) -> Person:
        return self.slack.client().person(user)

    def settle(self) -> None:
        for _ in range(4):
            self.store.alive("w1", "workers", "1")
            handle_all(self.bot)
            think(self.bot)
            self._looks()
            self.outbox.speak()
            self.clock.advance(4)

    def _looks(self) -> None:
        """Look-ups that answer a question run at once, as they do where there are workers."""
        with self.store.read() as t:
            asked = [plan.id for plan in t.rows(Plan) if plan.private and plan.state == "approved"]
        for plan_id in asked:
            permitted(self.store, plan_id)
            self._work(plan_id, None)

    def hears(self, row: Row, *, tidy: bool = True) -> dict[str, str]:
        """What stands where after these words that did not before: by place, all of it."""
        thread = self._thread(row.then) if "T" in row.door or row.then else ""
        person, thread = self.person(row.who), thread if "T" in row.door else ""
        wish = row.words.replace("{plan}", str(self.bot.store.recent(1)[0].id if row.then else ""))
        words = f"/plan {wish}".strip() if row.door == "/" else wish
        words, before = f"{US} {words}" if "@" in row.door else words, self._seen(row.who)
        said = person.says(words, thread=thread, channel=person.dm if row.door == "D" else "")
        if row.door != "/":  # Slack waits for no answer to these: a mention, and the message itself
            until(lambda: self.heard.count(said.payload["ts"]) == 1 + row.door.startswith("@"))
        self.settle()
        after = self._seen(row.who)
        fresh = {
            place: "\n".join(text for text in found if text not in before[place])
            for place, found in after.items()
        }
        if tidy:
            self._tidy()
        return fresh

    def _thread(self, then: str) -> str:
        when = " tonight at 2am EST" if then == "approved" else ""
        self.person("U0ANN").says(f"/plan {DEPLOY}{when}")
        self.settle()
        plan = self.bot.store.recent(1)[0]
        if then == "without":
            self._amended(plan.card)
        if then in {"approved", "done", "failed"}:
            self.person("U0BOB").clicks("approve", message=plan.card)
            self.settle()
        if then in {"done", "failed"}:
            self.works(bad() if then == "failed" else None)
        self.settle()
        return plan.card

    def _amended(self, card: str) -> None:
        said = self.person("U0ANN").says("skip the backup", thread=card)
        until(lambda: said.payload["ts"] in self.heard)
        self.settle()

    def works(self, report: AnyReport | None = None) -> None:
        """What workers would do: every step that may run ends so, or well; one after the other."""
        for _ in range(4):
            for view in self.bot.store.open_plans(limit=9):
                permitted(self.store, view.id)
                self._work(view.id, report)

    def _work(self, plan_id: int, report: AnyReport | None) -> None:
        for one in self.store.view(plan_id).steps:
            row = step_row(self.store, plan_id, one.spec.id)
            taken = self.store.claim(row.id, taker(OFFERED[row.worker, row.action]))
            kept = {c.field: c.value for c in one.spec.success_criteria if isinstance(c, Check)}
            if taken:
                self.store.start(taken, {"version": "v2.1.3"})
            if taken and report:
                self.store.fail(taken, report, actor="w1")
            elif taken:
                self.store.succeed(taken, ok(**kept), actor="w1")

    def _seen(self, user: str) -> dict[str, list[str]]:
        state = self.slack.client().state()
        ours = [one for one in state["messages"] if one["user"] == DEFAULT_BOT.id]
        cards = [one for one in ours if '"details"' in json.dumps(one.get("blocks"))]
        reactions = [mark["name"] for one in state["messages"] for mark in one.get("reactions", [])]
        return {
            "private": [readable(one) for one in state["ephemerals"] if one["to"] == user],
            "card": [readable(one) for one in cards],
            "thread": [readable(one) for one in ours if one.get("thread_ts") and one not in cards],
            "direct": [readable(one) for one in ours if one["channel"] == self.person(user).dm],
            "mark": [f"{name} {count}" for count, name in enumerate(reactions)],
        }

    def _tidy(self) -> None:
        for view in self.bot.store.open_plans(limit=100):
            self.bot.store.cancel(view.id, user="U0ANN", reason="the next row")
        self.clock.advance(60)
        self.settle()
        self.slack.client().clear()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    engine, clock = open_engine(f"sqlite:///{tmp_path_factory.mktemp('voice') / 'x.db'}"), FakeClock(NOW)
    migrate(engine)
    store = Store(engine, clock)
    store.publish(OFFERED.values())
    people = {"approvers": ["U0BOB", "U0CAROL"], "admins": ["U0CAROL"]}
    config = SignoffConfig.model_validate(demo_config().model_dump() | {"people": people})
    with LocalSlack(members=MEMBERS) as slack:
        client = WebClient(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[])
        bot, outbox = make_bot(store, client, config)
        app, heard = build(client, bot), list[str]()

        @app.middleware
        def listen(body: Json, next: Callable[[], None]) -> None:
            heard.append(str(body.get("event", {}).get("ts")))
            next()

        handler = SocketModeHandler(app, slack.app_token)
        handler.connect()
        slack.client().wait_for_bot()
        yield Desk(slack, store, bot, replace(outbox, steady=lambda: clock().timestamp()), clock, heard)
        handler.close()
    engine.dispose()


# Where an answer of this place stands, and where then nothing does.
WHERE: dict[Place, tuple[str, tuple[str, ...]]] = {
    "both": ("thread", ()), "card": ("card", ("private",)), "private": ("private", ("card", "thread")),
    "nod": ("card", ("private", "thread")),
    "wave": ("mark", ("card", "private", "thread")), "thread": ("thread", ("private",)),
    "direct": ("direct", ("card",)), "silence": ("", ("card", "private", "thread", "direct", "mark")),
}  # fmt: skip
MARKS = {"nod": "ok_hand", "wave": "wave"}


def test_the_fourth_sentence_that_is_not_understood_is_answered_by_a_form(desk: Desk) -> None:
    """Row 80: the last one. What is picked there is asked for in full, and becomes a plan."""
    said = [Row(80, "/", f"{word} the gribble", "private") for word in ("flurb", "snark", "quux", "zorp")]
    *first, fourth = (desk.hears(row, tidy=False) for row in said)
    ann = desk.person("U0ANN")
    ann.clicks("clarify")
    desk.settle()
    picked = ann.fills({"runbook": "Back up a database"})
    desk.settle()
    asked = ann.ephemerals()[-1]
    desk._tidy()

    assert not any("by form" in found["private"] for found in first)
    assert "Let's do it by form." in fourth["private"]
    assert "[Make a Plan]" in fourth["private"]
    assert not picked.errors
    assert "database" in asked


@pytest.mark.parametrize("row", SAID, ids=lambda row: f"{row.number} {row.door} {row.words}"[:60])
def test_the_answer_stands_in_its_place(desk: Desk, row: Row) -> None:
    found = desk.hears(row)
    place, nowhere = WHERE[row.place]

    assert {other: found[other] for other in nowhere if found[other]} == {}
    assert not place or found[place]
    assert row.says in found.get(place, "")
    assert MARKS.get(row.place, "") in found["mark"]
