/** An SMTP reply: its code, and its text, which begins with the enhanced code (RFC 3463) where one applies. */
export interface SmtpReply {
  readonly code: number;
  readonly text: string;
  /** Whether the connection ends with it, without waiting for what its client still sends. */
  readonly isLast?: true;
}

/** Whoever is at the other end of a connection. */
export interface SubmissionClient {
  /** An IP address. */
  readonly address: string;
}

/** Somebody who may send. */
export interface LoggedIn<User> {
  readonly user: User;
  /** Whose connections this one is counted with. */
  readonly owner: string;
}

/** One mail as it comes in, from its envelope alone (RFC 5321). */
export interface IncomingMail<User> {
  readonly user: User;
  /** The forward-paths of RCPT TO, each once. */
  readonly recipients: readonly string[];
  /** The content without dot-stuffing. Throws when the client leaves before the end. */
  readonly content: AsyncIterable<Uint8Array>;
}

/** What decides about each step of a session. None of them throws for what a client does. */
export interface SubmissionHandlers<User> {
  /** The user behind a password, whatever the user name is. */
  logIn(password: string, client: SubmissionClient): Promise<LoggedIn<User> | SmtpReply>;
  /** Whether a user may still send; null: yes. */
  refuseMail(user: User): Promise<SmtpReply | null>;
  /** What is wrong with a recipient; null: nothing. */
  refuseRecipient(address: string): SmtpReply | null;
  /** Takes a mail. A reply of 250 means that it is durable. Rejects when its client leaves before the end. */
  take(mail: IncomingMail<User>): Promise<SmtpReply>;
}

/** A port on which mail is taken. */
export interface SubmissionServer<User> {
  readonly host: string;
  readonly port: number;
  /** From now on sessions go on; those that have come before have waited for it. */
  answer(handlers: SubmissionHandlers<User>): void;
  /** Connections that are open. */
  connections(): number;
  /** Mails that have no reply yet. */
  taking(): number;
  /** Lets mails that are on their way in finish, refuses what is new, and closes. */
  stop(): Promise<void>;
  /** Closes every connection at once. */
  kill(): void;
}
