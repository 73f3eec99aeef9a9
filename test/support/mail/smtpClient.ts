import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { until } from "../until.ts";

/** An SMTP client that sends exactly the bytes it is given. */
export interface SmtpClient {
  /** The next reply, its lines joined by LF; "" once the connection has ended. */
  reply(): Promise<string>;
  /** Sends a line and returns the reply. */
  command(line: string): Promise<string>;
  /** Sends bytes as they are. */
  write(bytes: string | Uint8Array): void;
  /** Upgrades to TLS and accepts any certificate. */
  startTls(): Promise<void>;
  /** EHLO and AUTH PLAIN; the reply to the latter. */
  logIn(password: string): Promise<string>;
  /** MAIL, RCPT for each recipient, DATA, the content and its end; the last reply. */
  send(recipients: readonly string[], content: string): Promise<string>;
  /** Whether the server has closed the connection. */
  isClosed(): boolean;
  /** Drops the connection without QUIT. */
  destroy(): void;
}

/** A whole reply: lines with a hyphen after the code, then one without. */
const REPLY = /^(?:\d{3}-[^\n]*\n)*\d{3}(?: [^\n]*)?\n/;

/** Opens a connection and reads the greeting. `isTls`: implicit TLS. */
export async function smtpClient(port: number, isTls = false): Promise<SmtpClient> {
  let received = "";
  let isClosed = false;
  const listen = (to: Socket) => {
    to.on("data", (bytes: Buffer) => {
      received += bytes.toString("latin1").replaceAll("\r\n", "\n");
    });
    to.on("error", () => {});
    to.on("close", () => {
      isClosed = true;
    });
    to.on("end", () => {
      isClosed = true;
    });
  };
  const options = { port, host: "127.0.0.1" };
  let socket: Socket = isTls ? connectTls({ ...options, rejectUnauthorized: false }) : connect(options);
  listen(socket);
  const client: SmtpClient = {
    async reply() {
      await until(() => REPLY.test(received) || isClosed, "a reply");
      const [reply = ""] = REPLY.exec(received) ?? [];
      received = received.slice(reply.length);
      return reply.trimEnd();
    },
    command(line) {
      client.write(`${line}\r\n`);
      return client.reply();
    },
    write: (bytes) => void socket.write(bytes),
    async startTls() {
      const plain = socket;
      plain.removeAllListeners("data");
      socket = connectTls({ socket: plain, rejectUnauthorized: false });
      listen(socket);
      await new Promise((resolve) => socket.once("secureConnect", resolve));
    },
    async logIn(password) {
      await client.command("EHLO client.example");
      return client.command(`AUTH PLAIN ${Buffer.from(`\0any\0${password}`).toString("base64")}`);
    },
    async send(recipients, content) {
      await client.command("MAIL FROM:<anybody@example.com>");
      for (const recipient of recipients) await client.command(`RCPT TO:<${recipient}>`);
      await client.command("DATA");
      client.write(content);
      return client.command(content.endsWith("\r\n") ? "." : "\r\n.");
    },
    isClosed: () => isClosed,
    destroy: () => void socket.destroy(),
  };
  await client.reply();
  return client;
}
