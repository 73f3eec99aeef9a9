import { CONTROL_CHARACTER, codePointName, invisibleCharacterIn } from "./invisibleCharacters.ts";
import { codePoints } from "./textLength.ts";

/** The longest name unless another limit is given, in code points. */
export const SHOWN_NAME_CHARACTERS_MAX = 200;

/** What is wrong with a name shown to people, such as that of a key, template or sender; null if nothing is. */
export function displayNameFault(
  name: string,
  charactersMax: number = SHOWN_NAME_CHARACTERS_MAX,
): string | null {
  if (CONTROL_CHARACTER.test(name) || name.trim() === "")
    return "must have visible characters, and no control characters";
  // Before the next check, which would take seconds for megabytes.
  if (codePoints(name) > charactersMax) return `must have at most ${charactersMax} characters`;
  const unseen = invisibleCharacterIn(name);
  return unseen === null ? null : `must not hold ${codePointName(unseen)}, which cannot be seen`;
}
