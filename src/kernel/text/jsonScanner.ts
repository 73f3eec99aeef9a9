const [SPACE, QUOTE, COMMA, COLON] = [0x20, 0x22, 0x2c, 0x3a];
const [ARRAY_BEGIN, ARRAY_END, OBJECT_BEGIN, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];
const WHITE = /[ \t\n\r]+/y;
const LITERAL = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** All characters of a string in one match: the engine takes a millisecond for a million of them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a string must not contain these.
const CHARACTERS = /(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*/y;

const EXPECTED = {
  value: "a value",
  name: "a member's name in double quotes",
  colon: "a colon",
  comma: "nothing more",
} as const;
type Next = keyof typeof EXPECTED;

/** Reads a text as JSON (RFC 8259) without creating its values: those of 5 MB may take 200 MB. */
export class JsonScanner {
  /** The closing characters of the open arrays and objects. */
  private readonly ends: number[] = [];
  private next: Next = "value";
  /** Whether an array or object has just begun, so that it may be empty. */
  private isEmpty = false;
  private isInString = false;
  private offset = 0;

  /** Reads no further once more than `depthMax` arrays and objects are open. */
  constructor(
    private readonly text: string,
    private readonly depthMax = Number.POSITIVE_INFINITY,
  ) {}

  /** How many characters have been read. */
  get at(): number {
    return this.offset;
  }

  /** Whether it stopped because too many arrays and objects were open. */
  get isTooDeep(): boolean {
    return this.ends.length > this.depthMax;
  }

  /** Whether the whole text was one value. */
  get isWhole(): boolean {
    return this.offset === this.text.length && this.expected === EXPECTED.comma;
  }

  /** What may come next, in words for people. Quotes nothing of the text itself. */
  get expected(): string {
    if (this.isInString) {
      if (this.offset === this.text.length) return "the end of a string";
      return this.text[this.offset] === "\\" ? "an escape that JSON has" : "no control character in a string";
    }
    const end = this.ends.at(-1);
    const isInside = this.next === "comma" && end !== undefined;
    return isInside ? `a comma or ${String.fromCharCode(end)}` : EXPECTED[this.next];
  }

  /**
   * Reads on for this many characters and to the end of the token there. False where the text ends, is not JSON or is
   * too deep.
   */
  goOn(chars: number): boolean {
    const until = this.offset + chars;
    while (this.offset < until) {
      if (!this.token(this.text.charCodeAt(this.offset))) return false;
    }
    return true;
  }

  /** `code` is NaN at the end of the text. */
  private token(code: number): boolean {
    if (code <= SPACE) return this.pass(WHITE);
    const end = this.ends.at(-1);
    if (code === end && (this.isEmpty || this.next === "comma")) {
      this.ends.pop();
      return this.step("comma");
    }
    switch (this.next) {
      case "value":
        return this.value(code);
      case "name":
        return code === QUOTE && this.string("colon");
      case "colon":
        return code === COLON && this.step("value");
      case "comma":
        return code === COMMA && end !== undefined && this.step(end === OBJECT_END ? "name" : "value");
    }
  }

  private value(code: number): boolean {
    if (code === QUOTE) return this.string("comma");
    if (code === ARRAY_BEGIN) return this.begin(ARRAY_END, "value");
    if (code === OBJECT_BEGIN) return this.begin(OBJECT_END, "name");
    if (!this.pass(LITERAL)) return false;
    this.next = "comma";
    this.isEmpty = false;
    return true;
  }

  /** Moves past one character. */
  private step(next: Next): true {
    this.offset += 1;
    this.next = next;
    this.isEmpty = false;
    return true;
  }

  private begin(end: number, next: Next): boolean {
    this.ends.push(end);
    this.step(next);
    this.isEmpty = true;
    return !this.isTooDeep;
  }

  private string(next: Next): boolean {
    this.step(next);
    this.pass(CHARACTERS);
    this.isInString = this.text.charCodeAt(this.offset) !== QUOTE;
    return !this.isInString && this.step(next);
  }

  /** Moves past a match at this place; false if there is none. */
  private pass(pattern: RegExp): boolean {
    pattern.lastIndex = this.offset;
    const isThere = pattern.test(this.text);
    if (isThere) this.offset = pattern.lastIndex;
    return isThere;
  }
}
