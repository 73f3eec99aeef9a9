import type { AddressInfo, Socket } from "node:net";
import {
  SMTPServer,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession,
} from "smtp-server";
import { ByteBuffer } from "../../kernel/byteBuffer.ts";
import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import { addressGroup } from "../../kernel/network/clientIp.ts";
import { MINUTE_MS } from "../../kernel/time.ts";
import type { InboundMailHandler, InboundMailServer, InboundReply } from "../../ports/mail/inboundMail.ts";
import { HandshakeConnectionLimit } from "./handshakeConnectionLimit.ts";
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

interface InboundOptions {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
  /** The name in the greeting. */
  readonly name: string;
  /** Null if TLS is not offered. */
  readonly tls: TlsFiles | null;
  readonly renewedTls?: RenewedTlsFiles | undefined;
  /** The most connections at once, in total and per client (an IPv4 address, or a /64 of IPv6). */
  readonly connectionsMax: number;
  readonly connectionsPerClientMax: number;
  readonly onTrouble: (error: Error) => void;
}

/**
 * How many connections without a session a client may have, for each that may have one: more, because the limit of
 * sessions gives a reply.
 */
const HANDSHAKES_PER_CONNECTION = 2;
/** The most recipients of one mail. Reports go to one address. */
const RECIPIENTS_MAX = 10;
/** The largest accepted mail. A report may return the whole message, encoded once more. */
const MAIL_BYTES_MAX = 40 * 1_024 * 1_024;
/** How much of a mail to keep. The report precedes the returned message. */
const KEPT_BYTES_MAX = 256 * 1_024;
/** How long one connection may last. The library ends only silent ones. */
const CONNECTION_MS_MAX = 10 * MINUTE_MS;
const SILENCE_MS_MAX = MINUTE_MS;

const TOO_MANY: InboundReply = { code: 421, text: "4.7.0 too many connections" };
const TOO_MANY_RECIPIENTS: InboundReply = { code: 452, text: "4.5.3 too many recipients" };
const TOO_LARGE: InboundReply = { code: 552, text: "5.3.4 the message is too large" };
const BROKEN: InboundReply = { code: 451, text: "4.3.0 try again later" };

/**
 * Accepts mail over SMTP (RFC 5321) from anybody, for addresses that the handler accepts. No log-in; TLS is optional,
 * because servers that return mail may not have it. Rejects with the system's error if it cannot bind the port.
 */
export async function openInboundMailServer(
  options: InboundOptions,
  handler: InboundMailHandler,
): Promise<InboundMailServer> {
  const sockets = new Set<Socket>();
  const taking: Taking = new Map();
  const server: SMTPServer = new SMTPServer(
    serverOptions(options, handler, { taking, onBegun: (session) => handshakes.begun(session) }),
  );
  const handshakes = new HandshakeConnectionLimit(
    server,
    options.connectionsPerClientMax * HANDSHAKES_PER_CONNECTION,
  );
  if (options.renewedTls !== undefined) applyRenewed(server, options.renewedTls);
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
      const last = [...server.connections].map(async ({ id }) => {
        await taking.get(id);
        endSession(server, id, STOPPING);
      });
      await settleWithin<unknown>(graceMs, Promise.all(last), () => {});
      await settleWithin(Math.min(graceMs, LAST_REPLY_MS_MAX), closed.promise, () => {});
      for (const socket of sockets) socket.destroy();
      await closed.promise;
    },
  };
}

/** The mail that each session is sending, by its id: settles once it has its reply. */
type Taking = Map<string, Promise<void>>;

interface SessionHooks {
  readonly taking: Taking;
  readonly onBegun: (session: SMTPServerSession) => void;
}

function serverOptions(
  { name, tls, connectionsMax, connectionsPerClientMax }: InboundOptions,
  handler: InboundMailHandler,
  { taking, onBegun }: SessionHooks,
): SMTPServerOptions {
  /** The group that each open session's client is counted in, by session id. */
  const groups = new Map<string, string>();
  return {
    ...sharedServerOptions(name, tls),
    banner: "returned mail only",
    // AUTH: nobody logs in. STARTTLS: without a certificate the library would use a publicly known one.
    disabledCommands: ["AUTH", ...(tls === null ? ["STARTTLS"] : []), ...NEVER_COMMANDS, "VRFY", "HELP"],
    authOptional: true,
    size: MAIL_BYTES_MAX,
    maxClients: connectionsMax,
    socketTimeout: SILENCE_MS_MAX,
    onConnect(session, done) {
      onBegun(session);
      const { id, remoteAddress } = session;
      const group = addressGroup(remoteAddress);
      const ofClient = [...groups.values()].filter((one) => one === group);
      if (ofClient.length >= connectionsPerClientMax) return done(replyError(TOO_MANY));
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
    onData(stream, { id, envelope }, done) {
      const recipients = envelope.rcptTo.map(({ address }) => address);
      const taken = take(stream, recipients, handler).then(
        (reply) => (reply.code < 300 ? done(null, reply.text) : done(replyError(reply))),
        // The client has left, so nobody gets this reply.
        () => done(replyError(BROKEN)),
      );
      taking.set(
        id,
        taken.finally(() => taking.delete(id)),
      );
    },
  };
}

/** Reads a mail to its end and passes its start to the handler. Rejects when the client leaves before the end. */
async function take(
  stream: SMTPServerDataStream,
  recipients: readonly string[],
  handler: InboundMailHandler,
): Promise<InboundReply> {
  const kept = new ByteBuffer();
  let keptBytes = 0;
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    const rest = chunk.subarray(0, KEPT_BYTES_MAX - keptBytes);
    if (rest.byteLength === 0) continue;
    kept.add(rest);
    keptBytes += rest.byteLength;
  }
  return bytes > MAIL_BYTES_MAX ? TOO_LARGE : handler.receive(recipients, kept.join());
}
