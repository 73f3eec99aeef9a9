/** A header field: its name in lower case, its value unfolded and with its encoded words (RFC 2047) decoded. */
interface MailHeader {
  readonly name: string;
  readonly value: string;
}

/** A part other than the readable text: a report, or the message that it is about. */
export interface MailPart {
  /** In lower case, without parameters: `message/delivery-status`. */
  readonly contentType: string;
  /** With its transfer encoding removed, read as UTF-8. */
  readonly content: string;
}

/** A parsed message (RFC 5322, RFC 2045). All of it was written by a stranger. */
export interface ReturnedMailParts {
  readonly headers: readonly MailHeader[];
  /** The readable text, taken from HTML if there is nothing else; "" if there is none. */
  readonly text: string;
  /** The other parts, in order. */
  readonly parts: readonly MailPart[];
}

/** The value of the first header field with this name (in lower case); "" if there is none. */
export function headerOf({ headers }: Pick<ReturnedMailParts, "headers">, name: string): string {
  return headers.find((header) => header.name === name)?.value ?? "";
}
