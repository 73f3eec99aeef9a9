import type { ReturnedMailParts } from "../../kernel/mail/returnedMailParts.ts";

/** Reads mail that comes back: its sender is a stranger. */
export interface ReturnedMailParser {
  /**
   * Reads a message, or as much of it as is given: a report comes before the message that it returns. Null when it
   * cannot be read at all; never throws.
   */
  parse(bytes: Uint8Array): Promise<ReturnedMailParts | null>;
}
