import { nextTurn } from "../../kernel/sleep.ts";

/** Deeper nesting serves nobody and costs the parser, ours and the recipient's. */
const JSON_DEPTH_MAX = 1_000;
/** Characters that are looked at before others have their turn: some milliseconds. */
const TURN_CHARS = 256 * 1_024;

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [ARRAY_BEGIN, ARRAY_END, OBJECT_BEGIN, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];
const SPACE = 0x20;
const WHITE = new Set([SPACE, 0x09, 0x0a, 0x0d]);
const MARKS = new Set([QUOTE, COMMA, COLON, ARRAY_BEGIN, ARRAY_END, OBJECT_BEGIN, OBJECT_END]);
const LITERAL = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
const ESCAPE = /^\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/;
const ESCAPE_CHARS_MAX = 6;

/** What may come next; `…OrEnd`: or the end of what was just begun. */
type Expected = "value" | "valueOrEnd" | "name" | "nameOrEnd" | "colon" | "commaOrEnd";

/** Whether a text is JSON (RFC 8259), without making values of it: those of 5 MB may be 200 MB. */
class JsonScan {
  readonly #text: string;
  /** The ends that are wanted, of what is open. */
  readonly #open: number[] = [];
  #expected: Expected = "value";
  #at = 0;
  #isInString = false;
  isTooDeep = false;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Whether all of it was one value. */
  get isWhole(): boolean {
    return this.#open.length === 0 && this.#expected === "commaOrEnd" && !this.#isInString;
  }

  /** Goes on for some characters; false where the text is wrong. */
  goOn(): boolean {
    const until = this.#at + TURN_CHARS;
    while (this.#at < until && !this.isAtEnd) {
      if (!(this.#isInString ? this.#string(until) : this.#token())) return false;
    }
    return true;
  }

  /** On in a string, to its end or to where others have their turn. */
  #string(until: number): boolean {
    const text = this.#text;
    while (this.#at < until) {
      const code = text.charCodeAt(this.#at);
      // Beyond the end of the text it is NaN.
      if (!(code >= SPACE)) return false;
      if (code === BACKSLASH) {
        const escaped = ESCAPE.exec(text.slice(this.#at, this.#at + ESCAPE_CHARS_MAX));
        if (escaped === null) return false;
        this.#at += escaped[0].length;
        continue;
      }
      this.#at += 1;
      if (code !== QUOTE) continue;
      this.#isInString = false;
      return true;
    }
    return true;
  }

  #token(): boolean {
    const code = this.#text.charCodeAt(this.#at);
    if (WHITE.has(code)) {
      this.#at += 1;
      return true;
    }
    if (!MARKS.has(code)) return this.#value() && this.#literal();
    this.#at += 1;
    switch (code) {
      case QUOTE:
        this.#isInString = true;
        return this.#name() || this.#value();
      case ARRAY_BEGIN:
        return this.#value() && this.#begin(ARRAY_END, "valueOrEnd");
      case OBJECT_BEGIN:
        return this.#value() && this.#begin(OBJECT_END, "nameOrEnd");
      case COLON:
        return this.#step("colon", "value");
      case COMMA:
        return this.#open.length > 0 && this.#step("commaOrEnd", this.#isInObject() ? "name" : "value");
      default:
        return this.#end(code);
    }
  }

  #isInObject(): boolean {
    return this.#open.at(-1) === OBJECT_END;
  }

  #step(wanted: Expected, next: Expected): boolean {
    if (this.#expected !== wanted) return false;
    this.#expected = next;
    return true;
  }

  #name(): boolean {
    return this.#step("name", "colon") || this.#step("nameOrEnd", "colon");
  }

  #value(): boolean {
    return this.#step("value", "commaOrEnd") || this.#step("valueOrEnd", "commaOrEnd");
  }

  #begin(end: number, expected: Expected): boolean {
    this.isTooDeep = this.#open.push(end) > JSON_DEPTH_MAX;
    this.#expected = expected;
    return !this.isTooDeep;
  }

  #end(code: number): boolean {
    const isEmpty = this.#expected === (code === OBJECT_END ? "nameOrEnd" : "valueOrEnd");
    if (!isEmpty && this.#expected !== "commaOrEnd") return false;
    this.#expected = "commaOrEnd";
    return this.#open.pop() === code;
  }

  /** A number, true, false or null: up to white space or a mark. */
  #literal(): boolean {
    const from = this.#at;
    const text = this.#text;
    while (this.#at < text.length) {
      const code = text.charCodeAt(this.#at);
      if (WHITE.has(code) || MARKS.has(code)) break;
      this.#at += 1;
    }
    return LITERAL.test(text.slice(from, this.#at));
  }
}

/** What is wrong with a text that should be JSON, as the end of a sentence; null when nothing is. */
export async function jsonFault(text: string): Promise<string | null> {
  const scan = new JsonScan(text);
  while (scan.goOn()) {
    if (scan.isAtEnd) return scan.isWhole ? null : "is not valid JSON";
    await nextTurn();
  }
  return scan.isTooDeep ? `is nested more than ${JSON_DEPTH_MAX} levels deep` : "is not valid JSON";
}
