import type { AddressInfo, Socket } from "node:net";
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from "smtp-server";

/** A reply in place of the sink's own; `drop` destroys the connection without a reply. */
export type SinkAnswer = { readonly code: number; readonly text: string | string[] } | "drop" | undefined;

/** Which connection and which message (both counted from 1) a hook is called for. */
export interface SinkEvent {
  readonly connection: number;
  readonly message: number;
}

export type SinkHook = (event: SinkEvent) => SinkAnswer | Promise<SinkAnswer>;

/** Called before the sink replies. A promise delays the reply; one that never settles simulates a hanging relay. */
export interface SinkHooks {
  readonly mail?: SinkHook;
  readonly rcpt?: SinkHook;
  readonly data?: SinkHook;
  /** The first bytes of the content have arrived. The answer is ignored unless it is `drop`. */
  readonly chunk?: SinkHook;
  /** The final dot has arrived. */
  readonly final?: SinkHook;
}

export interface SinkMessage {
  readonly from: string;
  readonly to: readonly string[];
  /** Parameters of MAIL FROM, such as SMTPUTF8. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The content without dot-stuffing. */
  readonly raw: Buffer;
  readonly secure: boolean;
  readonly user: string | undefined;
  readonly connection: number;
}

/** What the sink has seen. Counters only grow, except `connectionsOpen`. */
export interface SinkRecord {
  /** Messages whose final dot has arrived, whatever the reply. */
  readonly messages: SinkMessage[];
  connections: number;
  connectionsOpen: number;
  connectionsOpenMax: number;
  /** MAIL FROM commands. */
  mails: number;
  /** Contents of which at least one byte has arrived. */
  contents: number;
  resets: number;
  quits: number;
}

export interface Sink {
  readonly port: number;
  readonly record: SinkRecord;
  /** Resolves when `condition` holds. Rechecks it after each event that the sink sees. */
  until(condition: (record: SinkRecord) => boolean): Promise<void>;
  /** Destroys all connections, as a restarting relay does. */
  dropAll(): void;
  close(): Promise<void>;
}

/** The parts of smtp-server's connection that the sink reaches into: it has no hook for DATA itself. */
interface ServedConnection {
  readonly id: string;
  readonly _socket: Socket;
  send(code: number, text: string | string[]): void;
  handler_MAIL: CommandHandler;
  handler_RCPT: CommandHandler;
  handler_DATA: CommandHandler;
  handler_RSET: CommandHandler;
  handler_QUIT: CommandHandler;
}
type CommandHandler = (command: Buffer, next: () => void) => void;
type HandlerName = Extract<keyof ServedConnection, `handler_${string}`>;

const NO_HOOKS: SinkHooks = {};

/** A real SMTP server on a free port of 127.0.0.1 that keeps what it gets. By default without TLS and AUTH. */
export async function startSmtpSink(
  hooks: SinkHooks = NO_HOOKS,
  options: SMTPServerOptions = { disabledCommands: ["AUTH", "STARTTLS"] },
  port = 0,
): Promise<Sink> {
  const record: SinkRecord = {
    messages: [],
    connections: 0,
    connectionsOpen: 0,
    connectionsOpenMax: 0,
    mails: 0,
    contents: 0,
    resets: 0,
    quits: 0,
  };
  const checks = new Set<() => void>();
  const sockets = new Set<Socket>();
  const runChecks = (): void => {
    for (const check of checks) check();
  };
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    hideENHANCEDSTATUSCODES: true,
    closeTimeout: 1,
    ...options,
    onClose: (session) => markClosed(session.id),
    onConnect(session, next) {
      record.connections += 1;
      interceptCommands(connectionOf(server, session.id), record.connections);
      runChecks();
      next();
    },
    onData(stream, session, next) {
      const chunks: Buffer[] = [];
      const connection = connectionOf(server, session.id);
      const event = { connection: numbers.get(session.id) ?? 0, message: record.mails };
      const received = envelopeOf(session);
      // A connection that ends in the middle is not an error of the test.
      stream.on("error", runChecks);
      stream.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        if (chunks.length > 1) return;
        record.contents += 1;
        void answerOf(hooks.chunk, event).then((answer) => {
          if (answer === "drop") connection._socket.destroy();
        });
        runChecks();
      });
      stream.on("end", async () => {
        record.messages.push({ ...received, raw: Buffer.concat(chunks), connection: event.connection });
        runChecks();
        const answer = await answerOf(hooks.final, event);
        if (answer === "drop") connection._socket.destroy();
        else if (answer === undefined) next();
        else next(Object.assign(new Error(String(answer.text)), { responseCode: answer.code }));
      });
    },
  });
  const numbers = new Map<string, number>();
  const closedIds = new Set<string>();

  function markClosed(id: string): void {
    if (closedIds.has(id)) return;
    closedIds.add(id);
    record.connectionsOpen -= 1;
    runChecks();
  }

  function interceptCommands(connection: ServedConnection, number: number): void {
    numbers.set(connection.id, number);
    const intercept = (name: HandlerName, hook: SinkHook | undefined, count: () => void): void => {
      const original = connection[name];
      connection[name] = async (command, next) => {
        count();
        runChecks();
        const answer = await answerOf(hook, { connection: number, message: record.mails });
        if (answer === "drop") {
          connection._socket.destroy();
        } else if (answer === undefined) {
          original.call(connection, command, next);
        } else {
          connection.send(answer.code, answer.text);
          next();
        }
      };
    };
    const noCount = (): void => undefined;
    intercept("handler_MAIL", hooks.mail, () => {
      record.mails += 1;
    });
    intercept("handler_RCPT", hooks.rcpt, noCount);
    intercept("handler_DATA", hooks.data, noCount);
    intercept("handler_RSET", undefined, () => {
      record.resets += 1;
    });
    intercept("handler_QUIT", undefined, () => {
      record.quits += 1;
      // After QUIT a connection costs a relay nothing, whenever its socket closes.
      markClosed(connection.id);
    });
  }

  server.on("error", runChecks);
  server.server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    record.connectionsOpen += 1;
    record.connectionsOpenMax = Math.max(record.connectionsOpenMax, record.connectionsOpen);
    runChecks();
  });
  await new Promise<void>((resolve) => {
    server.listen(port, "127.0.0.1", resolve);
  });

  return {
    port: (server.server.address() as AddressInfo).port,
    record,
    until(condition) {
      return new Promise((resolve) => {
        const check = (): void => {
          if (!condition(record)) return;
          checks.delete(check);
          resolve();
        };
        checks.add(check);
        check();
      });
    },
    dropAll() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      await new Promise<void>((resolve) => {
        server.close(resolve);
        for (const socket of sockets) socket.destroy();
      });
    },
  };
}

async function answerOf(hook: SinkHook | undefined, event: SinkEvent): Promise<SinkAnswer> {
  return hook?.(event);
}

function envelopeOf({ envelope, secure, user }: SMTPServerSession): Omit<SinkMessage, "raw" | "connection"> {
  const { mailFrom, rcptTo } = envelope;
  return {
    from: mailFrom ? mailFrom.address : "",
    to: rcptTo.map(({ address }) => address),
    parameters: { ...(mailFrom ? mailFrom.args : undefined) },
    secure: Boolean(secure),
    user: typeof user === "string" ? user : undefined,
  };
}

function connectionOf(server: SMTPServer, id: string): ServedConnection {
  for (const connection of server.connections as unknown as Set<ServedConnection>) {
    if (connection.id === id) return connection;
  }
  throw new Error("smtp-server does not know the connection");
}
