/** An SMTP reply. The text begins with the enhanced code (RFC 3463) if one applies. */
export interface SmtpReply {
  readonly code: number;
  readonly text: string;
  /** Whether to close the connection after it, without waiting for what the client still sends. */
  readonly isLast?: true;
}

/** The client of a connection. */
export interface SubmissionClient {
  /** An IP address. */
  readonly address: string;
}

/** A user who may send. */
export interface LoggedIn<User> {
  readonly user: User;
  /** The owner whose connections include this one. */
  readonly owner: string;
}

/** One incoming mail, known by its envelope only (RFC 5321). */
export interface IncomingMail<User> {
  readonly user: User;
  /** The forward-paths of RCPT TO, each once. */
  readonly recipients: readonly string[];
  /** The content without dot-stuffing. Throws when the client leaves before the end. */
  readonly content: AsyncIterable<Uint8Array>;
}

/** The handlers for each step of a session. None of them throws because of what a client does. */
export interface SubmissionHandlers<User> {
  /** Finds the user by password; the user name does not matter. */
  logIn(password: string, client: SubmissionClient): Promise<LoggedIn<User> | SmtpReply>;
  /** The refusal of a user who may no longer send; null if they may. */
  refuseMail(user: User): Promise<SmtpReply | null>;
  /** The refusal of a recipient; null if it is accepted. */
  refuseRecipient(address: string): SmtpReply | null;
  /** Takes a mail. A reply of 250 means it is durable. Rejects when the client leaves before the end. */
  take(mail: IncomingMail<User>): Promise<SmtpReply>;
}

/** A port that accepts mail. */
export interface SubmissionServer<User> {
  readonly host: string;
  readonly port: number;
  /** Lets sessions proceed from now on; those that connected earlier have been waiting for this. */
  answer(handlers: SubmissionHandlers<User>): void;
  /** The number of open connections. */
  connections(): number;
  /** The number of mails without a reply yet. */
  taking(): number;
  /** Lets incoming mails finish, refuses new ones, and closes. */
  stop(): Promise<void>;
  /** Closes every connection at once. */
  kill(): void;
}
