import { CONTROL_CHARACTER } from "../../kernel/text/invisibleCharacters.ts";
import { type Colour, coloured } from "./terminalColour.ts";

const CONTROL_CHARACTERS = new RegExp(CONTROL_CHARACTER, "gu");

/** A line that begins with a word in a colour; the rest is as it comes. */
export interface ColouredLine {
  readonly colour: Colour;
  readonly word: string;
  readonly rest: string;
}

/**
 * A line for people, without its end. Names in it are whatever a tenant has called things, and messages may repeat what
 * somebody has written into a file: no terminal is to do what that says, and nothing in it makes a further line.
 */
export function terminalText(line: string | ColouredLine): string {
  if (typeof line !== "string") return coloured(line.colour, line.word) + terminalText(line.rest);
  return line.replace(
    CONTROL_CHARACTERS,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
