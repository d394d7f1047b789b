import { filterRules } from "./filters.ts";

/** The page's one style sheet. It loads nothing and fits 375 pixels as well as 1440, by day and by night. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --paper: #f6f5f1; --card: #ffffff; --ink: #1b1f24; --soft: #5b636d; --rule: #dedbd3; --sunk: #efede7;
  --good: #14663c; --good-paper: #dff1e6; --bad: #a4281e; --bad-paper: #fae3e0;
  --warn: #7a5200; --warn-paper: #f8ecd0; --accent: #34507f;
  --good-fill: #37a06b; --bad-fill: #d9574c; --warn-fill: #d69a21;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #121417; --card: #1a1d22; --ink: #e8e6e1; --soft: #a2a9b2; --rule: #2f343b; --sunk: #23272d;
    --good: #7fd6a4; --good-paper: #173325; --bad: #f49a91; --bad-paper: #3d1e1b;
    --warn: #e9c06a; --warn-paper: #382c12; --accent: #9dbaf0;
    --good-fill: #3f9d6d; --bad-fill: #cf5a50; --warn-fill: #c4932f;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 64px; }
h1, h2, h3, h4, p, dl, dd, ul, ol, fieldset, pre { margin: 0; padding: 0; }
h1 { font-size: 2.1rem; line-height: 1.15; letter-spacing: -0.02em; }
h2 { font-size: 1.2rem; margin: 44px 0 14px; letter-spacing: -0.01em; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 0.86em; }
a { color: inherit; text-decoration-color: var(--rule); text-underline-offset: 3px; }
a:hover { text-decoration-color: currentColor; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.eyebrow { color: var(--accent); font-size: 0.8rem; font-weight: 600; letter-spacing: 0.06em; text-transform: uppercase; margin-bottom: 6px; }
.lead { max-width: 68ch; margin-top: 12px; }
.made { color: var(--soft); font-size: 0.86rem; margin-top: 6px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(120px, 1fr)); gap: 12px; margin-top: 24px; }
.tile { display: flex; flex-direction: column-reverse; background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 12px 16px; }
.tile dt { color: var(--soft); font-size: 0.84rem; }
.tile dd { font-size: 1.8rem; font-weight: 650; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile.good dd { color: var(--good); }
.tile.bad dd { color: var(--bad); }

.filters { display: flex; flex-wrap: wrap; gap: 10px 28px; margin-bottom: 14px; }
fieldset { border: 0; display: flex; flex-wrap: wrap; align-items: center; gap: 6px; min-width: 0; }
legend { float: left; color: var(--soft); font-size: 0.84rem; margin-right: 6px; padding: 0; }
.filters label { position: relative; }
.filters input { position: absolute; inset: 0; opacity: 0; margin: 0; cursor: pointer; }
.filters span { display: block; border: 1px solid var(--rule); border-radius: 99px; background: var(--card); padding: 3px 12px; font-size: 0.86rem; }
.filters b { color: var(--soft); font-weight: 500; font-variant-numeric: tabular-nums; }
.filters input:checked + span { background: var(--ink); border-color: var(--ink); color: var(--paper); }
.filters input:checked + span b { color: inherit; opacity: 0.7; }
.filters input:focus-visible + span { outline: 2px solid var(--accent); outline-offset: 2px; }
${filterRules()}

.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--rule); border-radius: 10px; }
.grid { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
.grid th, .grid td { padding: 6px 4px; text-align: center; border-top: 1px solid var(--rule); font-weight: 400; }
.grid thead th { border-top: 0; color: var(--soft); font-size: 0.8rem; padding: 10px 4px; vertical-align: bottom; }
.grid .name { text-align: left; padding-left: 16px; }
.grid .name a { text-decoration: none; overflow-wrap: anywhere; }
.grid .name a:hover { text-decoration: underline; }
.grid .name b { display: inline-block; min-width: 1.6em; color: var(--soft); font-weight: 500; font-variant-numeric: tabular-nums; }
.grid td.end, .grid th.end { text-align: left; padding: 6px 16px; }
.grid thead th.end { padding: 10px 16px; }
.grid td.end { white-space: nowrap; }
.grid i { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.grid td { position: relative; }
.mark { display: inline-grid; place-items: center; width: 26px; height: 24px; border-radius: 6px; font-weight: 700; font-size: 0.84rem; }
.mark.proven { background: var(--good-paper); color: var(--good); }
.mark.failed { background: var(--bad-paper); color: var(--bad); }
.mark.unknown { background: var(--warn-paper); color: var(--warn); }
.mark.none { color: var(--soft); }
.legend { color: var(--soft); font-size: 0.84rem; margin-top: 10px; line-height: 2; }
.legend .mark:not(:first-child) { margin-left: 12px; }

.pill { display: inline-block; border-radius: 99px; padding: 1px 10px; font-size: 0.8rem; font-weight: 600; background: var(--sunk); color: var(--soft); }
.pill.ran { background: var(--good-paper); color: var(--good); }
.pill.denied { background: var(--bad-paper); color: var(--bad); }
.tag { display: inline-block; border: 1px dashed var(--warn); color: var(--warn); border-radius: 6px; padding: 0 8px; font-size: 0.78rem; }

.request { background: var(--card); border: 1px solid var(--rule); border-radius: 12px; padding: 18px 20px; margin-bottom: 16px; scroll-margin-top: 16px; }
.request:target { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
.request > header { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: baseline; gap: 6px 16px; }
.request h3 { font-size: 1.05rem; overflow-wrap: anywhere; min-width: 0; }
.request .number { margin-right: 4px; color: var(--soft); font-weight: 500; font-variant-numeric: tabular-nums; }
.story { margin-top: 4px; }
.why { color: var(--soft); font-size: 0.92rem; margin-top: 2px; }
.facts { display: flex; flex-wrap: wrap; gap: 8px 32px; margin-top: 12px; font-size: 0.9rem; }
.facts div { min-width: 0; }
.facts dt { color: var(--soft); font-size: 0.78rem; }
.facts dd { overflow-wrap: anywhere; }
code.untrusted { background: var(--sunk); border-radius: 4px; padding: 1px 6px; }

.line { display: flex; align-items: center; gap: 12px; margin-top: 16px; }
.line svg { flex: 1; min-width: 0; height: 10px; border-radius: 5px; background: var(--sunk); }
.line span { color: var(--soft); font-size: 0.84rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
rect.passed { fill: var(--good-fill); }
rect.open { fill: var(--warn-fill); }
rect.stopped { fill: var(--bad-fill); }
rect { stroke: var(--card); stroke-width: 1px; vector-effect: non-scaling-stroke; }
.stages { list-style: none; display: grid; grid-template-columns: repeat(6, minmax(0, 1fr)); gap: 8px; margin-top: 10px; }
.stages li { display: flex; flex-direction: column; border-top: 3px solid var(--rule); padding-top: 6px; font-size: 0.84rem; min-width: 0; }
.stages .words { overflow-wrap: anywhere; line-height: 1.35; }
.stages .ms { color: var(--soft); font-size: 0.78rem; font-variant-numeric: tabular-nums; margin-top: 2px; }
.stages li.passed { border-color: var(--good-fill); }
.stages li.open { border-color: var(--warn-fill); }
.stages li.stopped { border-color: var(--bad-fill); }
.stages li.stopped .words { color: var(--bad); }
.stages li.skipped { color: var(--soft); }
.stages li.skipped b { font-weight: 500; }

.checks { list-style: none; display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 8px; margin-top: 16px; }
.checks li { border-radius: 8px; padding: 8px 12px; display: flex; flex-direction: column; min-width: 0; }
.checks code { overflow-wrap: anywhere; color: var(--ink); }
.checks span { font-size: 0.84rem; font-weight: 600; }
.checks em { font-weight: 400; font-style: normal; border-left: 1px solid currentColor; margin-left: 6px; padding-left: 8px; }
.checks .proven { background: var(--good-paper); color: var(--good); }
.checks .failed { background: var(--bad-paper); color: var(--bad); }
.checks .unknown { background: var(--warn-paper); color: var(--warn); }
.verdict { color: var(--soft); font-size: 0.88rem; margin-top: 10px; overflow-wrap: anywhere; }
.verdict b { color: var(--ink); }

details.untrusted { margin-top: 12px; border: 1px dashed var(--warn); border-radius: 8px; padding: 8px 12px; font-size: 0.88rem; }
details.untrusted summary { cursor: pointer; color: var(--warn); }
details.untrusted h4 { font-size: 0.84rem; color: var(--soft); font-weight: 500; margin: 10px 0 4px; }
details.untrusted pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--sunk); border-radius: 6px; padding: 8px 10px; }
footer { border-top: 1px solid var(--rule); margin-top: 44px; color: var(--soft); font-size: 0.92rem; }
footer h2 { margin-top: 24px; color: var(--ink); }
footer ul { padding-left: 1.2em; }

@media (max-width: 760px) {
  main { padding: 24px 14px 48px; }
  h1 { font-size: 1.7rem; }
  .tiles { grid-template-columns: repeat(auto-fit, minmax(96px, 1fr)); gap: 8px; }
  .tile { padding: 8px 12px; }
  .tile dd { font-size: 1.4rem; }
  .grid .name { padding-left: 10px; }
  .grid .name b { min-width: 0; }
  .grid th, .grid td { padding: 5px 1px; }
  .grid thead th:not(.name) { padding: 8px 1px; }
  .grid thead th span { writing-mode: vertical-rl; transform: rotate(180deg); }
  .grid td.end code, .grid th.end { display: none; }
  .grid td.end { padding: 5px 8px 5px 4px; }
  .mark { width: 23px; }
  .request { padding: 14px; }
  .stages { grid-template-columns: 1fr; gap: 0; }
  .stages li { display: grid; grid-template-columns: 84px minmax(0, 1fr) auto; gap: 0 8px; border-top: 0; border-left: 3px solid var(--rule); padding: 3px 0 3px 8px; font-size: 0.8rem; }
  .stages .ms { font-size: 0.75rem; margin: 0; }
  .checks { grid-template-columns: 1fr; gap: 4px; }
  .checks li { flex-direction: row; flex-wrap: wrap; justify-content: space-between; gap: 0 12px; padding: 5px 10px; }
}
@media print {
  .filters { display: none; }
  .request { break-inside: avoid; }
}
`;
