import { nextTurn } from "../../kernel/sleep.ts";
import { JsonScanner } from "../../kernel/text/jsonScanner.ts";

/** Deeper nesting is of no use, and is expensive for our parser and the recipient's. */
const JSON_DEPTH_MAX = 1_000;
/** How many characters to scan before yielding to the event loop, which takes some milliseconds. */
const TURN_CHARS = 256 * 1_024;

/** What is wrong with a text that should be JSON, as the end of a sentence; null if nothing is. */
export async function jsonFault(text: string): Promise<string | null> {
  const scanner = new JsonScanner(text);
  while (scanner.goOn(TURN_CHARS) && scanner.deepest <= JSON_DEPTH_MAX) await nextTurn();
  if (scanner.deepest > JSON_DEPTH_MAX) return `is nested more than ${JSON_DEPTH_MAX} levels deep`;
  return scanner.isWhole ? null : "is not valid JSON";
}
