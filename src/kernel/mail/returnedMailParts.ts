/** A header field: its name in lower case, its value unfolded and otherwise as it came. */
export interface MailHeader {
  readonly name: string;
  readonly value: string;
}

/** A part that is not the readable text: a report, or the message that it is about. */
export interface MailPart {
  /** In lower case, without parameters: `message/delivery-status`. */
  readonly contentType: string;
  /** Transfer encoding undone, read as UTF-8. */
  readonly content: string;
}

/** A message as a parser has read it (RFC 5322, RFC 2045). All of it was written by a stranger. */
export interface ReturnedMailParts {
  readonly headers: readonly MailHeader[];
  /** The readable text, from HTML where there is nothing else; "" when there is none. */
  readonly text: string;
  /** The other parts, in order. */
  readonly parts: readonly MailPart[];
}

/** The first header field of this name (in lower case); "" when there is none. */
export function headerOf({ headers }: Pick<ReturnedMailParts, "headers">, name: string): string {
  return headers.find((header) => header.name === name)?.value ?? "";
}
