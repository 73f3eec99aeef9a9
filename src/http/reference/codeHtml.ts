import { escapeHtml } from "../server/html.ts";

/** A string in single or double quotes, with a colon behind it where it names a member; a number; a word; a comment. */
const TOKEN =
  /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')(\s*:(?!:))?|\b(?:true|false|null|None|True|False)\b|(?<![\w.-])-?\d+(?:\.\d+)?\b/g;

/** Code in which strings, names of members and plain values are marked. Knows no language, so it marks what all have. */
export function codeHtml(code: string): string {
  let html = "";
  let end = 0;
  for (const match of code.matchAll(TOKEN)) {
    const [whole, text, colon] = match;
    html += escapeHtml(code.slice(end, match.index));
    end = match.index + whole.length;
    if (text === undefined) html += `<i>${escapeHtml(whole)}</i>`;
    else if (colon === undefined) html += `<s>${escapeHtml(text)}</s>`;
    else html += `<b>${escapeHtml(text)}</b>${escapeHtml(colon)}`;
  }
  return html + escapeHtml(code.slice(end));
}
