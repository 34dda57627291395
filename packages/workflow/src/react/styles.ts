/** The components' style. To change a colour, set `--stepwise-…` on `.stepwise`. */
export const STYLES = `
.stepwise {
  --stepwise-text: #1c2024; --stepwise-muted: #60646c; --stepwise-line: #d3d6da; --stepwise-surface: #fff;
  --stepwise-good: #18794e; --stepwise-active: #0d74ce; --stepwise-waiting: #8f6400;
  --stepwise-bad: #c62a2f; --stepwise-stopped: #60646c; --stepwise-idle: #b4b8be;
  color: var(--stepwise-text); color-scheme: light dark; container-type: inline-size;
  font: 14px/1.4 system-ui, sans-serif; margin: 0;
}
@media (prefers-color-scheme: dark) {
  .stepwise {
    --stepwise-text: #edeef0; --stepwise-muted: #b0b4ba; --stepwise-line: #43484e; --stepwise-surface: #18191b;
    --stepwise-good: #3dd68c; --stepwise-active: #70b8ff; --stepwise-waiting: #ffca16;
    --stepwise-bad: #ff9592; --stepwise-stopped: #b0b4ba; --stepwise-idle: #5a6169;
  }
}
.stepwise [data-tone="good"] { --tone: var(--stepwise-good); }
.stepwise [data-tone="active"] { --tone: var(--stepwise-active); }
.stepwise [data-tone="waiting"] { --tone: var(--stepwise-waiting); }
.stepwise [data-tone="bad"] { --tone: var(--stepwise-bad); }
.stepwise [data-tone="stopped"] { --tone: var(--stepwise-stopped); }
.stepwise [data-tone="idle"] { --tone: var(--stepwise-idle); }
.stepwise ol, .stepwise ul { list-style: none; margin: 0; padding: 0; }
.stepwise p { margin: 0; }
.stepwise-state { color: var(--tone); display: inline-block; font-weight: 600; margin-inline-end: .6em !important; }
.stepwise-took { color: var(--stepwise-muted); display: inline-block; overflow-wrap: anywhere; }
.stepwise-row { align-items: center; border-block-end: 1px solid var(--stepwise-line); display: grid;
  gap: 0 1em; grid-template-columns: minmax(7em, 1fr) minmax(10em, 1fr) 3fr; min-block-size: 2.1em; }
.stepwise-name { overflow-wrap: anywhere; }
.stepwise-result { color: var(--tone); }
.stepwise [data-tone="idle"] .stepwise-result { color: var(--stepwise-muted); }
.stepwise-name small, .stepwise-result small, .stepwise-counts, .stepwise summary { color: var(--stepwise-muted); font-size: .9em; }
.stepwise-bars { block-size: 1em; display: block; margin-inline-end: 3px; position: relative; }
.stepwise-bars [data-kind] { block-size: 100%; background: var(--tone); border-radius: 2px; box-sizing: border-box;
  min-inline-size: 3px; position: absolute; }
.stepwise-bars [data-kind="waiting"] { background: none; block-size: 50%; border: 1px dashed var(--tone); inset-block-start: 25%; }
.stepwise-bars [data-kind="children"] { background: color-mix(in srgb, var(--tone) 35%, transparent); }
.stepwise-bars [data-failed] { background: var(--stepwise-bad); }
.stepwise-axis { border: 0; color: var(--stepwise-muted); min-block-size: 1.6em; }
.stepwise-axis > .stepwise-bars { grid-column: 3; }
.stepwise-axis > .stepwise-bars > span { font-size: .8em; position: absolute; white-space: nowrap; }
.stepwise-axis [data-tick] { border-inline-start: 1px solid var(--stepwise-muted); line-height: 1; padding-inline-start: .3em; }
.stepwise-errors, .stepwise-counts { padding-block: .3em; padding-inline-start: .9em; }
.stepwise-row + .stepwise-counts { display: block; }
.stepwise a { color: inherit; }
.stepwise summary { cursor: pointer; font-weight: 400; padding-block: .3em; }
.stepwise summary > .stepwise-counts { padding: 0; }
.stepwise > ol { margin-block-start: .4em; }
.stepwise-errors li { color: var(--stepwise-bad); overflow-wrap: anywhere; }
.stepwise-share { background: color-mix(in srgb, var(--stepwise-line) 60%, transparent); block-size: .6em; border-radius: 3px;
  display: inline-flex; inline-size: 8em; margin-inline-end: .6em; overflow: hidden; }
.stepwise-share > span { background: var(--tone); flex: none; }
@container (max-width: 560px) {
  .stepwise-row { grid-template-columns: 1fr auto; padding-block: .3em; }
  .stepwise-bars, .stepwise-axis > .stepwise-bars { grid-column: 1 / -1; }
}
.stepwise-view { cursor: grab; max-block-size: max(75vh, 20em); overflow: auto; user-select: none; }
.stepwise-view:active { cursor: grabbing; }
.stepwise-view svg { block-size: auto; display: block; margin-inline: auto; }
.stepwise-zoom { display: flex; gap: .4em; justify-content: end; margin-block-end: .4em; }
.stepwise-zoom button { background: var(--stepwise-surface); border: 1px solid var(--stepwise-line); border-radius: 6px;
  color: inherit; cursor: pointer; font: inherit; min-block-size: 2.2em; min-inline-size: 2.2em; padding: 0 .6em; }
.stepwise .stepwise-frame { fill: color-mix(in srgb, var(--stepwise-line) 22%, transparent); stroke: var(--stepwise-line); }
.stepwise text { fill: var(--stepwise-text); font-family: system-ui, sans-serif; font-size: 13px; text-anchor: middle; }
.stepwise .stepwise-detail { fill: var(--stepwise-muted); font-size: 12px; }
.stepwise .stepwise-shape { fill: var(--stepwise-surface); stroke: var(--tone); stroke-width: 1.5; }
.stepwise [data-reached] .stepwise-shape { stroke-width: 2.5; }
.stepwise [data-reached] .stepwise-sign { fill: var(--tone); font-weight: 600; }
.stepwise .stepwise-edge { fill: none; stroke: var(--stepwise-muted); }
.stepwise .stepwise-arrow { fill: var(--stepwise-muted); }
.stepwise-hidden { block-size: 1px; clip-path: inset(50%); inline-size: 1px; overflow: hidden; position: absolute; }
`;
