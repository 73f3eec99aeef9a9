/** Characters that break a line, control a terminal, or change the direction in which text is shown. */
export const CONTROL_CHARACTER = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
/** Characters that take no space or look empty: `a.pdf` and `a\u200b.pdf` must not be two names. */
const INVISIBLE = /[[\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]--[\ufe0e\ufe0f]]/v;
/** Joiners where scripts and emoji need them. */
const JOINED =
  /(?<=[[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]--\p{Script=Latin}])[\u200c\u200d](?=[[\p{L}\p{M}\p{Extended_Pictographic}]--\p{Script=Latin}])/gv;

/** The first invisible character of a name; null if there is none. */
export function invisibleCharacterIn(name: string): string | null {
  return INVISIBLE.exec(name.replace(JOINED, ""))?.[0] ?? null;
}

/** The escape of a UTF-16 code unit, as in JSON: `\u200b`. */
export function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The name by which people look up a character: `U+200B`. */
export function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
