/** A mailbox of an address header: its display name, decoded, "" where there is none. */
export interface ParsedMailbox {
  readonly name: string;
  readonly address: string;
}

/** A header field, unfolded, with its encoded words decoded (RFC 2047). */
export interface ParsedHeader {
  readonly name: string;
  readonly value: string;
}

/** A part of a mail that is not its text. */
export interface ParsedFile {
  /** Null where the part names none. */
  readonly filename: string | null;
  /** The MIME type in lower case, without parameters. */
  readonly contentType: string;
  /** Without angle brackets, where the html can refer to the part (RFC 2392); null elsewhere. */
  readonly contentId: string | null;
  readonly content: Uint8Array;
}

/** What a mail says, decoded (RFC 5322, RFC 2045 to 2047). */
export interface ParsedMail {
  /** Every field of the mail's own header, in its order. */
  readonly headers: readonly ParsedHeader[];
  readonly from: readonly ParsedMailbox[];
  readonly replyTo: readonly ParsedMailbox[];
  /** Of To and Cc. */
  readonly shownRecipients: readonly ParsedMailbox[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly files: readonly ParsedFile[];
}

/** `refused`: the mail cannot be read, or would take too much work; `reason` ends a sentence about it. */
export type MailParseResult =
  | { readonly kind: "mail"; readonly mail: ParsedMail }
  | { readonly kind: "refused"; readonly reason: string };

/** Reads mails that strangers wrote. */
export interface MailParser {
  /**
   * Never holds up the loop of its caller for long, however large or hostile the mail is, nor one owner's mails for all
   * of another's. Throws for bugs alone.
   */
  parse(bytes: Uint8Array, owner: string): Promise<MailParseResult>;
  close(): void;
}
