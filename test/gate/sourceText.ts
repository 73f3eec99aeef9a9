/** One word, string or sign of a source text. Comments and regular expressions are no tokens of interest. */
interface Token {
  readonly kind: "word" | "string" | "template" | "sign" | "regex";
  readonly text: string;
}

/** One way in which a source text reaches for another module. */
export interface ModuleReference {
  /** The specifier; null when it is computed, so that nobody can tell what is reached for. */
  readonly specifier: string | null;
  readonly kind: "import" | "export" | "dynamic" | "require" | "url";
}

const WORD = /[\p{ID_Start}$_#][\p{ID_Continue}$]*|\d[\w.]*/uy;
const STRING = /"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'/y;
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
/** After these words an expression begins, so a slash begins a regular expression. */
const BEFORE_EXPRESSION = new Set(
  "return typeof case in of do else void delete throw new instanceof await yield default".split(" "),
);

function matchAt(pattern: RegExp, text: string, index: number): string | null {
  pattern.lastIndex = index;
  return pattern.exec(text)?.[0] ?? null;
}

function mayBeginRegex(before: Token | undefined): boolean {
  if (!before) return true;
  if (before.kind === "word") return BEFORE_EXPRESSION.has(before.text);
  return before.kind === "sign" && !")]}".includes(before.text);
}

/** Walks over a source text; what stands in the holes of templates is walked over like all else. */
class Scanner {
  readonly tokens: Token[] = [];
  #index = 0;

  constructor(readonly text: string) {}

  /** Reads up to the end, or up to the brace that closes the hole of a template. */
  scan(inHole: boolean): void {
    for (let depth = 0; this.#index < this.text.length; ) {
      const sign = this.text[this.#index] as string;
      if (inHole && sign === "}" && depth === 0) return;
      if (sign === "{") depth += 1;
      if (sign === "}") depth -= 1;
      if (sign === "`") this.#template();
      else this.#next(sign);
    }
  }

  #next(sign: string): void {
    const comment = sign === "/" ? matchAt(COMMENT, this.text, this.#index) : null;
    if (comment !== null || /\s/.test(sign)) {
      this.#index += comment?.length ?? 1;
      return;
    }
    this.#take(this.#token(sign));
  }

  #token(sign: string): Token {
    const string = matchAt(STRING, this.text, this.#index);
    if (string !== null) return { kind: "string", text: string };
    const word = matchAt(WORD, this.text, this.#index);
    if (word !== null) return { kind: "word", text: word };
    const regex =
      sign === "/" && mayBeginRegex(this.tokens.at(-1)) ? matchAt(REGEX, this.text, this.#index) : null;
    return regex === null ? { kind: "sign", text: sign } : { kind: "regex", text: regex };
  }

  #take(token: Token): void {
    this.tokens.push(token);
    this.#index += token.text.length;
  }

  #template(): void {
    const from = this.#index;
    let hasHoles = false;
    this.#index += 1;
    while (this.#index < this.text.length && this.text[this.#index] !== "`") {
      if (this.text.startsWith("${", this.#index)) {
        hasHoles = true;
        this.#index += 2;
        this.scan(true);
      } else if (this.text[this.#index] === "\\") this.#index += 1;
      this.#index += 1;
    }
    this.#index += 1;
    const text = this.text.slice(from, this.#index);
    this.tokens.push({ kind: hasHoles ? "template" : "string", text });
  }
}

function tokensOf(text: string): readonly Token[] {
  const scanner = new Scanner(text);
  scanner.scan(false);
  return scanner.tokens;
}

function specifierOf(token: Token | undefined): string | null {
  return token?.kind === "string" ? token.text.slice(1, -1) : null;
}

/** `import a, { b } from "x"`, `import type …`, `import "x"`; `index` is that of `import`. */
function importAt(tokens: readonly Token[], index: number): ModuleReference | null {
  const next = tokens[index + 1];
  if (next?.text === "(") return { kind: "dynamic", specifier: specifierOf(tokens[index + 2]) };
  // `import.meta` reaches for nothing, and a member that is called `import` is none.
  if (next === undefined || next.text === "." || tokens[index - 1]?.text === ".") return null;
  const string = tokens.slice(index + 1).find(({ kind, text }) => kind === "string" || text === ";");
  return { kind: "import", specifier: specifierOf(string) };
}

/** `export * from "x"`, `export { a } from "x"`, `export type …`; `index` is that of `export`. */
function exportAt(tokens: readonly Token[], index: number): ModuleReference | null {
  const start = tokens[index + 1]?.text === "type" ? index + 2 : index + 1;
  const opening = tokens[start]?.text;
  if (opening !== "*" && opening !== "{") return null;
  const closing = opening === "{" ? tokens.findIndex(({ text }, at) => at > start && text === "}") : start;
  const isFrom = ({ text }: Token, at: number) => at > closing && text === "from";
  const from = opening === "{" ? closing + 1 : tokens.findIndex(isFrom);
  if (tokens[from]?.text !== "from") return null;
  return { kind: "export", specifier: specifierOf(tokens[from + 1]) };
}

function referenceAt(tokens: readonly Token[], index: number): ModuleReference | null {
  const { kind, text } = tokens[index] as Token;
  if (kind !== "word") return null;
  if (text === "import") return importAt(tokens, index);
  if (text === "export") return exportAt(tokens, index);
  if (text === "require" && tokens[index + 1]?.text === "(") {
    return { kind: "require", specifier: specifierOf(tokens[index + 2]) };
  }
  // `new URL("./worker.ts", import.meta.url)` is how a thread reaches for its module.
  const isUrl = text === "URL" && tokens[index + 1]?.text === "(" && tokens[index + 4]?.text === "import";
  return isUrl ? { kind: "url", specifier: specifierOf(tokens[index + 2]) } : null;
}

/** Every module that a source text reaches for, types included, in the order of the text. */
export function moduleReferences(text: string): readonly ModuleReference[] {
  const tokens = tokensOf(text);
  return tokens.flatMap((_, index) => referenceAt(tokens, index) ?? []);
}

/** Whether a source text has a default export. */
export function hasDefaultExport(text: string): boolean {
  const tokens = tokensOf(text);
  return tokens.some(({ text: word, kind }, index) => {
    if (kind !== "word" || word !== "default") return false;
    const before = tokens[index - 1]?.text;
    if (before === "export") return true;
    return before === "as" && tokens[index + 1]?.text === "}";
  });
}
