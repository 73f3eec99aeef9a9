/** A mailbox of an address header. The display name is decoded, "" if there is none. */
export interface ParsedMailbox {
  readonly name: string;
  readonly address: string;
}

/** A header field, unfolded, with its encoded words decoded (RFC 2047). */
interface ParsedHeader {
  readonly name: string;
  readonly value: string;
}

/** A part of a mail that is not its text. */
export interface ParsedFile {
  /** Null if the part names none. */
  readonly filename: string | null;
  /** The MIME type in lower case, without parameters. */
  readonly contentType: string;
  /** Without angle brackets, if the html can refer to the part (RFC 2392); otherwise null. */
  readonly contentId: string | null;
  readonly content: Uint8Array;
}

/** The decoded content of a mail (RFC 5322, RFC 2045 to 2047). */
export interface ParsedMail {
  /** Every field of the mail's own header, in order. */
  readonly headers: readonly ParsedHeader[];
  readonly from: readonly ParsedMailbox[];
  readonly replyTo: readonly ParsedMailbox[];
  /** The recipients in To and Cc. */
  readonly shownRecipients: readonly ParsedMailbox[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly files: readonly ParsedFile[];
}

/** `refused`: the mail is unreadable or would take too much work. `reason` completes a sentence about the mail. */
export type MailParseResult =
  | { readonly kind: "mail"; readonly mail: ParsedMail }
  | { readonly kind: "refused"; readonly reason: string };

/** Reads mails that strangers wrote. */
export interface MailParser {
  /**
   * Never blocks the caller's event loop for long, however large or hostile the mail, and never makes one owner's mail
   * wait for all of another's. Throws for bugs, and if the process is too busy to read it now.
   */
  parse(bytes: Uint8Array, owner: string): Promise<MailParseResult>;
  close(): void;
}
