import { codePointName, invisibleCharacterIn } from "../../kernel/text/invisibleCharacters.ts";
import { isBlockedExtension } from "./blockedExtensions.ts";

/** Controls (C0, DEL, C1), and the line and paragraph separators. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;
/** The characters that make `fdp.exe` appear as `exe.pdf` (UAX #9 §2). */
const BIDI_OVERRIDE = /[\u202a-\u202e\u2066-\u2069]/;

/** Look-alikes of a dot, slash, backslash or colon. Full-width colons are fine: they are in many names, in no path. */
const LOOK_ALIKE =
  /[\u2024\ufe52\uff0e\ua4f8\u2044\u2215\u29f8\u2571\uff0f\u2216\u29f5\u29f9\u2572\ufe68\uff3c\u2236\ua789\u02d0\ufe13\ufe55]/u;

/** The text after the last dot, in lower case; empty if there is no dot. */
export function extensionOf(filename: string): string {
  const dot = filename.lastIndexOf(".");
  return dot < 0 ? "" : filename.slice(dot + 1).toLowerCase();
}

/**
 * What is wrong with a file name, as the end of a sentence; null if nothing is. Callers normalise the name first, so
 * the checked name is the one that a recipient sees.
 */
export function fileNameFault(filename: string): string | null {
  if (filename === "") return "must not be empty";
  if (!filename.isWellFormed() || filename.normalize("NFC") !== filename)
    return "must be in Unicode normalisation form C (NFC)";
  if (CONTROL.test(filename)) return "must not hold control characters or line breaks";
  if (BIDI_OVERRIDE.test(filename)) return "must not hold characters that override the direction of text";
  if (/[/\\:]/.test(filename)) return "must not hold / \\ or :";
  const unseen = invisibleCharacterIn(filename);
  if (unseen !== null) return `must not hold ${codePointName(unseen)}, which cannot be seen`;
  const alike = LOOK_ALIKE.exec(filename);
  if (alike !== null) return `must not hold ${codePointName(alike[0])}, which looks like . / \\ or :`;
  if (/^[.\s]|[.\s]$/.test(filename)) return "must not begin or end with a dot or a space";
  const inner = filename.split(".").slice(1, -1).find(isBlockedExtension);
  return inner === undefined ? null : `must not hold .${inner.trim()} before its extension`;
}
