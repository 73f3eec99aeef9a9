import { CONTROL_CHARACTER, unicodeEscape } from "../../kernel/text/invisibleCharacters.ts";
import { type Colour, coloured } from "./terminalColour.ts";

const CONTROL_CHARACTERS = new RegExp(CONTROL_CHARACTER, "gu");

/** A line that begins with a coloured word; the rest is plain. */
export interface ColouredLine {
  readonly colour: Colour;
  readonly word: string;
  readonly rest: string;
}

/**
 * A line for people, without its line end. Tenants choose names, and messages may repeat file contents, so control
 * characters are escaped: they must neither command the terminal nor start a new line.
 */
export function terminalText(line: string | ColouredLine): string {
  if (typeof line !== "string") return coloured(line.colour, line.word) + terminalText(line.rest);
  return line.replace(CONTROL_CHARACTERS, unicodeEscape);
}
