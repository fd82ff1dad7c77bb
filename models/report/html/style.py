"""The look of pages and drawings: light, dark and on paper, without anything from elsewhere.

Text and its ground differ by 4.5 to 1 or more, marks by 3 to 1 or more (WCAG 2.2, 1.4.3, 1.4.11).
The colours of series are Okabe and Ito's, darker on light and lighter on dark ground.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Theme = Literal["light", "dark"]

COLORS: Mapping[Theme, Mapping[str, str]] = {
    "light": {
        "ground": "#ffffff", "raised": "#f5f7fa", "ink": "#1b2330", "muted": "#56606f",
        "rule": "#d5dbe3", "link": "#0b5cad", "better": "#0067a3", "worse": "#b34a00",
        "c0": "#0072b2", "c1": "#c85200", "c2": "#00805d", "c3": "#a84d8a",
        "c4": "#8a6400", "c5": "#2f8fc9", "c6": "#6b7280",
    },
    "dark": {
        "ground": "#12161d", "raised": "#1b212b", "ink": "#e8ecf2", "muted": "#a3adba",
        "rule": "#38414e", "link": "#7cbcf5", "better": "#6fbcf0", "worse": "#ffa066",
        "c0": "#5cb4ee", "c1": "#ff8f4d", "c2": "#3fcb9c", "c3": "#e394c4",
        "c4": "#e3b341", "c5": "#a9d8f7", "c6": "#a3adba",
    },
}  # fmt: skip


def variables(theme: Theme) -> str:
    """Returns the colours of a theme as CSS variables."""
    return "".join(f"--{name}:{value};" for name, value in COLORS[theme].items())


SVG_STYLE = (
    "svg text{font:12px/1.3 system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;"
    "fill:var(--ink)}"
    "svg .muted{fill:var(--muted)}svg .strong{font-weight:600}"
    "svg .grid{stroke:var(--rule);stroke-width:1}"
    "svg .axis{stroke:var(--muted);stroke-width:1}"
    "svg .line{fill:none;stroke-width:1.8;stroke-linejoin:round}"
    "svg .thin{stroke-width:1;opacity:.75}"
    "svg .dashed{stroke-dasharray:6 3}"
    + "".join(
        f"svg .{name}{{stroke:var(--{name});fill:var(--{name})}}svg .{name}.line{{fill:none}}"
        for name in (f"c{n}" for n in range(7))
    )
)

_FONT = "system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace"

PAGE_STYLE = (
    f":root{{color-scheme:light dark;{variables('light')}}}"
    f"@media (prefers-color-scheme:dark){{:root{{{variables('dark')}}}}}"
    "*{box-sizing:border-box}"
    "html{-webkit-text-size-adjust:100%;scroll-padding-top:1rem}"
    f"body{{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 {_FONT}}}"
    "main,header,nav{max-width:76rem;margin:0 auto;padding:0 1.5rem}"
    "header{padding-top:2.5rem}"
    ".title{margin:0 0 .75rem;font-size:1rem;font-weight:600;color:var(--muted)}"
    ".lead{font-size:clamp(1.2rem,1rem + .9vw,1.5rem);line-height:1.3;font-weight:600;"
    "margin:0 0 1rem;max-width:52rem;text-wrap:pretty}"
    "header p{max-width:52rem;margin:0 0 .75rem}"
    "nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:1rem 0 0;"
    "padding:.75rem 0;border-block:1px solid var(--rule)}"
    "nav a{display:inline-block;padding:.15rem 0}"
    "a{color:var(--link)}a:focus-visible,.box:focus-visible,summary:focus-visible"
    "{outline:2px solid var(--link);outline-offset:2px}"
    "section{padding-top:1.75rem}"
    "h2{font-size:1.4rem;line-height:1.25;margin:0 0 .75rem}"
    "h3{font-size:1.08rem;line-height:1.3;margin:1.75rem 0 .5rem}"
    "p,ul.list{max-width:52rem;margin:0 0 .85rem}ul.list{padding-left:1.25rem}"
    "ul.list li{margin:.2rem 0}"
    "p,li,dd,h1,h2,h3,figcaption{overflow-wrap:anywhere}td,th{overflow-wrap:break-word}"
    "dl{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.35rem 1.25rem;"
    "margin:0 0 1rem}dt{color:var(--muted)}dd{margin:0;min-width:0}"
    f"code,pre{{font:.875rem/1.5 {_MONO}}}code{{overflow-wrap:anywhere}}"
    "pre{margin:0;padding:.75rem 1rem}"
    ".box{position:relative;overflow-x:auto;max-width:100%;margin:0 0 1.25rem;"
    "border:1px solid var(--rule);border-radius:6px;background:var(--ground)}"
    "table{border-collapse:collapse;font-size:.875rem;line-height:1.4;"
    "font-variant-numeric:tabular-nums}"
    "caption{text-align:left;padding:.6rem .75rem;color:var(--muted);caption-side:top}"
    "caption span{position:sticky;left:.75rem;display:inline-block;"
    "max-width:min(44rem,calc(100vw - 5rem))}"
    "th,td{padding:.4rem .5rem;text-align:left;vertical-align:top;"
    "border-top:1px solid var(--rule)}"
    "thead th{vertical-align:bottom;font-weight:600;background:var(--raised)}"
    ".group{font-style:italic;color:var(--muted);text-align:left}"
    "tbody th{font-weight:400;position:sticky;left:0;background:var(--ground);min-width:10rem;"
    "max-width:20rem;overflow-wrap:normal}"
    "thead th:first-child{position:sticky;left:0;z-index:1}"
    ".figure{text-align:right;white-space:nowrap;overflow-wrap:normal}"
    "thead .figure{white-space:normal;min-width:4.5rem}"
    "td.long{min-width:15rem}"
    "td,th{unicode-bidi:isolate}"
    ".better{color:var(--better)}.worse{color:var(--worse)}"
    ".mark{display:inline-block;width:1em;text-align:right;font-size:.8em}"
    ".small{color:var(--muted);font-size:.92em}"
    "figure{margin:0 0 1.25rem}figcaption{color:var(--muted);font-size:.875rem;"
    "max-width:52rem;margin:.25rem 0 0}"
    ".panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20.5rem),1fr));"
    "gap:1rem}"
    ".panels svg{width:100%;height:auto;max-width:30rem}"
    "svg{display:block}"
    "details{border:1px solid var(--rule);border-radius:6px;padding:.6rem .9rem;"
    "margin:0 0 1.25rem}summary{cursor:pointer;font-weight:600}"
    "details[open] summary{margin-bottom:.75rem}details .box:last-child{margin-bottom:.25rem}"
    ".hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);"
    "white-space:nowrap}"
    "@media (max-width:640px){body{font-size:15px}main,header,nav{padding-inline:1rem}"
    "header{padding-top:1.5rem}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.6rem}"
    "tbody th{max-width:9.5rem;min-width:7rem}th,td{padding:.35rem .5rem}"
    "td.long{min-width:7rem}}"
    "@media print{"
    f":root{{color-scheme:light;{variables('light')}--ink:#000;--muted:#333;--rule:#999}}"
    "@page{margin:14mm}body{font-size:10pt}main,header{max-width:none;padding:0}"
    "nav{display:none}a{color:inherit;text-decoration:none}"
    # Paper cannot be unfolded; browsers without this pseudo-element print the summary alone.
    "details::details-content{content-visibility:visible;display:block;block-size:auto}"
    ".box{overflow:visible;border:0;margin-bottom:.75rem}"
    "table{font-size:7.5pt;width:100%}th,td{padding:.15rem .3rem}"
    "tbody th,thead th:first-child,caption span{position:static}"
    "td.long,thead .figure{min-width:0}tbody th{min-width:4em}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere}"
    ".figure{white-space:normal}caption{padding:.2rem .3rem}caption span{max-width:none}"
    "h2,h3,caption,thead{break-after:avoid}figure,tr,.panels>*,dl,pre{break-inside:avoid}"
    "thead{display:table-header-group}p,li{orphans:3;widows:3}}"
)
