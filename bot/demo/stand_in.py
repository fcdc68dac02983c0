"""A stand-in for the model: a few plain rules that plan from what they are shown, and from nothing else.

It is told no answers. What it cannot take from the request, the thread, earlier plans, what is known or
looked at, it asks for: so whatever a planner is not shown, this one does not know either. Pure.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
TAG = re.compile(r"<(\w+)>\n(.*?)\n</\1>", re.S)
NAMES = re.compile(r"^- \w+: one of (.+?)(?:, required|, default .*)?$", re.M)
LINK = re.compile(r"^- (\w+) ([\w.-]+): (.+)$", re.M)
VERSION = re.compile(r"\bv?\d+(?:\.\d+){1,3}\b")
SAYS_SO = "a scripted stand-in, no model"


@dataclass(frozen=True)
class Shown:
    """One request, as it was sent: the blocks by tag, and what the installation has."""

    parts: Json
    names: frozenset[str]  # of the inventory, as the catalogue lists them
    links: dict[str, dict[str, str]]  # name → what belongs to it
    sources: frozenset[str] = frozenset()  # of rows

    @property
    def request(self) -> str:
        return str(self.parts.get("request", "")).strip()

    def services(self, text: str) -> list[str]:
        """The services that these words name, in their order."""
        found = [(m.start(), name) for name, facts in self.links.items() if facts.get("table") == "services"
                 for m in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.I)]  # fmt: skip
        return [name for _, name in sorted(found)]

    def source(self, text: str) -> str:
        """The first source of rows that these words name."""
        found = [(at, name) for name in self.sources if (at := text.find(name)) >= 0]
        return min(found)[1] if found else ""

    def status(self, service: str) -> Json | None:
        """What is known of a service: looked at now, else as it was seen lately."""
        for one in self.parts.get("looked", []):
            if one["found"] and one["parameters"].get("service") == service and "replicas" in one["data"]:
                return dict(one["data"])
        about = self.parts.get("known", {}).get("named", {}).get(f"services {service}", {})
        seen = [dict(one["data"]) for one in about.get("last_seen", []) if "replicas" in one.get("data", {})]
        return seen[0] if seen else None

    def looked_in_vain(self) -> bool:
        return any(not one["found"] for one in self.parts.get("looked", []))


def shown(body: Json) -> Shown:
    """Read what was sent; nothing else is known here."""
    system = "\n".join(block["text"] for block in body["system"])
    parts = {tag: json.loads(text) for tag, text in TAG.findall(body["messages"][0]["content"])}
    links: dict[str, dict[str, str]] = {}
    for table, name, facts in LINK.findall(
        system.partition("# What belongs together")[2].partition("\n# ")[0]
    ):
        said = dict(pair.split(" ", 1) for pair in facts.split(", ") if " " in pair)
        links[name] = said | {"table": table}
    listed = NAMES.findall(system.partition("# Windows")[0])
    names = (re.sub(r" \(.*?\)", "", one).strip() for said in listed for one in said.split(", "))
    return Shown(parts, frozenset(names), links, frozenset(_sources(system)))


def _sources(system: str) -> list[str]:
    """What `source` of data-retrieval.fetch may be, by the catalogue."""
    entry = system.partition("### data-retrieval.fetch ")[2].partition("\n### ")[0]
    said = re.search(r"^- source: one of (.+?)(?:, required|, default .*)?$", entry, re.M)
    return [re.sub(r" \(.*?\)", "", one).strip() for one in said[1].split(", ")] if said else []


def answer(body: Json) -> Json:
    """The answer in the form that is asked for."""
    seen = shown(body)
    if "state" in seen.parts:
        return advised(seen)
    for pattern, rule in RULES:
        if found := re.search(pattern, seen.request, re.I):
            return rule(seen, found)
    return declined(f"I am {SAYS_SO}, and know only a few requests. Try: add 2 replicas to auth-service.")


# answers


def made(kind: str, **fields: Any) -> Json:
    usual: Json = {"kind": kind, "goal": "", "assumptions": [], "questions": [], "reason": "", "steps": [],
                   "rollback": [], "continues": False, "looks": [], "done_when": []}  # fmt: skip
    return usual | fields


def declined(why: str) -> Json:
    return made("refuse", reason=why)


def asked(question: str, *options: str) -> Json:
    kind = "choice" if len(options) > 1 else "text"
    return made("clarify", questions=[{"name": "q", "ask": question, "kind": kind, "options": [*options]}])


def args(given: Json) -> list[Json]:
    return [
        {"name": name, "kind": "text", "value": value} if isinstance(value, str)
        else {"name": name, "kind": "ref", "value": value["from"]} if isinstance(value, dict)
        else {"name": name, "kind": "json", "value": json.dumps(value)}
        for name, value in given.items() if value not in ("", None)
    ]  # fmt: skip


def step(key: str, call: str, given: Json, *needs: str, **fields: Any) -> Json:
    usual: Json = {"id": key, "call": call, "purpose": "", "args": args(given), "depends_on": [*needs],
                   "window": "", "at": "", "criteria": [], "checks": [], "failure_action": "ask"}  # fmt: skip
    return usual | fields


def looks(*calls: tuple[str, Json]) -> Json:
    return made("look", looks=[{"call": call, "args": args(given)} for call, given in calls])


def undo(key: str, call: str, given: Json) -> Json:
    return {"id": f"undo-{key}", "undoes": key, "call": call, "purpose": "", "args": args(given)}


def back(seen: Shown, service: str, version: str, why: str) -> Json:
    place = seen.links[service].get("environment", "production")
    given = {"service": service, "to_version": version, "environment": place}
    only = step("rollback", "k8s-deployer.rollback_service", given, criteria=["service_healthy"])
    return made("plan", goal=f"Roll {service} back to {version}", steps=[only], assumptions=[why])


# rules: from the words of the request to an answer


def more_replicas(seen: Shown, found: re.Match[str]) -> Json:
    service, place = seen.services(seen.request)[:1], ""
    if not service:
        return asked("Of which service?", *[n for n, f in seen.links.items() if f["table"] == "services"])
    name = service[0]
    place = seen.links[name].get("environment", "production")
    status = seen.status(name)
    if status is None and seen.looked_in_vain():
        return asked(f"How many of {name} run now?")
    if status is None:
        return looks(("k8s-deployer.rollout_status", {"service": name, "environment": place}))
    total = int(status["replicas"]) + int(found["number"]) * (1 if found["verb"].lower() == "add" else -1)
    given = {"service": name, "environment": place, "replicas": total}
    way = {"service": name, "environment": place, "to_version": "previous"}
    only = step("scale", "k8s-deployer.scale", given, criteria=["service_healthy"], failure_action="rollback")
    return made("plan", goal=f"Scale {name} to {total}", steps=[only],
                rollback=[undo("scale", "k8s-deployer.rollback_service", way)],
                assumptions=[f"{status['replicas']} run now, so {total}"])  # fmt: skip


def undo_deploy(seen: Shown, found: re.Match[str]) -> Json:
    """The newest deploy among earlier plans, if that is what runs."""
    for plan in seen.parts.get("earlier", []):
        for one in plan["steps"]:
            was = one.get("was_before", {}).get("version")
            if one["call"].endswith(".deploy_service") and one["state"] == "succeeded" and was:
                name, put = one["parameters"]["service"], one["parameters"]["version"]
                status = next((o["data"] for o in seen.parts.get("looked", []) if o["found"]), None)
                if status is None and not seen.looked_in_vain():
                    place = one["parameters"].get("environment", "production")
                    return looks(("k8s-deployer.rollout_status", {"service": name, "environment": place}))
                if status and status.get("version") not in {put, None}:
                    return asked(
                        f"{status['version']} runs, and plan {plan['plan']} deployed {put}. To which version?"
                    )
                return back(seen, name, was, f"plan {plan['plan']} deployed {put} over {was}")
    return asked("Which deploy do you mean?")


def version_before(seen: Shown, found: re.Match[str]) -> Json:
    """What people said in the thread: which service, and the two versions."""
    heard = [one["said"] for one in seen.parts.get("thread", []) if one["may_instruct"]]
    services = seen.services("\n".join(heard))
    versions = sorted({v for said in heard for v in VERSION.findall(said)}, key=_numbers)
    if not services or len(versions) < 2:
        return asked("Which service, and to which version?")
    return back(seen, services[-1], versions[-2], f"the thread speaks of {' and '.join(versions)}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def find_and_fix(seen: Shown, found: re.Match[str]) -> Json:
    services = seen.services(seen.request)
    if not services:
        return asked("Which service?")
    name = services[0]
    place, endpoint = seen.links[name].get("environment", "production"), seen.links[name].get("endpoint", "")
    if not seen.parts.get("looked"):
        answers = [("http-check.check_http", {"endpoint": endpoint})] if endpoint else []
        return looks(("k8s-deployer.rollout_status", {"service": name, "environment": place}), *answers)
    status = seen.status(name)
    if status is None:
        return asked(f"I could not look at {name}. What shall be done?")
    why = f"{status.get('version')} runs with {status.get('replicas')} replicas"
    only = step("restart", "k8s-deployer.restart", {"service": name, "environment": place},
                criteria=["service_healthy"], purpose="Start it anew")  # fmt: skip
    return made("plan", goal=f"Make {name} fast again", steps=[only], assumptions=[why])


def same_for(seen: Shown, found: re.Match[str]) -> Json:
    """The newest earlier plan, with one name and what belongs to it replaced."""
    new = (seen.services(found["rest"]) or [""])[0]
    for plan in seen.parts.get("earlier", []) if new else ():
        old = next((v for s in plan["steps"] for v in s["parameters"].values() if v in seen.links
                    and seen.links[v]["table"] == "services" and v != new), "")  # fmt: skip
        if old:
            swap = {old: new} | {seen.links[old][f]: seen.links[new][f] for f in seen.links[old]
                                 if f in seen.links[new] and f != "table"}  # fmt: skip
            return _again(plan, swap, new)
    return asked("The same as what?")


def _again(plan: Json, swap: dict[str, str], new: str) -> Json:
    steps: list[Json] = []
    for number, one in enumerate(plan["steps"], 1):
        given = {k: swap.get(v, v) if isinstance(v, str) else v for k, v in one["parameters"].items()}
        kept = {k: v for k, v in given.items() if v not in (None, "", [], {})}
        steps.append(
            step(f"step-{number}", one["call"], kept, *([f"step-{number - 1}"] if number > 1 else []))
        )
    return made("plan", goal=f"The same for {new}", steps=steps, assumptions=[f"as plan {plan['plan']}"])


def research(seen: Shown, found: re.Match[str]) -> Json:
    """From the source, and the path, that people have named: in the request, or in the thread above it."""
    heard = [one["said"] for one in seen.parts.get("thread", []) if one["may_instruct"]]
    source = seen.source("\n".join([seen.request, *heard]))
    path = re.search(r"(?<!\S)\(?(/[\w/.-]+)", "\n".join([seen.request, *heard]))
    if not source or not path:
        return asked("Where do they stand: in which source, at which path?")
    given = {"source": source, "path": path[1]}
    first = step("fetch", "data-retrieval.fetch", given, criteria=["has_rows"])
    return made("plan", goal="Say how the error rates changed", steps=[first], continues=True)


def status_of(seen: Shown, found: re.Match[str]) -> Json:
    services = seen.services(seen.request)
    if not services:
        return asked("Of which service?")
    place = seen.links[services[0]].get("environment", "production")
    only = step("look", "k8s-deployer.rollout_status", {"service": services[0], "environment": place})
    return made("plan", goal=f"Say how {services[0]} stands", steps=[only])


def deploy(seen: Shown, found: re.Match[str]) -> Json:
    services, versions = seen.services(seen.request), VERSION.findall(seen.request)
    if not services or not versions:
        return asked("Which service, and which version?")
    name, place = services[0], seen.links[services[0]].get("environment", "production")
    steps = [step("test", "test-runner.run_tests", {"test_suite": "full"}, criteria=["all_tests_pass"],
                  failure_action="abort")]  # fmt: skip
    if database := seen.links[name].get("database"):
        steps.append(step("backup", "db-backup.backup_database", {"database": database}, "test",
                          criteria=["backup_verified"]))  # fmt: skip
    given = {"service": name, "version": versions[0], "environment": place}
    steps.append(step("deploy", "k8s-deployer.deploy_service", given, steps[-1]["id"],
                      criteria=["service_healthy"], failure_action="rollback", at=_time(seen)))  # fmt: skip
    way = {"service": name, "environment": place, "to_version": "previous"}
    return made("plan", goal=f"Deploy {name} {versions[0]}", steps=steps,
                rollback=[undo("deploy", "k8s-deployer.rollback_service", way)])  # fmt: skip


def back_up(seen: Shown, found: re.Match[str]) -> Json:
    if found["name"] not in seen.names:
        return asked("Which database?")
    given = {"database": found["name"]}
    only = step("backup", "db-backup.backup_database", given, criteria=["backup_verified"], at=_time(seen))
    return made("plan", goal=f"Back up {found['name']}", steps=[only])


def run_tests(seen: Shown, found: re.Match[str]) -> Json:
    given = {"test_suite": found["suite"].lower(), "environment": found["place"] or ""}
    if given["test_suite"] not in seen.names:
        return asked("Which suite?")
    only = step("test", "test-runner.run_tests", given, criteria=["all_tests_pass"], at=_time(seen))
    return made("plan", goal=f"Run the {found['suite']} tests", steps=[only])


def scale(seen: Shown, found: re.Match[str]) -> Json:
    name = (seen.services(found["name"]) or [""])[0]
    if not name:
        return asked("Of which service?")
    place = seen.links[name].get("environment", "production")
    given = {"service": name, "environment": place, "replicas": int(found["number"])}
    way = {"service": name, "environment": place, "to_version": "previous"}
    only = step("scale", "k8s-deployer.scale", given, criteria=["service_healthy"], failure_action="rollback",
                at=_time(seen))  # fmt: skip
    return made("plan", goal=f"Scale {name} to {found['number']}", steps=[only],
                rollback=[undo("scale", "k8s-deployer.rollback_service", way)])  # fmt: skip


def _time(seen: Shown) -> str:
    """The words of a time, at the end of the request."""
    said = re.search(r"\b(?:tonight|tomorrow|(?:at|in|on) \S*\d).*$", seen.request, re.I)
    return said[0] if said else ""


Rule = Callable[[Shown, re.Match[str]], Json]
RULES: tuple[tuple[str, Rule], ...] = (
    (r"(?P<verb>add|remove) (?P<number>\d+) (?:more )?replicas?", more_replicas),
    (r"undo the last deploy", undo_deploy),
    (r"roll (?:it|that) back to the version before|version before", version_before),
    (r"\bfix (?:it|that)\b", find_and_fix),
    (r"\bsame for (?P<rest>.+)", same_for),
    (r"error rates", research),
    (r"^(?:which|what|how|is|show|check)\b.*(?:version|runs|status|stands|healthy)", status_of),
    (r"\bback ?up (?P<name>[\w-]+)", back_up),
    (r"\brun the (?P<suite>[\w-]+) tests\b(?: on (?P<place>[a-z]+))?", run_tests),
    (r"\bscale (?P<name>[\w-]+) to (?P<number>\d+)", scale),
    (r"\bdeploy\b", deploy),
)  # fmt: skip


# reviews


def decided(verb: str, reason: str, *steps: Json, about: str = "") -> Json:
    return {"verb": verb, "step": about, "reason": reason, "steps": [*steps], "drop": []}


def advised(seen: Shown) -> Json:
    """How a plan that runs goes on, from its state alone."""
    state = seen.parts["state"]
    for one in state["steps"]:
        if one["state"] == "failed":
            return next(
                _instead(one, state, seen), decided("ask", "I do not know another way.", about=one["id"])
            )
    calls = {one["call"]: one for one in state["steps"]}
    if "data-retrieval.fetch" in calls and "data-processing.process" not in calls:
        rows = {"from": f"{calls['data-retrieval.fetch']['id']}.file"}
        pipeline = [
            {"op": "aggregate", "by": ["week"], "values": {"total": {"function": "sum", "column": "errors"}}}
        ]
        made_ = step("count", "data-processing.process", {"rows": rows, "pipeline": pipeline},
                     calls["data-retrieval.fetch"]["id"])  # fmt: skip
        return decided("amend", "The rows are there; now they are counted.", made_)
    if "data-processing.process" in calls and "summary.summarise" not in calls:
        source = {"from": f"{calls['data-processing.process']['id']}.file"}
        told = step("say", "summary.summarise", {"source": source, "method": "plain"},
                    calls["data-processing.process"]["id"])  # fmt: skip
        return decided("amend", "The sums are there; now they are told.", told)
    return decided("finish", "Everything that was planned has reported.")


def _instead(one: Json, state: Json, seen: Shown) -> Iterator[Json]:
    """Another source of the same, where the installation has one."""
    if (
        one["call"] == "data-retrieval.fetch"
        and "alternative" in state["may_answer"]
        and "archive" in seen.names
    ):
        given = {k: v for k, v in one["parameters"].items() if v not in (None, "", [], {})} | {
            "source": "archive"
        }
        other = step("fetch-2", one["call"], given, criteria=["has_rows"])
        yield decided("alternative", "The archive has the same.", other, about=one["id"])
