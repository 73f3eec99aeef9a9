/** A mail server's answer to a recipient, or to a whole message. */
export interface InboundReply {
  /** RFC 5321 §4.2. */
  readonly code: number;
  /** With its enhanced status code (RFC 3463) before it: `5.1.1 no such address`. */
  readonly text: string;
}

/** Receives incoming mail. */
export interface InboundMailHandler {
  /** The refusal of mail to this address; null if it is accepted. */
  refusalOf(address: string): InboundReply | null;
  /** Takes a message, or the start of a large one, for all its recipients. Durable when it returns; never throws. */
  receive(recipients: readonly string[], bytes: Uint8Array): Promise<InboundReply>;
}

/** A port that receives mail. */
export interface InboundMailServer {
  readonly port: number;
  /** Accepts no more connections, ends the idle ones, and waits up to `graceMs` for mail that is coming in. */
  close(graceMs: number): Promise<void>;
}
