// The style sheet of a view. Every rule is under .tlt, so that it meets nothing of the notebook's.

export const STYLE = `
.tlt { --tlt-ground: var(--jp-layout-color0, var(--vscode-editor-background, #ffffff)); background: var(--tlt-ground);
  color: var(--tlt-ink); font: 12px/1.4 system-ui, -apple-system, "Segoe UI", sans-serif; position: relative;
  border: 1px solid var(--tlt-line); border-radius: 6px; overflow: clip; min-width: 0; box-sizing: border-box;
  text-align: left; }
@media (prefers-color-scheme: dark) {
  .tlt { --tlt-ground: var(--jp-layout-color0, var(--vscode-editor-background, #16191d)); } }
.tlt[data-theme=light] { --tlt-ground: #ffffff; }
.tlt[data-theme=dark] { --tlt-ground: #16191d; }
.tlt *, .tlt *::before { box-sizing: border-box; }
.tlt[hidden], .tlt [hidden] { display: none !important; }
.tlt-bar { display: flex; align-items: center; gap: 5px; padding: 6px 8px; }
.tlt-title { font-weight: 600; font-size: 13px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
  max-width: min(26em, 28%); }
.tlt-bar > *, .tlt-group > * { flex-shrink: 0; }
.tlt-tight > .tlt-search { flex-shrink: 1; }
.tlt-tight > .tlt-title { min-width: 2em; flex-shrink: 9; }
.tlt-tight > .tlt-badge { min-width: 3em; flex-shrink: 9; overflow: hidden; text-overflow: ellipsis; }
.tlt-more { position: absolute; right: 6px; top: 34px; z-index: 7; display: flex; flex-wrap: wrap; align-items: center;
  gap: 6px; padding: 8px; max-width: min(340px, calc(100% - 12px)); background: var(--tlt-ground);
  border: 1px solid var(--tlt-soft); border-radius: 5px; box-shadow: 0 3px 12px #0004; }
.tlt-count, .tlt-device { color: var(--tlt-soft); white-space: nowrap; }
.tlt-badge { border: 1px solid var(--tlt-line); border-radius: 9px; padding: 0 7px; color: var(--tlt-soft);
  font-size: 11px; white-space: nowrap; }
.tlt-badge.tlt-warns { border-color: var(--tlt-warn); color: var(--tlt-warn); }
.tlt-grow { flex: 1 1 0; min-width: 0; }
.tlt button, .tlt select, .tlt input { font: inherit; color: inherit; background: transparent; margin: 0;
  border: 1px solid var(--tlt-line); border-radius: 4px; height: 24px; padding: 0 6px; font-size: 11.5px; }
.tlt select option { background: var(--tlt-ground); color: var(--tlt-ink); }
.tlt button { cursor: pointer; min-width: 24px; }
.tlt button:hover, .tlt select:hover { background: var(--tlt-head); }
.tlt button[aria-pressed=true] { background: var(--tlt-ink); color: var(--tlt-ground); border-color: var(--tlt-ink); }
.tlt button:disabled { opacity: 0.4; pointer-events: none; }
.tlt-group { display: inline-flex; min-width: 0; }
.tlt-group > * { border-radius: 0 !important; margin-left: -1px !important; }
.tlt-group > :first-child { border-radius: 4px 0 0 4px !important; margin-left: 0 !important; }
.tlt-group > :last-child { border-radius: 0 4px 4px 0 !important; }
.tlt input[type=search] { min-width: 6em; flex: 0 1 auto; }
.tlt input[aria-invalid=true] { border-color: var(--tlt-warn); }
.tlt:focus, .tlt :focus { outline: none; }
.tlt :focus-visible { outline: 2px solid var(--tlt-accent); outline-offset: 1px; }
.tlt-found { color: var(--tlt-soft); min-width: 4em; white-space: nowrap; }
.tlt-note { padding: 0 8px 4px; overflow-wrap: anywhere; }
.tlt-verdict { color: var(--tlt-accent); }
.tlt-warn { color: var(--tlt-warn); }
.tlt-map { display: block; width: 100%; height: 34px; border-top: 1px solid var(--tlt-line); cursor: grab;
  touch-action: pan-y; }
.tlt-stage { position: relative; border-top: 1px solid var(--tlt-line); overflow: hidden; resize: vertical;
  min-height: 80px; max-height: 90vh; touch-action: pan-y; user-select: none; -webkit-user-select: none; }
.tlt-stage:focus::after { content: ""; position: absolute; inset: 0; z-index: 2; pointer-events: none;
  border: 2px solid var(--tlt-accent); }
.tlt-stage canvas { position: absolute; left: 0; top: 0; display: block; }
.tlt-stage canvas + canvas { pointer-events: none; }
.tlt-scroll { position: absolute; right: 0; bottom: 0; width: 14px; overflow: hidden auto; scrollbar-width: thin; }
.tlt-scroll > div { width: 1px; }
.tlt-tip { position: absolute; z-index: 3; pointer-events: none; max-width: 380px; padding: 7px 10px;
  background: var(--tlt-ground); border: 1px solid var(--tlt-soft); border-radius: 5px;
  box-shadow: 0 3px 12px #0004; overflow-wrap: anywhere; left: 0; top: 0; }
.tlt-tip b { display: block; font-size: 12.5px; }
.tlt-tip div { color: var(--tlt-soft); }
.tlt-tip div > span { color: var(--tlt-ink); }
.tlt-hint { position: absolute; left: 50%; bottom: 14px; transform: translateX(-50%); padding: 3px 12px;
  border-radius: 12px; background: var(--tlt-ink); color: var(--tlt-ground); pointer-events: none; z-index: 4; }
.tlt-menu { position: absolute; z-index: 5; display: flex; flex-direction: column; padding: 4px;
  background: var(--tlt-ground); border: 1px solid var(--tlt-soft); border-radius: 5px; box-shadow: 0 3px 12px #0004; }
.tlt-menu button { border: 0; text-align: left; }
.tlt-legend { display: flex; flex-wrap: wrap; gap: 2px 4px; padding: 5px 8px; border-top: 1px solid var(--tlt-line);
  max-height: 84px; overflow: auto; align-items: center; }
.tlt-measured { margin-left: auto; padding: 1px 8px; border-radius: 3px; background: var(--tlt-accent);
  color: var(--tlt-ground); font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; }
.tlt-remarks { padding: 4px 8px; border-top: 1px solid var(--tlt-line); }
.tlt-remarks > div { display: flex; flex-wrap: wrap; gap: 2px 14px; max-height: 90px; overflow: auto; }
.tlt-remarks button { border: 0; height: 20px; padding: 0 5px; min-width: 0; overflow-wrap: anywhere; }
.tlt-remarks input { width: min(420px, 100%); }
.tlt-aggregate { display: grid; gap: 10px; max-height: 420px; overflow: auto; padding: 8px 10px;
  border-top: 1px solid var(--tlt-line); }
.tlt-aggregate h3 { font-size: 12px; margin: 0 0 4px; font-weight: 600; }
.tlt-aggregate section { min-width: 0; overflow-x: auto; }
.tlt-aggregate button { border: 0; height: 22px; padding: 1px 4px; }
.tlt-histogram { display: block; background: var(--tlt-head); }
.tlt-flame { position: relative; }
.tlt .tlt-flame button { position: absolute; height: 20px; min-width: 0; padding: 0 4px; border-radius: 2px; font-size: 11px;
  text-align: left; white-space: nowrap; overflow: hidden; border-right: 1px solid var(--tlt-ground); }
.tlt .tlt-flame button:hover { filter: brightness(1.12); }
.tlt-fold { display: grid; grid-template-columns: 150px 1fr; gap: 8px; align-items: center; }
.tlt-fold > :first-child { color: var(--tlt-soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tlt-fold svg { display: block; background: var(--tlt-head); }
.tlt-lines { max-height: 300px; overflow: auto; padding: 6px 10px; border-top: 1px solid var(--tlt-line); }
.tlt-lines button { border: 0; height: 19px; padding: 0 4px; color: var(--tlt-accent); }
.tlt-lines code { font: 11.5px ui-monospace, monospace; white-space: pre; background: none; color: inherit; }
.tlt-lines td:nth-child(2), .tlt-lines th:nth-child(2) { text-align: left; max-width: 60ch; overflow: hidden;
  text-overflow: ellipsis; }
.tlt-lines .tlt-on { background: var(--tlt-head); font-weight: 600; }
.tlt .tlt-source { border: 0; height: auto; padding: 0; font: inherit; white-space: pre; color: var(--tlt-accent); }
.tlt .tlt-source:hover { text-decoration: underline; background: none; }
.tlt-line-time { position: relative; min-width: 130px; }
.tlt-line-bar { position: absolute; left: 0; top: 3px; bottom: 3px; background: var(--tlt-accent); opacity: 0.25; }
.tlt-change { font-weight: 600; color: var(--tlt-accent); white-space: nowrap; }
.tlt-present { zoom: 1.5; }
.tlt-present .tlt-search, .tlt-present .tlt-count, .tlt-present .tlt-device { display: none; }
.tlt-light { margin-left: auto; align-self: center; color: var(--tlt-soft); }
.tlt-launches { display: flex; flex-wrap: wrap; gap: 4px 18px; padding: 0 8px 6px; max-height: 92px; overflow-y: auto; }
.tlt-launches > span { display: inline-flex; align-items: center; gap: 5px; min-width: 0; }
.tlt-launches bdi { font-weight: 600; }
.tlt-legend button { display: inline-flex; align-items: center; gap: 5px; border-color: transparent; max-width: 22em;
  height: 21px; padding: 0 6px; }
.tlt-legend button > bdi { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tlt-legend button[aria-pressed=true] { background: transparent; color: inherit; border-color: transparent; }
.tlt-legend button[aria-pressed=false] { opacity: 0.4; text-decoration: line-through; }
.tlt-swatch { width: 11px; height: 11px; border-radius: 2px; flex: none; }
.tlt .tlt-align[aria-pressed] { border-color: var(--tlt-line); max-width: none; opacity: 1; text-decoration: none; }
.tlt .tlt-align[aria-pressed=true] { border-color: var(--tlt-accent); color: var(--tlt-accent); }
.tlt-before .tlt-swatch { height: 5px; opacity: 0.5;
  background: linear-gradient(to right, #1e78b4 50%, #f0a500 50%); }
.tlt-instead { padding: 16px 14px; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 400px; overflow: auto; }
.tlt-speaks > :not(.tlt-instead) { display: none !important; }
.tlt-ramp { width: 160px; height: 11px; border-radius: 2px; }
.tlt-panel { display: flex; flex-wrap: wrap; gap: 8px 28px; padding: 8px 10px; border-top: 1px solid var(--tlt-line);
  max-height: 240px; overflow: auto; }
.tlt-panel h3 { font-size: 12px; margin: 0 0 4px; font-weight: 600; overflow-wrap: anywhere; }
.tlt-panel dl { display: grid; grid-template-columns: max-content 1fr; gap: 1px 12px; margin: 0; }
.tlt-panel dt { color: var(--tlt-soft); } .tlt-panel dd { margin: 0; overflow-wrap: anywhere; }
.tlt table { border-collapse: collapse; font: inherit; font-variant-numeric: tabular-nums; margin: 0; }
.tlt th, .tlt td { padding: 1px 12px 1px 0; text-align: right; border: 0; background: none; color: inherit; }
.tlt th { color: var(--tlt-soft); font-weight: 500; }
.tlt th:first-child, .tlt td:first-child { text-align: left; max-width: 22em; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; }
.tlt-help { position: absolute; inset: 0; z-index: 6; overflow: auto; padding: 12px 16px; background: var(--tlt-ground); }
.tlt-help .tlt-keys { columns: 270px; column-gap: 28px; margin: 8px 0; padding: 0; }
.tlt-help .tlt-keys div { display: flex; gap: 8px; break-inside: avoid; padding: 1.5px 0; }
.tlt-help kbd { font: 11px ui-monospace, monospace; border: 1px solid var(--tlt-line); border-radius: 3px;
  padding: 0 5px; background: var(--tlt-head); color: inherit; white-space: nowrap; box-shadow: none; }
.tlt-help .tlt-keys div > span:first-child { flex: 0 0 8.5em; }
.tlt-sr { position: absolute !important; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.tlt-error { padding: 10px 12px; color: var(--tlt-warn, #b93c06); overflow-wrap: anywhere; }
`;
