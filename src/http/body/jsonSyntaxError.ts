import { JsonScanner } from "../../kernel/text/jsonScanner.ts";
import { codePoints } from "../../kernel/text/textLength.ts";

/** Where a text stops being JSON. Lines and columns count from 1; a column is a character. */
interface JsonSyntaxError {
  readonly line: number;
  readonly column: number;
  /** What was wanted there, for people; nothing of the text itself. */
  readonly expected: string;
}

/** Where a text is no JSON any more (RFC 8259); null when it is JSON. The engine does not say it. */
export function jsonSyntaxError(text: string): JsonSyntaxError | null {
  const scanner = new JsonScanner(text);
  scanner.goOn(Infinity);
  if (scanner.isWhole) return null;
  const before = text.slice(0, scanner.at);
  const lineStart = before.lastIndexOf("\n") + 1;
  const line = before.split("\n").length;
  return { line, column: codePoints(before.slice(lineStart)) + 1, expected: scanner.expected };
}
