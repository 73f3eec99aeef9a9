/** What breaks a line or is obeyed by a terminal, or makes a text read otherwise than it is written. */
export const CONTROL_CHARACTER = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
/** What takes no room before the reader's eyes, or looks empty: `a.pdf` and `a\u200b.pdf` must not be two names. */
const INVISIBLE = /[[\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]--[\ufe0e\ufe0f]]/v;
/** The joiners, where scripts and emoji need them. */
const JOINED =
  /(?<=[[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]--\p{Script=Latin}])[\u200c\u200d](?=[[\p{L}\p{M}\p{Extended_Pictographic}]--\p{Script=Latin}])/gv;

/** The first character of a name that nobody can see, as it is in the text; null when all can be seen. */
export function invisibleCharacterIn(name: string): string | null {
  return INVISIBLE.exec(name.replace(JOINED, ""))?.[0] ?? null;
}

/** A character as people look it up: `U+200B`. */
export function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
