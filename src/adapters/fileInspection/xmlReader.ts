import { unescapeXml } from "../../kernel/text/unescapeXml.ts";

/** One start tag. Names have no prefixes; references in values are resolved. */
export interface XmlTag {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
}

/** Receives the parts of XML as they are read. */
export interface XmlVisitor {
  tag(tag: XmlTag): void;
  /** Called at the end of an element. */
  end(name: string): void;
  /** A piece of text, unchanged. One text may come in several pieces. */
  text(text: string): void;
}

/** A longer tag, comment or the like is there to hide something. */
const MARKUP_CHARS_MAX = 1_000_000;
/** How much of a DOCTYPE to look at. */
const DOCTYPE_CHARS = 20;
const SPECIAL = [
  ["<!--", "-->"],
  ["<?", "?>"],
  ["<![CDATA[", "]]>"],
] as const;

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

/** How far the end of a piece of markup has been looked for: characters from its <, and the quote that is open there. */
interface EndSearch {
  chars: number;
  quote: string | null;
}

/** Where a tag ends: at the first of `ends` that is outside of its quotes. -1 if that has not arrived yet. */
function tagEnd(text: string, open: number, search: EndSearch, ends: string): number {
  let at = open + search.chars;
  while (at < text.length) {
    const char = text[at] ?? "";
    if (search.quote !== null) {
      const close = text.indexOf(search.quote, at);
      if (close < 0) break;
      at = close;
      search.quote = null;
    } else if (ends.includes(char)) return at;
    else if (char === '"' || char === "'") search.quote = char;
    at += 1;
  }
  search.chars = text.length - open;
  return -1;
}

const NONE: XmlTag["attributes"] = new Map();

function readTag(markup: string): XmlTag {
  const tag = localName(/^[^\s/>]*/.exec(markup)?.[0] ?? "");
  if (!markup.includes("=")) return { name: tag, attributes: NONE };
  const attributes = new Map<string, string>();
  for (const [, name = "", double, single] of markup.matchAll(
    /(?<=\s)([^\s"'=<>/]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g,
  )) {
    attributes.set(localName(name), unescapeXml(double ?? single ?? ""));
  }
  return { name: tag, attributes };
}

/**
 * Reads the tags and text of XML that arrives in pieces. The XML need not be well-formed, but a reader that takes it
 * for well-formed finds the same tags. References in texts are not resolved.
 */
export class XmlReader {
  private rest = "";
  private search: EndSearch = { chars: 1, quote: null };

  /** `isPicture`: the XML is an SVG picture, which may begin with a DOCTYPE. */
  constructor(
    private readonly visitor: XmlVisitor,
    private readonly isPicture: boolean,
  ) {}

  /** Takes the next piece. Returns what is wrong with it, as the end of a sentence, or null. */
  read(piece: string): string | null {
    const text = this.rest + piece;
    let at = 0;
    for (let open = text.indexOf("<"); open >= 0; open = text.indexOf("<", at)) {
      if (open > at) this.visitor.text(text.slice(at, open));
      at = open;
      const end = this.readMarkup(text, open);
      if (end === null) return "holds XML with a DOCTYPE";
      if (end < 0) break;
      at = end;
      this.search = { chars: 1, quote: null };
    }
    const isOpen = text[at] === "<";
    if (!isOpen && at < text.length) this.visitor.text(text.slice(at));
    this.rest = isOpen ? text.slice(at) : "";
    return this.rest.length > MARKUP_CHARS_MAX ? "holds XML that cannot be looked through" : null;
  }

  /** Where the markup ends; -1 if the end has not arrived yet, null for a DOCTYPE that is not permitted. */
  private readMarkup(text: string, open: number): number | null {
    const next = text[open + 1];
    if (next === "!" || next === "?") return this.readSpecial(text, open);
    const close = tagEnd(text, open, this.search, ">");
    if (close < 0) return -1;
    if (next === "/") this.visitor.end(localName(text.slice(open + 2, close).trim()));
    else {
      const tag = readTag(text.slice(open + 1, close));
      this.visitor.tag(tag);
      if (text[close - 1] === "/") this.visitor.end(tag.name);
    }
    return close + 1;
  }

  private readSpecial(text: string, open: number): number | null {
    for (const [begin, end] of SPECIAL) {
      // Perhaps only its first letters have arrived.
      const head = text.slice(open, open + begin.length);
      if (head.length < begin.length && begin.startsWith(head)) return -1;
      if (head !== begin) continue;
      // The end may have begun in the piece before.
      const searched = this.search.chars - end.length;
      const close = text.indexOf(end, open + Math.max(begin.length, searched));
      this.search.chars = text.length - open;
      if (close < 0) return -1;
      if (begin === "<![CDATA[") this.visitor.text(text.slice(open + begin.length, close));
      return close + end.length;
    }
    // SVG pictures may begin with a DOCTYPE; no other part of a document may.
    return this.isPicture ? this.readDoctype(text, open) : null;
  }

  private readDoctype(text: string, open: number): number | null {
    if (!/^<!DOCTYPE\s+svg\b/i.test(text.slice(open, open + DOCTYPE_CHARS))) {
      return text.length < open + DOCTYPE_CHARS ? -1 : null;
    }
    const close = tagEnd(text, open, this.search, ">[");
    // Entities declared in [ ] could stand for anything that is looked for here.
    if (text[close] === "[") return null;
    return close < 0 ? -1 : close + 1;
  }
}
