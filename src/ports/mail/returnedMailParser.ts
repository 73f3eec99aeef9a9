import type { ReturnedMailParts } from "../../kernel/mail/returnedMailParts.ts";

/** Reads returned mail, whose sender is a stranger. */
export interface ReturnedMailParser {
  /**
   * Reads a message. Its beginning is enough, because a report precedes the message that it returns. Null when the
   * message cannot be read at all. Throws if the process is too busy to read it now.
   */
  parse(bytes: Uint8Array): Promise<ReturnedMailParts | null>;
}
