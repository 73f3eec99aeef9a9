import PostalMime, { type Email, type PostalMimeOptions } from "postal-mime";
import { excerpt } from "../../kernel/text/textLength.ts";
import { asUtf8, decodeText } from "./decodeText.ts";

/** The private parts of the library's parser that turn bytes into text. It has no option for how. */
interface MimePart {
  readonly state: "header" | "body" | "finished";
  readonly content: ArrayBuffer | null;
  readonly contentType: {
    readonly parsed: { readonly value: string; readonly params: Readonly<Record<string, string>> };
  };
  getTextContent(): string;
}
interface PostalMimeParser {
  readonly currentNode: MimePart;
  parse(bytes: Uint8Array): Promise<Email>;
  processLine(line: Uint8Array, isFinal: boolean): Promise<void>;
  collectNode(part: MimePart, alternative: MimePart | false, related: boolean): Promise<void>;
}
const Parser = PostalMime as unknown as new (options: PostalMimeOptions) => PostalMimeParser;

/** In characters: a charset in a reason. */
const CHARSET_SHOWN_MAX = 40;

/**
 * Reads a mail's text as it was written. The library alone reads an unknown charset as windows-1252, puts U+FFFD where
 * bytes are not valid, and joins the lines of `format=flowed` across quotations. This one throws for what cannot be read,
 * takes 8-bit text without a charset for UTF-8 or else windows-1252, in the header too, and leaves lines as they are.
 */
export class MailTextParser extends Parser {
  override processLine(line: Uint8Array, isFinal: boolean): Promise<void> {
    return super.processLine(this.currentNode.state === "header" ? asUtf8(line) : line, isFinal);
  }

  override collectNode(part: MimePart, alternative: MimePart | false, related: boolean): Promise<void> {
    part.getTextContent = () => textOf(part);
    return super.collectNode(part, alternative, related);
  }
}

/** A part's text. Throws if its bytes are not in the charset that it names. */
function textOf({ content, contentType: { parsed } }: MimePart): string {
  const { value, params } = parsed;
  const charset = params.charset ?? "";
  const text = decodeText(new Uint8Array(content ?? new ArrayBuffer()), charset);
  if (text !== null) return text;
  throw new Error(
    `its ${value} part is not in ${excerpt(charset, CHARSET_SHOWN_MAX)}, or that charset is unknown`,
  );
}
