"""A trial's figures as Markdown, and two of them side by side."""

from collections.abc import Iterator, Mapping
from typing import Any

HEAD = "| | right of answered | pass@1 | right every time | failures | calls | repairs | USD | median | p90 |"
LINE = "|---|---|---|---|---|---|---|---|---|---|"


def markdown(found: Mapping[str, Any]) -> str:
    """For people: what was tried, how it went, what was wrong."""
    prompts = ", ".join(found["prompts"]) or "none answered"
    lines = [
        f"# {found['model']}",
        "",
        f"Models: {', '.join(found['models']) or 'none answered'}. Prompts: {prompts}.",
        "",
        f"Floor: {found['floor']:.0%} right of each kind. Below it: {', '.join(found['below']) or 'none'}.",
        "",
        HEAD,
        LINE,
    ]
    lines += [_row(kind, sums) for kind, sums in (*found["kinds"].items(), ("all", found["total"]))]
    lines += ["", f"Failures of the API: {found['failures']} of {found['total']['samples']} samples."]
    lines += [f"- {why}" for why in found["why_failed"]]
    wrong = [f"- {one['kind']}: {one['name']}: {'; '.join(one['wrong'])}" for one in found["wrong"]]
    return "\n".join([*lines, *(["", "Not right:", "", *wrong] if wrong else [])])


def _row(name: str, sums: Mapping[str, Any]) -> str:
    fields = (
        name, f"{sums['right']} of {sums['answered']}", f"{sums['pass_at_1']:.1%}",
        f"{sums['pass_all']} of {sums['cases']} cases", str(sums["samples"] - sums["answered"]),
        str(sums["calls"]), str(sums["repairs"]), f"{sums['usd']:.4f}", _seconds(sums["seconds_median"]),
        _seconds(sums["seconds_p90"]),
    )  # fmt: skip
    return f"| {' | '.join(fields)} |"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} s"


def compared(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """What is better and worse in the second; kinds that only one has are said."""
    lines = [
        f"A: {first['model']}, {', '.join(first['prompts'])}",
        f"B: {second['model']}, {', '.join(second['prompts'])}",
        "", "| | A pass@1 | B pass@1 | difference | A USD | B USD | A failures | B failures |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    lines += _rows(first, second)
    ours, theirs = ({(o["kind"], o["name"]) for o in one["wrong"]} for one in (first, second))
    lines += [
        "",
        f"Right in B and wrong in A: {len(ours - theirs)}; wrong in B and right in A: {len(theirs - ours)}",
    ]
    lines += [f"- B is wrong: {kind}: {name}" for kind, name in sorted(theirs - ours)]
    lines += [f"- B is right: {kind}: {name}" for kind, name in sorted(ours - theirs)]
    return "\n".join(lines)


def _rows(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[str]:
    for kind in dict.fromkeys((*first["kinds"], *second["kinds"], "all")):
        a, b = ((one["total"] if kind == "all" else one["kinds"].get(kind)) for one in (first, second))
        if a is None or b is None:
            only = ("–" if a is None else "only A", "–" if b is None else "only B")
            yield f"| {kind} | {' | '.join(only)} | | | | | |"
            continue
        more = b["pass_at_1"] - a["pass_at_1"]
        lost = (str(one["samples"] - one["answered"]) for one in (a, b))
        cells = (f"{a['pass_at_1']:.1%}", f"{b['pass_at_1']:.1%}", f"{more:+.1%}", f"{a['usd']:.4f}",
                 f"{b['usd']:.4f}", *lost)  # fmt: skip
        yield f"| {kind} | {' | '.join(cells)} |"
