import type { AddressInfo, Socket } from "node:net";
import {
  SMTPServer,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession,
} from "smtp-server";
import { addressGroup } from "../../kernel/network/clientIp.ts";
import { MINUTE_MS } from "../../kernel/time.ts";
import type { InboundMailHandler, InboundMailServer, InboundReply } from "../../ports/mail/inboundMail.ts";
import {
  introduction,
  listen,
  NEVER_COMMANDS,
  replyError,
  type TlsFiles,
  tlsOptions,
} from "./sharedServerOptions.ts";
import { UnbegunConnections } from "./unbegunConnections.ts";

interface InboundOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** What the greeting says that we are. */
  readonly name: string;
  /** Null: TLS is not offered. */
  readonly tls: TlsFiles | null;
  readonly onTrouble: (error: Error) => void;
}

/** Connections at once, and of one client: servers that return mail open few. */
const CONNECTIONS_MAX = 50;
const CONNECTIONS_PER_CLIENT_MAX = 10;
/** Of one client so many that are no session yet: more than those, because these get a reply. */
const UNBEGUN_PER_CLIENT_MAX = 20;
/** Of one mail. Reports go to one address. */
const RECIPIENTS_MAX = 10;
/** The largest mail that is accepted: a report may return the whole message, encoded once more. */
const MAIL_BYTES_MAX = 40 * 1_024 * 1_024;
/** What is kept of it: the report comes before what it returns. */
const KEPT_BYTES_MAX = 256 * 1_024;
/** How long one connection may last in all: the library ends only those that are silent. */
const CONNECTION_MS_MAX = 10 * MINUTE_MS;
const SILENCE_MS_MAX = MINUTE_MS;

const TOO_MANY: InboundReply = { code: 421, text: "4.7.0 too many connections" };
const TOO_MANY_RECIPIENTS: InboundReply = { code: 452, text: "4.5.3 too many recipients" };
const TOO_LARGE: InboundReply = { code: 552, text: "5.3.4 the message is too large" };
const BROKEN: InboundReply = { code: 451, text: "4.3.0 try again later" };

/**
 * Accepts mail over SMTP (RFC 5321) from anybody, for the addresses that the handler names. No log-in; TLS is optional,
 * since servers that return mail cannot be asked for more. Rejects with the system's error when the port cannot be had.
 */
export async function openInboundMailServer(
  options: InboundOptions,
  handler: InboundMailHandler,
): Promise<InboundMailServer> {
  const sockets = new Set<Socket>();
  const server: SMTPServer = new SMTPServer(
    serverOptions(options, handler, (session) => unbegun.begun(session)),
  );
  const unbegun = new UnbegunConnections(server, UNBEGUN_PER_CLIENT_MAX);
  server.on("error", options.onTrouble);
  server.server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    const timer = setTimeout(() => socket.destroy(), CONNECTION_MS_MAX);
    socket.on("close", () => {
      clearTimeout(timer);
      sockets.delete(socket);
    });
  });
  await listen(server, options);
  return {
    port: (server.server.address() as AddressInfo).port,
    async close(graceMs) {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      const timer = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, graceMs);
      await closed.promise;
      clearTimeout(timer);
    },
  };
}

function serverOptions(
  { name, tls }: InboundOptions,
  handler: InboundMailHandler,
  onBegun: (session: SMTPServerSession) => void,
): SMTPServerOptions {
  /** The clients of the sessions that are open, by the group that each is counted in. */
  const groups = new Map<string, string>();
  return {
    ...introduction(name),
    ...(tls === null ? {} : tlsOptions(tls)),
    banner: "returned mail only",
    // AUTH: there is nobody to log in. STARTTLS: without a certificate the library uses one that everybody knows.
    disabledCommands: ["AUTH", ...(tls === null ? ["STARTTLS"] : []), ...NEVER_COMMANDS, "VRFY", "HELP"],
    authOptional: true,
    disableReverseLookup: true,
    // The library's codes would come before ours.
    hideENHANCEDSTATUSCODES: true,
    size: MAIL_BYTES_MAX,
    maxClients: CONNECTIONS_MAX,
    socketTimeout: SILENCE_MS_MAX,
    logger: false,
    onConnect(session, done) {
      onBegun(session);
      const { id, remoteAddress } = session;
      const group = addressGroup(remoteAddress);
      const ofClient = [...groups.values()].filter((one) => one === group);
      if (ofClient.length >= CONNECTIONS_PER_CLIENT_MAX) return done(replyError(TOO_MANY));
      groups.set(id, group);
      done();
    },
    onClose: ({ id }) => {
      groups.delete(id);
    },
    onRcptTo({ address }, { envelope }, done) {
      const refused =
        handler.refusalOf(address) ?? (envelope.rcptTo.length >= RECIPIENTS_MAX ? TOO_MANY_RECIPIENTS : null);
      done(refused === null ? null : replyError(refused));
    },
    onData(stream, { envelope }, done) {
      const recipients = envelope.rcptTo.map(({ address }) => address);
      take(stream, recipients, handler).then(
        (reply) => (reply.code < 300 ? done(null, reply.text) : done(replyError(reply))),
        // The client has gone: nobody hears an answer.
        () => done(replyError(BROKEN)),
      );
    },
  };
}

/** Reads a mail to its end and hands over the beginning of it. Rejects when the client leaves before the end. */
async function take(
  stream: SMTPServerDataStream,
  recipients: readonly string[],
  handler: InboundMailHandler,
): Promise<InboundReply> {
  const kept: Uint8Array[] = [];
  let keptBytes = 0;
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    const rest = chunk.subarray(0, KEPT_BYTES_MAX - keptBytes);
    if (rest.byteLength === 0) continue;
    kept.push(rest);
    keptBytes += rest.byteLength;
  }
  return bytes > MAIL_BYTES_MAX ? TOO_LARGE : handler.receive(recipients, Buffer.concat(kept));
}
