/** What our pages share: light or dark as the reader's system is, and no font from elsewhere. */
const BASE_STYLE = `
:root { color-scheme: light dark; --ink: light-dark(#1c2024, #e6e8eb); --soft: light-dark(#5c6570, #9aa4af);
  --ground: light-dark(#ffffff, #14171a); --panel: light-dark(#f5f7f9, #1b1f24); --line: light-dark(#dfe4e9, #2c333a);
  --link: light-dark(#0b62c4, #74b4ff); --get: light-dark(#0b62c4, #74b4ff); --post: light-dark(#1a7f43, #6bd396);
  --delete: light-dark(#b3261e, #ff938a); }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--ground); font: 15px/1.55 system-ui, sans-serif; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
code, pre { font: 13px/1.5 ui-monospace, "Cascadia Mono", "Liberation Mono", monospace; }
code { overflow-wrap: anywhere; }
h1 { margin: 0 0 .3rem; font-size: 1.7rem; }
.soft { color: var(--soft); }
pre { margin: .4rem 0; padding: .8rem 1rem; overflow-x: auto; background: var(--panel); border: 1px solid var(--line);
  border-radius: 6px; }
`;

/** The style of the reference page. */
export const DOCS_STYLE = `${BASE_STYLE}
html { scroll-padding-top: 1rem; }
body { display: grid; grid-template-columns: 17rem minmax(0, 1fr); }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.5rem 1.25rem; background: var(--panel);
  border-right: 1px solid var(--line); }
nav h2 { margin: 1.4rem 0 .3rem; font-size: .75rem; letter-spacing: .06em; text-transform: uppercase; color: var(--soft); }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: block; padding: .15rem 0; color: inherit; }
main { max-width: 62rem; width: 100%; padding: 2rem 2.5rem 5rem; }
main > h2 { margin: 3rem 0 0; font-size: 1.35rem; border-bottom: 1px solid var(--line); padding-bottom: .4rem; }
section { padding: 1.6rem 0 1.2rem; border-bottom: 1px solid var(--line); }
section h3 { margin: 0 0 .5rem; font-size: 1.1rem; }
h4 { margin: 1.3rem 0 .4rem; font-size: .9rem; }
.address { display: flex; flex-wrap: wrap; gap: .6rem; align-items: baseline; padding: .45rem .75rem; border-radius: 6px;
  background: var(--panel); border: 1px solid var(--line); }
.method { font-weight: 700; }
.get { color: var(--get); } .post { color: var(--post); } .delete { color: var(--delete); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: 12.5px; }
th, td { padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td:first-child { white-space: nowrap; }
td code { overflow-wrap: break-word; }
.d1 { padding-left: 1.2rem; } .d2 { padding-left: 2.4rem; } .d3 { padding-left: 3.6rem; } .d4 { padding-left: 4.8rem; }
.d5 { padding-left: 6rem; } .d6 { padding-left: 7.2rem; }
.must { color: var(--delete); font-size: 12px; }
details { margin: .4rem 0; } summary { cursor: pointer; }
@media (max-width: 56rem) { body { display: block; } nav { position: static; height: auto; max-height: 40vh; border-right: 0;
  border-bottom: 1px solid var(--line); } main { padding: 1.5rem 1.25rem 4rem; } }
`;
