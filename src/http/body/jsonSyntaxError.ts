import { codePoints } from "../../kernel/text/textLength.ts";

/** Where a text stops being JSON. Lines and columns count from 1; a column is a character. */
export interface JsonSyntaxError {
  readonly line: number;
  readonly column: number;
  /** What was wanted there, for people; nothing of the text itself. */
  readonly expected: string;
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /true|false|null/y;
/** A string from its first quote, as far as it is one. */
const STRING_START = /"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/uy;

/** Thrown where the text is no JSON any more. */
class Stop extends Error {
  constructor(readonly expected: string) {
    super(expected);
  }
}

/** Reads JSON without making anything of it. */
class Scanner {
  at = 0;
  constructor(private readonly text: string) {}

  /** Goes on behind what matches here; false when nothing does. */
  #pass(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    const isThere = pattern.test(this.text);
    if (isThere) this.at = pattern.lastIndex;
    return isThere;
  }

  #passCharacter(character: string): boolean {
    const isThere = this.text[this.at] === character;
    if (isThere) this.at += 1;
    return isThere;
  }

  space(): void {
    this.#pass(SPACE);
  }

  string(expected: string): void {
    if (!this.#pass(STRING_START)) throw new Stop(expected);
    if (this.#passCharacter('"')) return;
    if (this.at >= this.text.length) throw new Stop("the end of a string");
    throw new Stop(
      this.text[this.at] === "\\" ? "an escape that JSON has" : "no control character in a string",
    );
  }

  value(): void {
    this.space();
    const first = this.text[this.at];
    if (first === "{") this.#object();
    else if (first === "[") this.#array();
    else if (first === '"') this.string("a value");
    else if (!this.#pass(WORD) && !this.#pass(NUMBER)) throw new Stop("a value");
    this.space();
  }

  #object(): void {
    this.at += 1;
    this.space();
    if (this.#passCharacter("}")) return;
    do {
      this.space();
      this.string("a member's name in double quotes");
      this.space();
      if (!this.#passCharacter(":")) throw new Stop("a colon");
      this.value();
    } while (this.#passCharacter(","));
    if (!this.#passCharacter("}")) throw new Stop("a comma or }");
  }

  #array(): void {
    this.at += 1;
    this.space();
    if (this.#passCharacter("]")) return;
    do this.value();
    while (this.#passCharacter(","));
    if (!this.#passCharacter("]")) throw new Stop("a comma or ]");
  }
}

/**
 * Where a text is no JSON any more (RFC 8259); null when it is JSON. The engine does not say it. The text must not nest
 * deeper than the call stack goes.
 */
export function jsonSyntaxError(text: string): JsonSyntaxError | null {
  const scanner = new Scanner(text);
  try {
    scanner.value();
    if (scanner.at >= text.length) return null;
    return placeOf(text, scanner.at, "nothing more");
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    return placeOf(text, scanner.at, error.expected);
  }
}

function placeOf(text: string, at: number, expected: string): JsonSyntaxError {
  const before = text.slice(0, at);
  const lineStart = before.lastIndexOf("\n") + 1;
  const line = before.split("\n").length;
  return { line, column: codePoints(before.slice(lineStart)) + 1, expected };
}
