/** A mail server's answer to a recipient, or to a whole message. */
export interface InboundReply {
  /** RFC 5321 §4.2. */
  readonly code: number;
  /** With its enhanced status code (RFC 3463) before it: `5.1.1 no such address`. */
  readonly text: string;
}

/** What takes the mail that comes in. */
export interface InboundMailHandler {
  /** Null: mail to this address is taken. */
  refusalOf(address: string): InboundReply | null;
  /** Takes a message, or the beginning of a large one, for all of its recipients. Durable when it returns; never throws. */
  receive(recipients: readonly string[], bytes: Uint8Array): Promise<InboundReply>;
}

/** A port on which mail comes in. */
export interface InboundMailServer {
  readonly port: number;
  /** Takes no more connections, and waits until `graceMs` for those that are under way. */
  close(graceMs: number): Promise<void>;
}
