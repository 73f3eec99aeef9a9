import type { AddressInfo, Socket } from "node:net";
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from "smtp-server";
import { addressGroup } from "../../kernel/network/clientIp.ts";
import { MINUTE_MS } from "../../kernel/time.ts";
import type {
  LoggedIn,
  SmtpReply,
  SubmissionHandlers,
  SubmissionServer,
} from "../../ports/submission/submissionServer.ts";
import { HandshakeConnectionLimit } from "./handshakeConnectionLimit.ts";
import { SessionDeadlines } from "./sessionDeadlines.ts";
import {
  endSession,
  LAST_REPLY_MS_MAX,
  listen,
  NEVER_COMMANDS,
  replyError,
  STOPPING,
  sharedServerOptions,
} from "./sharedServerOptions.ts";
import { applyRenewed, type RenewedTlsFiles, type TlsFiles } from "./tlsOptions.ts";

/** The TLS files, and whether TLS starts with the connection. */
export interface SubmissionTls extends TlsFiles {
  readonly isImplicit: boolean;
}

interface SubmissionServerOptions {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
  /** The name in the greeting. */
  readonly name: string;
  /** Null if TLS is not required, which is only for loopback. */
  readonly tls: SubmissionTls | null;
  readonly renewedTls?: RenewedTlsFiles | undefined;
  /** The longest content, in bytes, as announced after EHLO (RFC 1870). */
  readonly contentBytesMax: number;
  readonly recipientsMax: number;
  /** Called for errors that do not end the server but should be reported. */
  readonly onError: (error: Error) => void;
}

/** The most connections at once; further ones get a 421. */
const CONNECTIONS_MAX = 500;
/** The most connections per client without a log-in, so that nobody keeps out all others. */
const STRANGERS_PER_CLIENT_MAX = 20;
/** The most connections per client without a session yet. More than the limit above, because that one gives a reply. */
const HANDSHAKES_PER_CLIENT_MAX = 50;
/** The most logged-in connections per owner, for the same reason. */
const SESSIONS_PER_OWNER_MAX = 100;
/** After this many failed log-ins the connection ends. */
const LOG_INS_FAILED_MAX = 3;
/** How long a client may be silent, in ms (RFC 5321 §4.5.3.2 asks for five minutes). */
const SILENCE_MS_MAX = 5 * MINUTE_MS;
const COMMAND_BYTES_MAX = 4_096;
/** Longer than any stop: we decide when connections end, but the library insists on a time-out. */
const CLOSE_MS_MAX = 600 * MINUTE_MS;

const WITHOUT_TLS: readonly string[] = [...NEVER_COMMANDS, "STARTTLS"];
/** Hides AUTH, because clients send their password as soon as it is offered. We refuse their mail ourselves. */
const BEFORE_TLS: readonly string[] = [...NEVER_COMMANDS, "AUTH"];

const TLS_FIRST: SmtpReply = { code: 530, text: "5.7.0 Must issue a STARTTLS command first" };
const LOG_IN_FIRST: SmtpReply = { code: 530, text: "5.7.0 Authentication required" };
const TOO_SLOW: SmtpReply = { code: 421, text: "4.4.2 too slow: closing the connection" };
const TOO_MANY: SmtpReply = { code: 421, text: "4.7.0 too many connections of yours without a log-in" };
const TOO_MANY_OF_OWNER: SmtpReply = {
  code: 421,
  text: "4.7.0 too many connections of this workspace: close some, or use one for several mails",
};
const FAILED: SmtpReply = { code: 451, text: "4.3.0 the service could not do that: try again" };

/** What we know about a session and the library does not. */
interface OwnSession {
  readonly group: string;
  /** Who is logged in; null while nobody is. */
  owner: string | null;
  logInsFailed: number;
  isTaking: boolean;
}

/**
 * Opens the port for submission (RFC 6409) with smtp-server. Clients cannot log in or send mail before TLS, nor send
 * mail before the log-in. Rejects with the system's error if it cannot bind the port.
 */
export async function openSubmissionServer<User>(
  options: SubmissionServerOptions,
): Promise<SubmissionServer<User>> {
  const port = new SmtpSubmissionServer<User>(options);
  await port.listen();
  return port;
}

class SmtpSubmissionServer<User> implements SubmissionServer<User> {
  /** A promise, because sessions may begin before the handlers are known. */
  private readonly handlers = Promise.withResolvers<SubmissionHandlers<User>>();
  private readonly sessions = new Map<string, OwnSession>();
  private readonly sockets = new Set<Socket>();
  private readonly deadlines = new SessionDeadlines((id) => this.end(id, TOO_SLOW));
  private readonly server: SMTPServer;
  private readonly handshakes: HandshakeConnectionLimit;
  private isStopping = false;
  /** Settle during a stop: `drained` when no mail is coming in, `closed` when no connection is open. */
  private readonly drained = Promise.withResolvers<void>();
  private readonly closed = Promise.withResolvers<void>();

  constructor(private readonly options: SubmissionServerOptions) {
    this.server = new SMTPServer(this.serverOptions());
    this.handshakes = new HandshakeConnectionLimit(this.server, HANDSHAKES_PER_CLIENT_MAX);
    if (options.renewedTls !== undefined) applyRenewed(this.server, options.renewedTls);
    this.server.on("error", options.onError);
    this.server.server.on("connection", (socket: Socket) => {
      this.sockets.add(socket);
      socket.on("close", () => {
        this.sockets.delete(socket);
        this.settle();
      });
    });
  }

  listen(): Promise<void> {
    return listen(this.server, this.options);
  }

  get host(): string {
    return this.options.host;
  }

  get port(): number {
    return (this.server.server.address() as AddressInfo).port;
  }

  answer(handlers: SubmissionHandlers<User>): void {
    this.handlers.resolve(handlers);
  }

  connections(): number {
    return this.server.connections.size;
  }

  taking(): number {
    return [...this.sessions.values()].filter(({ isTaking }) => isTaking).length;
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    this.server.close();
    for (const [id, { isTaking }] of this.sessions) if (!isTaking) this.end(id, STOPPING);
    this.settle();
    await this.drained.promise;
    await Promise.race([this.closed.promise, Bun.sleep(LAST_REPLY_MS_MAX)]);
    this.kill();
  }

  kill(): void {
    if (!this.isStopping) this.server.close();
    this.isStopping = true;
    for (const socket of this.sockets) socket.destroy();
    for (const id of this.sessions.keys()) this.leave(id);
    this.settle();
  }

  /** Settles `drained` and `closed` as far as the stop has come. */
  private settle(): void {
    if (!this.isStopping) return;
    if (this.taking() === 0) this.drained.resolve();
    if (this.sockets.size === 0) this.closed.resolve();
  }

  private serverOptions(): SMTPServerOptions {
    const { name, tls, contentBytesMax, recipientsMax } = this.options;
    return {
      ...sharedServerOptions(name, tls),
      secure: tls?.isImplicit === true,
      disabledCommands: [...(tls === null ? WITHOUT_TLS : NEVER_COMMANDS)],
      authMethods: ["PLAIN", "LOGIN"],
      // We accept only ASCII local parts, and this tells clients before they send.
      hideSMTPUTF8: true,
      hideDSN: true,
      hideREQUIRETLS: true,
      authRequiredMessage: LOG_IN_FIRST.text,
      size: contentBytesMax,
      maxRecipients: recipientsMax,
      maxClients: CONNECTIONS_MAX,
      maxCommandLength: COMMAND_BYTES_MAX,
      socketTimeout: SILENCE_MS_MAX,
      closeTimeout: CLOSE_MS_MAX,
      ...this.hooks(),
    };
  }

  private hooks(): SMTPServerOptions {
    return {
      onConnect: (session, done) => done(asError(this.begin(session))),
      onSecure: (_socket, session, done) => {
        session.disabledCommands = [...NEVER_COMMANDS];
        done();
      },
      onClose: (session) => this.leave(session.id),
      onAuth: ({ password }, session, done) => {
        void this.logIn(password ?? "", session).then(
          (outcome) => ("code" in outcome ? done(asError(outcome)) : done(null, { user: outcome.user })),
          (error: Error) => this.fail(error, done),
        );
      },
      onMailFrom: (_address, session, done) => {
        void this.refusalOfMail(session).then(
          (reply) => (reply?.isLast ? this.end(session.id, reply) : done(asError(reply))),
          (error: Error) => this.fail(error, done),
        );
      },
      onRcptTo: ({ address }, session, done) => {
        void this.refusalOfRecipient(session, address).then(
          (reply) => done(asError(reply)),
          (error: Error) => this.fail(error, done),
        );
      },
      onData: (content, session, done) => {
        void this.take(content, session).then((reply) => {
          if (reply === null) return;
          if (reply.isLast) this.end(session.id, reply);
          else if (reply.code < 400) done(null, reply.text);
          else done(asError(reply));
        });
      },
    };
  }

  /** Why a connection cannot begin a session; null if it can. */
  private begin(session: SMTPServerSession): SmtpReply | null {
    this.handshakes.begun(session);
    if (this.isStopping) return STOPPING;
    const { tls } = this.options;
    if (tls !== null && !session.secure) session.disabledCommands = [...BEFORE_TLS];
    const group = addressGroup(session.remoteAddress);
    const strangers = [...this.sessions.values()].filter((one) => one.owner === null && one.group === group);
    if (strangers.length >= STRANGERS_PER_CLIENT_MAX) return TOO_MANY;
    this.sessions.set(session.id, { group, owner: null, logInsFailed: 0, isTaking: false });
    this.deadlines.enter(session.id, "logIn");
    return null;
  }

  private async logIn(
    password: string,
    { id, remoteAddress }: SMTPServerSession,
  ): Promise<LoggedIn<User> | SmtpReply> {
    const own = this.sessions.get(id);
    if (own === undefined) return FAILED;
    const handlers = await this.handlers.promise;
    const outcome = await handlers.logIn(password, { address: remoteAddress });
    if ("code" in outcome) {
      own.logInsFailed += 1;
      return own.logInsFailed < LOG_INS_FAILED_MAX ? outcome : { code: 421, text: outcome.text };
    }
    const { owner } = outcome;
    const others = [...this.sessions.values()].filter((one) => one !== own && one.owner === owner);
    if (others.length >= SESSIONS_PER_OWNER_MAX) return TOO_MANY_OF_OWNER;
    own.owner = owner;
    this.deadlines.enter(id, "envelope");
    return outcome;
  }

  private isSecured({ secure }: SMTPServerSession): boolean {
    return this.options.tls === null || secure;
  }

  /** Why a session cannot begin a mail; null if it can. */
  private async refusalOfMail(session: SMTPServerSession): Promise<SmtpReply | null> {
    if (!this.isSecured(session)) return TLS_FIRST;
    if (!session.user) return LOG_IN_FIRST;
    return (await this.handlers.promise).refuseMail(session.user as User);
  }

  /** Why a mail cannot go to this address; null if it can. */
  private async refusalOfRecipient(session: SMTPServerSession, address: string): Promise<SmtpReply | null> {
    if (!this.isSecured(session) || !session.user) return LOG_IN_FIRST;
    return (await this.handlers.promise).refuseRecipient(address);
  }

  /** The reply to a mail; null if the client has left. */
  private async take(
    content: AsyncIterable<Uint8Array>,
    { id, user, envelope }: SMTPServerSession,
  ): Promise<SmtpReply | null> {
    const own = this.sessions.get(id);
    if (own === undefined || !user) return { ...LOG_IN_FIRST, isLast: true };
    own.isTaking = true;
    this.deadlines.enter(id, "content");
    const recipients = envelope.rcptTo.map(({ address }) => address);
    try {
      const handlers = await this.handlers.promise;
      const watched = untilItsEnd(content, () => this.deadlines.leave(id));
      return await handlers.take({ user: user as User, recipients, content: watched });
    } catch (error) {
      if (error instanceof HangUpError) return null;
      this.options.onError(error as Error);
      return { ...FAILED, isLast: true };
    } finally {
      own.isTaking = false;
      if (this.sessions.has(id)) this.deadlines.enter(id, "envelope");
      // During a stop, this mail is the session's last.
      if (this.isStopping) setImmediate(() => this.end(id, STOPPING));
    }
  }

  private end(id: string, reply: SmtpReply): void {
    endSession(this.server, id, reply);
    this.leave(id);
  }

  private leave(id: string): void {
    this.deadlines.leave(id);
    this.sessions.delete(id);
    this.settle();
  }

  private fail(error: Error, done: (error: Error) => void): void {
    this.options.onError(error);
    done(replyError(FAILED));
  }
}

/** The client left before all of its content had arrived. */
class HangUpError extends Error {
  override readonly name = "HangUpError";
}

async function* untilItsEnd(content: AsyncIterable<Uint8Array>, onEnd: () => void) {
  try {
    yield* content;
  } catch (error) {
    throw new HangUpError("the client left before the end of its content", { cause: error });
  }
  onEnd();
}

/** A refusal in the library's form; null stays null. */
function asError(reply: SmtpReply | null): Error | null {
  return reply === null ? null : replyError(reply);
}
