/** A string in single or double quotes, followed by a colon if it is a member name; a plain word; a number. */
const TOKEN =
  /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')(\s*:(?!:))?|\b(?:true|false|null|None|True|False)\b|(?<![\w.-])-?\d+(?:\.\d+)?\b/g;

/** Highlights strings, member names and plain values, which all the languages share. */
export function codeHtml(code: string): string {
  let html = "";
  let end = 0;
  for (const match of code.matchAll(TOKEN)) {
    const [whole, text, colon] = match;
    html += Bun.escapeHTML(code.slice(end, match.index));
    end = match.index + whole.length;
    if (text === undefined) html += `<i>${Bun.escapeHTML(whole)}</i>`;
    else if (colon === undefined) html += `<s>${Bun.escapeHTML(text)}</s>`;
    else html += `<b>${Bun.escapeHTML(text)}</b>${Bun.escapeHTML(colon)}`;
  }
  return html + Bun.escapeHTML(code.slice(end));
}
