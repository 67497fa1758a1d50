"""The style sheet of an exported page, for light and dark displays."""

STYLE = """
:root{--ink:#1c2330;--soft:#5d6879;--line:#dfe4ea;--page:#f7f8fa;--card:#fff;--good:#1a7f4b;--bad:#c0322b;
--warn:#a86400;--busy:#2563c9;--dim:#8a94a3}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa5b4;--line:#2c3440;--page:#12161c;--card:#1a2028;
--good:#4cc38a;--bad:#ff7b72;--warn:#e3a04a;--busy:#6ea8fe;--dim:#7c8796}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;
overflow-wrap:anywhere}
main{max-width:64rem;margin:0 auto;padding:2rem 1.25rem 3rem}
h1{font-size:1.7rem;line-height:1.25;margin:.1rem 0 .6rem}
h2{font-size:1.05rem;margin:2.2rem 0 .7rem}
code,pre,time,.event{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace}
.kind{margin:0;color:var(--soft)}.kind::first-letter{text-transform:uppercase}
.note{color:var(--soft)}
.badge{display:inline-block;padding:0 .55rem;border-radius:1rem;font-size:.8rem;font-weight:600;border:1px solid}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}.busy{color:var(--busy)}.dim{color:var(--dim)}
dl{display:flex;flex-wrap:wrap;gap:.6rem 2.2rem;margin:1.1rem 0 0}
dt{color:var(--soft);font-size:.8rem}dd{margin:0;font-variant-numeric:tabular-nums}
.lanes,.task,.events{background:var(--card);border:1px solid var(--line);border-radius:.6rem}
.lanes{padding:.5rem 1rem .8rem}
.lane{display:grid;grid-template-columns:minmax(5rem,11rem) 1fr minmax(8rem,16rem);gap:1rem;align-items:center;
min-height:1.9rem}
.lane+.lane{border-top:1px solid var(--line)}
.who{font-size:.85rem;color:var(--soft)}.who b{color:var(--ink)}
.track{position:relative;height:1.1rem}
.track i{position:absolute;top:.15rem;bottom:.15rem;background:currentColor;border-radius:.25rem;opacity:.85}
.said{font-size:.75rem;color:var(--soft)}
.axis{min-height:1.6rem}
.axis .track span{position:absolute;white-space:nowrap;transform:translateX(-50%);font-size:.72rem;
color:var(--soft);font-variant-numeric:tabular-nums}
.axis .track span:first-child{transform:none}
.task{padding:.55rem 1rem;margin:.45rem 0}.task summary{cursor:pointer}
.more{color:var(--soft);font-size:.85rem;margin-left:.6rem}
.fact{margin:.6rem 0 .2rem;padding-left:.9rem;border-left:2px solid var(--line)}
.fact time{margin-left:.7rem;color:var(--soft);font-size:.78rem}
pre{margin:.2rem 0 0;white-space:pre-wrap;font-size:.83rem;max-height:24rem;overflow:auto}
.events{list-style:none;margin:0;padding:.4rem 1rem}
.events li{display:grid;grid-template-columns:4.6rem 1fr;gap:.8rem;padding:.32rem 0;border-top:1px solid var(--line);
border-left:0}
.events li:first-child{border-top:0}
.events time{color:var(--soft);font-size:.8rem;padding-top:.1rem}
.events div{color:var(--ink)}
.event{font-size:.8rem}.good .event{color:var(--good)}.bad .event{color:var(--bad)}.warn .event{color:var(--warn)}
.busy .event{color:var(--busy)}.dim .event{color:var(--soft)}
.by{color:var(--soft);font-size:.85rem}.events p{margin:0;color:var(--soft);font-size:.88rem;white-space:pre-wrap}
footer{margin-top:2.5rem;color:var(--dim);font-size:.8rem}
@media(max-width:40rem){.lane{grid-template-columns:1fr;gap:0;padding:.3rem 0}
.events li{grid-template-columns:1fr;gap:0}}
@media print{body{background:#fff}.task,.lanes,.events{break-inside:avoid-page}}
"""
