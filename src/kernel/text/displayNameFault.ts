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
  const unseen = invisibleCharacterIn(name);
  if (unseen !== null) return `must not hold ${codePointName(unseen)}, which cannot be seen`;
  return codePoints(name) <= charactersMax ? null : `must have at most ${charactersMax} characters`;
}
