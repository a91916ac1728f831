"""The page of a trial: its style sheet, and its template for jinja2. Nothing in it asks for anything from outside."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark;
  --paper: #fff; --panel: #f6f7f9; --ink: #16181d; --soft: #565d6b; --rule: #d5d9e0;
  --a: #a64b00; --b: #0a5fa8; --good: #116b37; --bad: #a3211b; --warn: #7d5a00;
  --h1: #e8f0f9; --h2: #cfe0f3; --h3: #aecbea; --h4: #86b2df; --h5: #5a94d0; --dark: #fff; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14171c; --panel: #1c2027; --ink: #e7eaf0; --soft: #a3abba; --rule: #363d49;
  --a: #f0a35c; --b: #6db5f5; --good: #6fcf97; --bad: #ff8a80; --warn: #e6c15c;
  --h1: #1d2a3a; --h2: #21374f; --h3: #264766; --h4: #2c5a83; --h5: #336fa5; --dark: #fff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 20px 16px 48px; }
header { border-bottom: 1px solid var(--rule); padding-bottom: 14px; margin-bottom: 18px; }
.over { color: var(--soft); font-size: 13px; overflow-wrap: anywhere; }
h1 { font-size: 23px; line-height: 1.28; margin: 8px 0; font-weight: 650; overflow-wrap: anywhere; max-width: 62rem; }
h2 { font-size: 15px; margin: 26px 0 8px; font-weight: 650; }
p { margin: 4px 0; max-width: 62rem; overflow-wrap: anywhere; }
.verdict { display: inline-block; border: 2px solid currentColor; border-radius: 4px; padding: 0 8px; font-weight: 700;
  font-size: 13px; letter-spacing: .05em; text-transform: uppercase; }
.good { color: var(--good); } .critical { color: var(--bad); }
.warning { color: var(--warn); } .info { color: var(--b); }
.scroll { overflow-x: auto; max-width: 100%; }
.scroll:focus-visible { outline: 2px solid var(--b); outline-offset: 2px; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); font-size: 13px; padding: 0 0 6px; }
th, td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; white-space: nowrap; border-bottom-color: var(--soft); }
tbody th { font-weight: 500; }
td.n, th.n { text-align: right; white-space: nowrap; }
tr.decides th, tr.decides td { font-weight: 700; background: var(--panel); }
td:last-child { min-width: 8.5em; } td.n:last-child, .heat td:last-child { min-width: 0; }
tr.off td { color: var(--soft); }
.grid { display: grid; gap: 14px; align-items: start; margin-top: 8px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); }
.lead { display: flex; flex-wrap: wrap; gap: 18px 28px; align-items: flex-start; }
.lead > figure { flex: 1 1 380px; max-width: 560px; }
figure { margin: 0; background: var(--panel); border: 1px solid var(--rule); border-radius: 6px; padding: 10px 12px;
  min-width: 0; }
figcaption { font-size: 13px; font-weight: 600; margin-bottom: 6px; }
svg { display: block; width: 100%; height: auto; max-width: 560px; margin: 0 auto; }
svg text { fill: var(--ink); font: 11.5px system-ui, "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; }
svg line.grid { stroke: var(--rule); stroke-width: 1; }
svg .zero { stroke: var(--ink); stroke-width: 1.2; }
svg .limit { stroke: var(--warn); stroke-width: 2; stroke-dasharray: 3 2; }
svg .span { stroke: var(--b); stroke-width: 2; }
svg .pair { stroke: var(--soft); stroke-width: .8; fill: none; opacity: .65; }
svg .mean { stroke-width: 1.5; }
svg .curve { fill: none; stroke-width: 2; }
svg .mean.a, svg .curve.a { stroke: var(--a); stroke-dasharray: 6 4; }
svg .mean.b, svg .curve.b { stroke: var(--b); }
svg .mark.a { fill: var(--panel); stroke: var(--a); stroke-width: 1.8; }
svg .mark.b { fill: var(--b); stroke: var(--b); }
svg .mark.x { fill: none; stroke: var(--bad); stroke-width: 1.8; }
svg .bar.a { fill: url(#hatch); stroke: var(--a); stroke-width: 1; } svg .bar.b { fill: var(--b); }
svg .hatch { stroke: var(--a); stroke-width: 1.6; }
table.heat { border-collapse: separate; border-spacing: 2px; font-size: 13px; }
.heat th, .heat td { border: 0; padding: 3px 7px; }
.heat td { text-align: right; min-width: 3.6em; border-radius: 3px; background: var(--panel); }
.heat td.h1 { background: var(--h1); } .heat td.h2 { background: var(--h2); } .heat td.h3 { background: var(--h3); }
.heat td.h4 { background: var(--h4); } .heat td.h5 { background: var(--h5); color: var(--dark); font-weight: 650; }
code { font: 13px ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: fit-content(22em) 1fr; gap: 3px 16px; margin: 0; font-size: 14px; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; font-weight: 650; margin: 22px 0 8px; }
footer { margin-top: 30px; color: var(--soft); font-size: 12.5px; border-top: 1px solid var(--rule);
  padding-top: 10px; }
@media (max-width: 520px) { h1 { font-size: 19px; } dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 6px; } svg text { font-size: 13.5px; }
  main { padding: 14px 12px 32px; } th, td { padding-right: 9px; } table { font-size: 13px; } }
@media print { figure { break-inside: avoid; } details { display: block; } }
"""
"""A and B differ in shape and line as well as in colour; shades of a cell repeat the number in it."""

TEMPLATE = """\
{%- macro table(part) -%}
<div class="scroll" role="region" aria-label="{{ part.caption }}" tabindex="0"><table>
<caption>{{ part.caption }}</caption>
<thead><tr>
{%- for name in part.columns %}
<th scope="col"{% if name in part.right %} class="n"{% endif %}>{{ name }}</th>
{%- endfor %}
</tr></thead>
<tbody>
{%- for row in part.rows %}
<tr{% if row.kind %} class="{{ row.kind }}"{% endif %}><th scope="row">{{ row.cells[0] }}</th>
{%- for cell in row.cells[1:] %}
<td{% if part.columns[loop.index] in part.right %} class="n"{% endif %}>{{ cell }}</td>
{%- endfor %}</tr>
{%- endfor %}
</tbody></table></div>
{%- if part.more %}<p class="over">{{ part.more }}</p>{% endif %}
{%- endmacro -%}
{%- macro figure(part) -%}
<figure><figcaption>{{ part.caption }}</figcaption>{{ part.drawing }}</figure>
{%- endmacro -%}
{%- macro heat(part) -%}
<figure><figcaption>{{ part.caption }}</figcaption>
<div class="scroll" role="region" aria-label="{{ part.caption }}" tabindex="0"><table class="heat">
<caption>interrupts/s</caption>
<thead><tr><th scope="col">queue</th>
{%- for cpu in part.cpus %}<th scope="col" class="n">CPU {{ cpu }}</th>{% endfor -%}
</tr></thead>
<tbody>{% for row in part.rows %}
<tr><th scope="row">{{ row.name }}</th>
{%- for cell in row.cells %}<td class="h{{ cell.shade }}">{{ cell.text }}</td>{% endfor %}</tr>
{%- endfor %}
</tbody></table></div>
{%- if part.more %}<p class="over">{{ part.more }}</p>{% endif %}</figure>
{%- endmacro -%}
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="tuneagent {{ version }}">
<link rel="icon" href="data:,">
<title>{{ page_title }}</title>
<style>{{ style }}</style>
</head>
<body><main>
<header>
<div class="over"><span class="verdict {{ tone }}">{{ mark }}</span>
Trial {{ number }} · {{ asked }}</div>
<h1>{{ headline }}</h1>
{% if why %}<p><strong>Why:</strong> {{ why }}</p>{% endif %}
{% if not_seen %}<p><strong>Not seen:</strong> {{ not_seen }}</p>{% endif %}
{% for note in notes %}<p><strong>Note:</strong> {{ note }}</p>{% endfor %}
</header>
{% if effects.rows %}<div class="lead">
{{ table(effects) }}
{% if sure %}{{ figure(sure) }}{% endif %}
</div>{% endif %}
{% if guards.rows %}<h2>Guards: what must not get worse</h2>
{{ table(guards) }}{% endif %}
{% if charts %}<h2>Every round, in the order of measuring</h2>
<p class="over">Thin lines join the two rounds of a pair. Dashed: mean of A; line: mean of B.</p>
<div class="grid">{% for one in charts %}{{ figure(one) }}{% endfor %}</div>{% endif %}
{% if heats %}<h2>Where each queue's interrupts come</h2>
<p class="over">Means of the rounds that count. A cell with more has more colour; ? was not measured.</p>
<div class="grid">{% for one in heats %}{{ heat(one) }}{% endfor %}</div>{% endif %}
{% if causes %}<h2>Exits and latency</h2>
<div class="grid">{% for one in causes %}{{ figure(one) }}{% endfor %}</div>{% endif %}
{% if unused.rows %}<h2>Rounds that do not count</h2>
{{ table(unused) }}{% endif %}
{% if missing.rows %}<h2>Not measured</h2>
{{ table(missing) }}{% endif %}
{% if changes.rows %}<h2>What B changes</h2>
{{ table(changes) }}{% endif %}
<h2>About this trial</h2>
<dl>{% for name, said in about %}<dt>{{ name }}</dt><dd>{{ said }}</dd>{% endfor %}</dl>
{% if meanings %}<details><summary>What the metrics mean</summary>
<dl>{% for name, said in meanings %}<dt>{{ name }}</dt><dd>{{ said }}</dd>{% endfor %}</dl></details>{% endif %}
{% if rounds.rows %}<details><summary>Every round</summary>
{{ table(rounds) }}</details>{% endif %}
<footer>Written by tuneagent {{ version }}. This page asks for nothing from outside.</footer>
</main></body>
</html>
"""
