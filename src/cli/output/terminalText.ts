import { type Colour, coloured } from "./terminalColour.ts";

/** What a terminal obeys in place of showing it, or what makes a line read otherwise than it is written. */
const NOT_SHOWN = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

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
    NOT_SHOWN,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
