import { SNIPPET_LANGUAGES } from "./requestSnippets.ts";

const LANGUAGES = Object.keys(SNIPPET_LANGUAGES);

/** Shows the examples in the chosen language and highlights its label. */
const CHOSEN_LANGUAGE = LANGUAGES.map(
  (language) => `
body:has(#in-${language}:checked) .request pre.${language} { display: block; }
body:has(#in-${language}:checked) .languages label.${language} { color: var(--ink); box-shadow: inset 0 -2px var(--accent); }
body:has(#in-${language}:focus-visible) fieldset label.${language} { outline: 2px solid var(--accent); outline-offset: 2px; }`,
).join("");

/** The style of the reference page: light or dark like the reader's system, and without remote fonts. */
export const REFERENCE_STYLE = `
:root { color-scheme: light dark; --ink: light-dark(#1d1e22, #e9e9ec); --soft: light-dark(#5d5f69, #a3a5b0);
  --ground: light-dark(#ffffff, #131417); --side: light-dark(#f6f6f4, #18191d); --line: light-dark(#e3e3df, #2c2e35);
  --accent: light-dark(#4347c9, #a5a8ff); --accent-soft: light-dark(#ededfb, #26284a);
  --code: light-dark(#f6f6f9, #1b1c22); --text: light-dark(#14804a, #7fd6a4); --name: light-dark(#3a3f9f, #b9bcff);
  --value: light-dark(#a15c00, #e6b566); --get: light-dark(#2563c9, #7fb0fa); --post: light-dark(#14804a, #5fcf95);
  --patch: light-dark(#a15c00, #e0a54a); --delete: light-dark(#c0292f, #f58a8f);
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Liberation Mono", monospace; }
*, *::before, *::after { box-sizing: border-box; }
[hidden] { display: none !important; }
html { scroll-padding-top: 1.5rem; -webkit-text-size-adjust: 100%; }
body { margin: 0; display: grid; grid-template-columns: 17.5rem minmax(0, 1fr); color: var(--ink); background: var(--ground);
  font: 15px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
a { color: var(--accent); text-underline-offset: .18em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
code, pre, kbd { font: 13px/1.6 var(--mono); }
code { overflow-wrap: anywhere; }
.soft, .type, .needs { color: var(--soft); }
.skip { position: absolute; top: -5rem; left: .5rem; z-index: 3; padding: .5rem 1rem; background: var(--ground); }
.skip:focus { top: .5rem; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.5rem 1rem 3rem; background: var(--side);
  border-right: 1px solid var(--line); scrollbar-width: thin; }
.brand { padding: 0 .6rem .9rem; font-size: 1.05rem; }
.brand .soft { font-size: .85rem; }
.menu, #contents-shown { display: none; }
.search { position: relative; margin-bottom: .6rem; }
.search input { width: 100%; padding: .45rem 2rem .45rem .7rem; color: inherit; background: var(--ground); font: inherit;
  font-size: .93rem; border: 1px solid var(--line); border-radius: 7px; }
.search kbd { position: absolute; right: .55rem; top: .5rem; padding: 0 .4rem; color: var(--soft); font-size: 11px;
  border: 1px solid var(--line); border-radius: 4px; }
.search input:focus + kbd { display: none; }
.search p { margin: .5rem .6rem .2rem; font-size: .85rem; }
.search p:empty { display: none; }
nav h2 { margin: 1.5rem .6rem .35rem; font-size: .8rem; font-weight: 650; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: flex; justify-content: space-between; align-items: baseline; gap: .5rem; padding: .22rem .6rem;
  color: var(--soft); font-size: .9rem; line-height: 1.4; text-decoration: none; border-radius: 6px; overflow-wrap: anywhere; }
nav li a:hover, nav li a:focus-visible { color: var(--ink); background: var(--accent-soft); }
nav li .method { flex: none; font-size: 10px; }
.method { font: 650 12px/1.6 var(--mono); }
.get { color: var(--get); } .post { color: var(--post); } .patch { color: var(--patch); } .delete { color: var(--delete); }
main { min-width: 0; padding: 0 clamp(1rem, 3vw, 3rem) 6rem; max-width: 100rem; }
.group { max-width: 46rem; padding-top: 3.5rem; }
.group.first { padding-top: 2.2rem; }
h1 { margin: 0 0 .4rem; font-size: 1.9rem; line-height: 1.2; letter-spacing: -.02em; }
.group h2 { margin: 0; font-size: 1.5rem; letter-spacing: -.015em; }
section { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 30rem); grid-template-rows: auto 1fr; gap: 0 clamp(1.5rem, 3vw, 3.5rem);
  padding: 2.2rem 0 2.6rem; border-bottom: 1px solid var(--line); content-visibility: auto; contain-intrinsic-size: auto 60rem; }
section h3 { margin: 0 0 .5rem; font-size: 1.15rem; line-height: 1.35; }
section h3 a { color: inherit; text-decoration: none; }
section h3 a:hover { color: var(--accent); }
section h3 code { font-size: 1rem; }
h4 { margin: 1.7rem 0 .2rem; font-size: .93rem; }
h5 { margin: 1rem 0 .2rem; font-size: .85rem; color: var(--soft); }
.head, .told { grid-column: 1; }
.head > p, .told > p { margin: .7rem 0; }
.told > h4:first-child { margin-top: 1rem; }
.address { display: flex; flex-wrap: wrap; gap: .1rem .7rem; align-items: baseline; }
.needs { margin: .15rem 0 0; font-size: .9rem; }
.media { color: var(--soft); font-weight: 400; }
.fields { list-style: none; margin: .3rem 0 0; padding: 0; border-top: 1px solid var(--line); }
.fields li { padding: .55rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.fields > li > code:first-child { font-weight: 650; }
.fields p { margin: .1rem 0 0; font-size: .93rem; }
.type { font-size: .85rem; }
.fields .soft { font-size: .8rem; }
.required { color: var(--delete); font-size: .8rem; }
.d1 { margin-left: 1.1rem; } .d2 { margin-left: 2.2rem; } .d3 { margin-left: 3.3rem; } .d4 { margin-left: 4.4rem; }
.d5 { margin-left: 5.5rem; } .d6 { margin-left: 6.6rem; }
details { border-bottom: 1px solid var(--line); }
.answers, .problems { border-top: 1px solid var(--line); margin-top: .3rem; }
summary { padding: .45rem 0; cursor: pointer; font-size: .93rem; overflow-wrap: anywhere; }
summary:hover { background: var(--side); }
details pre { margin: .1rem 0 .9rem; }
.status { display: inline-block; min-width: 2.1rem; font: 650 13px/1.6 var(--mono); color: var(--delete); }
.status.s2 { color: var(--post); } .status.s3 { color: var(--get); }
pre { margin: 0; padding: .85rem 1rem; overflow-x: auto; background: var(--code); border: 1px solid var(--line);
  border-radius: 9px; scrollbar-width: thin; tab-size: 2; }
pre s { color: var(--text); text-decoration: none; } pre b { color: var(--name); font-weight: 400; }
pre i { color: var(--value); font-style: normal; }
.shown { grid-column: 2; grid-row: 1 / span 2; align-self: start; position: sticky; top: 1rem; max-height: calc(100vh - 2rem); overflow-y: auto; scrollbar-width: thin; }
.sample { margin: 0 0 1rem; }
.sample figcaption { display: flex; justify-content: space-between; align-items: center; gap: .6rem; min-height: 2.3rem;
  padding: 0 .5rem 0 1rem; color: var(--soft); font-size: .85rem; background: var(--side); border: 1px solid var(--line);
  border-bottom: 0; border-radius: 9px 9px 0 0; }
.sample figcaption + pre, .request pre { border-radius: 0 0 9px 9px; }
.request pre { display: none; }
.languages { display: flex; flex-wrap: wrap; gap: 0 .9rem; }
.languages label { padding: .3rem 0; cursor: pointer; }
.languages label:hover { color: var(--ink); }
fieldset.languages { margin: 1.2rem 0 0; padding: 0; border: 0; color: var(--soft); }
fieldset.languages legend { float: left; padding: .3rem .9rem 0 0; }
input[name="language"] { position: fixed; top: 0; left: 0; opacity: 0; pointer-events: none; }
.sample button { padding: .1rem .55rem; color: var(--soft); background: none; font: inherit; border: 1px solid var(--line);
  border-radius: 6px; cursor: pointer; }
.sample button:hover { color: var(--ink); border-color: var(--soft); }
${CHOSEN_LANGUAGE}
@media (max-width: 78rem) {
  section { grid-template-columns: minmax(0, 1fr); grid-template-rows: none; }
  .shown { grid-column: 1; grid-row: auto; margin-top: .6rem; position: static; max-height: none; overflow: visible; }
}
@media (max-width: 56rem) {
  html { scroll-padding-top: 4.2rem; }
  body { display: block; }
  nav { z-index: 2; height: auto; max-height: 100vh; padding: .6rem 1rem; border-right: 0; border-bottom: 1px solid var(--line); }
  .brand { display: flex; align-items: baseline; gap: .5rem; padding: .15rem 0; }
  .menu { display: block; margin-left: auto; padding: .25rem .8rem; font-size: .9rem; border: 1px solid var(--line);
    border-radius: 7px; cursor: pointer; background: var(--ground); }
  #contents-shown { display: block; position: fixed; top: 0; left: 0; opacity: 0; pointer-events: none; }
  nav:has(#contents-shown:focus-visible) .menu { outline: 2px solid var(--accent); outline-offset: 2px; }
  .inside { display: none; padding-top: .7rem; }
  nav:has(#contents-shown:checked) .inside { display: block; }
  nav li a { padding: .45rem .6rem; }
  fieldset.languages legend { float: none; }
  details pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  .d1 { margin-left: .7rem; } .d2 { margin-left: 1.4rem; } .d3 { margin-left: 2.1rem; } .d4 { margin-left: 2.8rem; }
  .d5 { margin-left: 3.5rem; } .d6 { margin-left: 4.2rem; }
}
@media print { nav, .shown button { display: none; } body { display: block; } section { content-visibility: visible; } }
`;
