"""The practice service's own page: which version is live, on which pods, since when. World in, HTML out."""

import time
from html import escape

from workers.practice.world import Manifest, World, version_of

STYLE = """
:root { color-scheme: light dark;
  --paper: #f6f5f2; --card: #fff; --ink: #1c1d21; --soft: #6b6d76; --line: #e4e2dc;
  --blue: #2f6fed; --green: #1f9d61; --bad: #d1453b; --wait: #c98a16; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #131417; --card: #1c1e22; --ink: #ecedf0; --soft: #9a9da6;
  --line: #2d3036; --blue: #6f9dff; --green: #4cc78c; --bad: #ff7b72; --wait: #e3b04b; } }
* { box-sizing: border-box; margin: 0; }
body { min-height: 100vh; padding: 4vh 20px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 680px; margin: 0 auto; }
.note { margin-bottom: 14px; color: var(--soft); font-size: 13px; text-align: center; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 16px; overflow: hidden; }
header { padding: 30px 34px 28px; border-top: 6px solid var(--hue); }
header p { display: flex; justify-content: space-between; color: var(--soft); }
header b { color: var(--ink); font-weight: 600; }
h1 { font-size: clamp(56px, 13vw, 104px); line-height: 1.1; font-weight: 700; letter-spacing: -.035em;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.blue { --hue: var(--blue); } .green { --hue: var(--green); } .none { --hue: var(--bad); }
.row { display: grid; grid-template-columns: 148px 1fr; gap: 16px; align-items: center; padding: 16px 34px;
  border-top: 1px solid var(--line); min-height: 84px; }
.row h2 { font-size: 16px; font-weight: 600; display: flex; align-items: center; gap: 9px; }
.row h2::before { content: ""; width: 11px; height: 11px; border-radius: 50%; border: 2px solid var(--hue); }
.serves h2::before { background: var(--hue); }
.row small { display: block; padding-left: 20px; color: var(--soft); font-size: 13px; }
.serves small { color: var(--hue); font-weight: 600; }
.pods { display: flex; flex-wrap: wrap; gap: 8px; color: var(--soft); font-size: 14px; }
.pod { padding: 6px 12px; border: 1px solid var(--line); border-radius: 9px; font-size: 13px;
  line-height: 1.35; color: var(--ink); }
.pod i { display: block; font-style: normal; color: var(--tone); }
.ready { --tone: var(--green); } .wait { --tone: var(--wait); border-style: dashed; }
.bad { --tone: var(--bad); border-color: var(--bad); }
ol { list-style: none; padding: 16px 34px 20px; border-top: 1px solid var(--line);
  font-size: 14px; color: var(--soft); }
li { display: flex; gap: 16px; padding: 3px 0; } li:first-child { color: var(--ink); }
time { font-variant-numeric: tabular-nums; }
"""
SCRIPT = """
setInterval(async () => {
  try {
    const text = await (await fetch(location)).text();
    const next = new DOMParser().parseFromString(text, "text/html");
    const [now, then] = [document.querySelector("main"), next.querySelector("main")];
    if (then && now.innerHTML !== then.innerHTML) now.replaceWith(then);
    document.title = next.title;
  } catch { document.title = "practice cluster is stopped"; }
}, 500);
"""


def page(world: World, namespace: str, service: str, label: str) -> str:
    version = world.version(namespace, service)
    title = escape(f"{service} {version or 'is down'}")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<noscript><meta http-equiv="refresh" content="1"></noscript>'
        f"<style>{STYLE}</style></head><body><main>{body(world, namespace, service, label)}</main>"
        f"<script>{SCRIPT}</script></body></html>"
    )


def body(world: World, namespace: str, service: str, label: str) -> str:
    found = world.objects[f"{namespace}/Service/{service}"]
    version = world.version(namespace, service)
    active = found["spec"]["selector"].get("color", "")
    hue = active if version else "none"
    rows = "".join(
        row(world, namespace, service, color, serves=color == active) for color in ("blue", "green")
    )
    return (
        f'<p class="note">{escape(label)}</p><section class="card {escape(hue)}"><header>'
        f"<p><b>{escape(service)}</b><span>{'live version' if version else 'no pod is ready'}</span></p>"
        f"<h1>{escape(version or 'down')}</h1></header>{rows}{history(world, namespace, service)}</section>"
    )


def row(world: World, namespace: str, service: str, color: str, *, serves: bool) -> str:
    pods = world.find(namespace, "Pod", {"app": service, "color": color})
    drawn = "".join(map(chip, pods)) or "no pods"
    state = "all traffic" if serves else "no traffic"
    return (
        f'<div class="row {color}{" serves" if serves else ""}">'
        f'<div><h2>{color}</h2><small>{state}</small></div><div class="pods">{drawn}</div></div>'
    )


def chip(pod: Manifest) -> str:
    state = pod["status"]["containerStatuses"][0]["state"]
    reason = state.get("waiting", {}).get("reason", "ready")
    tone = {"ready": "ready", "ContainerCreating": "wait"}.get(reason, "bad")
    text = "starting" if tone == "wait" else reason
    return f'<span class="pod {tone}">{escape(version_of(pod))}<i>{escape(text)}</i></span>'


def history(world: World, namespace: str, service: str) -> str:
    own = [one for one in world.history if (one["namespace"], one["service"]) == (namespace, service)]
    lines = [
        f"<li><time>{time.strftime('%H:%M:%S UTC', time.gmtime(one['at']))}</time>"
        f"<span>{escape(one['version'])} went live on {escape(one['color'])}</span></li>"
        for one in reversed(own[-5:])
    ]
    return f"<ol>{''.join(lines)}</ol>" if lines else ""
