import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createTransport } from "nodemailer";
import { openInboundMailServer } from "../../../src/adapters/smtpServer/inboundMailServer.ts";
import type { InboundMailServer, InboundReply } from "../../../src/ports/mail/inboundMail.ts";
import { certificateAuthority } from "../../support/stores/certificates.ts";
import { until } from "../../support/until.ts";

const ADDRESS = "known@bounce.example";
/** Only Linux has all of 127.0.0.0/8 without setting it up, so that one machine can be several clients. */
const withSeveralClients = test.skipIf(process.platform !== "linux");
const GRACE_MS = 1_000;
const OPTIONS = {
  ...{ host: "127.0.0.1", port: 0, name: "mail.example", onTrouble: () => {} },
  ...{ connectionsMax: 50, connectionsPerClientMax: 10 },
};

interface ReceivedMail {
  readonly recipients: readonly string[];
  readonly text: string;
}

/** A scripted client that waits for each reply. */
class RawClient {
  private text = "";
  isClosed = false;
  constructor(private readonly socket: Socket) {
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      this.text += chunk;
    });
    socket.on("close", () => {
      this.isClosed = true;
    });
    socket.on("error", () => {});
  }

  static async open(port: number): Promise<RawClient> {
    const client = new RawClient(connect(port, "127.0.0.1"));
    await client.reply();
    return client;
  }

  /** The next reply, all of its lines; "" when the connection ended before it. */
  async reply(): Promise<string> {
    const REPLY = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/;
    await until(() => REPLY.test(this.text) || this.isClosed, "a reply");
    const [found = ""] = REPLY.exec(this.text) ?? [];
    this.text = this.text.slice(found.length);
    return found.trim();
  }

  send(text: string): void {
    this.socket.write(text);
  }

  async command(line: string): Promise<string> {
    this.send(`${line}\r\n`);
    return this.reply();
  }

  end(): void {
    this.socket.destroy();
  }
}

describe("the server for returned mail", () => {
  let server: InboundMailServer;
  const received: ReceivedMail[] = [];
  let answer: InboundReply;
  beforeAll(async () => {
    server = await openInboundMailServer(
      { ...OPTIONS, tls: null },
      {
        refusalOf: (address) => (address === ADDRESS ? null : { code: 550, text: "5.1.1 no such address" }),
        async receive(recipients, bytes) {
          received.push({ recipients, text: Buffer.from(bytes).toString("latin1") });
          return answer;
        },
      },
    );
  });
  beforeEach(() => {
    received.length = 0;
    answer = { code: 250, text: "2.0.0 taken" };
  });
  afterAll(() => server.close(GRACE_MS));

  async function openClient(): Promise<RawClient> {
    const client = await RawClient.open(server.port);
    expect(await client.command("EHLO mx.example")).toMatch(/^250-/);
    return client;
  }

  async function enveloped(): Promise<RawClient> {
    const client = await openClient();
    expect(await client.command("MAIL FROM:<>")).toMatch(/^250/);
    expect(await client.command(`RCPT TO:<${ADDRESS}>`)).toMatch(/^250/);
    return client;
  }

  test("accepts a report with a null sender, and answers with its outcome", async () => {
    const client = await enveloped();
    expect(await client.command("DATA")).toMatch(/^354/);
    expect(await client.command("Subject: x\r\n\r\nbody\r\n.")).toBe("250 2.0.0 taken");
    expect(received).toEqual([{ recipients: [ADDRESS], text: "Subject: x\r\n\r\nbody\r\n" }]);
    answer = { code: 451, text: "4.3.0 try again later" };
    await client.command("MAIL FROM:<mailer@mx.example>");
    await client.command(`RCPT TO:<${ADDRESS}>`);
    await client.command("DATA");
    expect(await client.command("Subject: y\r\n\r\n.")).toBe("451 4.3.0 try again later");
    client.end();
  });

  test("tells a client that verifies a sender which addresses exist, and refuses all others", async () => {
    const client = await enveloped();
    expect(await client.command("RCPT TO:<other@bounce.example>")).toBe("550 5.1.1 no such address");
    expect(await client.command(`RCPT TO:<${ADDRESS}.elsewhere.example>`)).toMatch(/^550/);
    expect(await client.command("QUIT")).toMatch(/^221/);
    expect(received).toEqual([]);
  });

  test("offers no log-in, no TLS and nothing beyond mail", async () => {
    const client = await RawClient.open(server.port);
    const extensions = await client.command("EHLO mx.example");
    expect(extensions).not.toMatch(/AUTH|STARTTLS|XCLIENT|XFORWARD/);
    for (const command of ["STARTTLS", "AUTH PLAIN AGEAYg==", "WIZ", "SHELL", "KILL", "VRFY known"])
      expect(await client.command(command)).toMatch(/^5\d\d/);
    client.end();
  });

  test("gives only its own name", async () => {
    const client = new RawClient(connect(server.port, "127.0.0.1"));
    expect(await client.reply()).toBe("220 mail.example ESMTP returned mail only");
    expect((await client.command("EHLO mx.example")).split("\r\n")[0]).toBe("250-mail.example");
    expect(await client.command("HELO mx.example")).toBe("250 mail.example");
    client.end();
  });

  test("ends content only at a dot between CRLFs", async () => {
    const client = await enveloped();
    await client.command("DATA");
    client.send("Subject: x\r\n\r\n\n.\nMAIL FROM:<a@b.example>\r\n\r.\rRCPT TO:<c@d.example>\r\n");
    expect(await client.command("\r\n.")).toMatch(/^250/);
    expect(received).toHaveLength(1);
    expect(received[0]?.text).toContain("MAIL FROM:<a@b.example>");
    client.end();
  });

  test("hands over a large mail up to its bound, and refuses a larger SIZE", async () => {
    const client = await enveloped();
    await client.command("DATA");
    const line = `${"x".repeat(998)}\r\n`;
    client.send(`Subject: x\r\n\r\n${line.repeat(2_000)}`);
    expect(await client.command("\r\n.")).toMatch(/^250/);
    expect(received[0]?.text.length).toBe(256 * 1_024);
    const declared = await openClient();
    expect(await declared.command("MAIL FROM:<> SIZE=99999999")).toMatch(/^552/);
    client.end();
    declared.end();
  });

  test("hands over nothing of a mail whose client leaves before its end", async () => {
    const client = await enveloped();
    await client.command("DATA");
    client.send("Subject: x\r\n\r\nhalf");
    client.end();
    const next = await enveloped();
    await next.command("DATA");
    expect(await next.command("Subject: whole\r\n\r\n.")).toMatch(/^250/);
    expect(received.map(({ text }) => text)).toEqual(["Subject: whole\r\n\r\n"]);
    next.end();
  });

  test("bounds the connections of one client", async () => {
    const clients: RawClient[] = [];
    let refused = 0;
    for (let nth = 0; nth < 11; nth += 1) {
      const client = new RawClient(connect(server.port, "127.0.0.1"));
      clients.push(client);
      if ((await client.reply()).startsWith("421")) refused += 1;
    }
    expect(refused).toBe(1);
    for (const client of clients) client.end();
    await until(() => clients.every(({ isClosed }) => isClosed), "all connections to be closed");
  });

  withSeveralClients("takes another client's mail however many connections one opens at once", async () => {
    // All of them before the server has greeted the first.
    const sockets = Array.from({ length: 100 }, () => connect(server.port, "127.0.0.1"));
    for (const socket of sockets) socket.on("error", () => {});
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    const other = new RawClient(connect({ port: server.port, host: "127.0.0.1", localAddress: "127.0.0.2" }));
    expect(await other.reply()).toStartWith("220 ");
    for (const socket of sockets) socket.destroy();
    other.end();
  });
});

test("a stop ends idle connections at once, and the others once their mail has its reply", async () => {
  const answer = Promise.withResolvers<InboundReply>();
  const server = await openInboundMailServer(
    { ...OPTIONS, tls: null },
    { refusalOf: () => null, receive: () => answer.promise },
  );
  const [idle, busy] = [await RawClient.open(server.port), await RawClient.open(server.port)];
  await busy.command("EHLO mx.example");
  await busy.command("MAIL FROM:<>");
  await busy.command(`RCPT TO:<${ADDRESS}>`);
  expect(await busy.command("DATA")).toStartWith("354");
  busy.send("Subject: returned\r\n\r\n");
  const closed = server.close(600_000);
  expect(await idle.reply()).toStartWith("421 4.3.2");
  busy.send("Hello\r\n.\r\n");
  answer.resolve({ code: 250, text: "2.0.0 taken" });
  expect(await busy.reply()).toStartWith("250 2.0.0");
  expect(await busy.reply()).toStartWith("421 4.3.2");
  await closed;
});

test("with a certificate the server offers STARTTLS, and discards commands sent with it in clear text", async () => {
  const authority = certificateAuthority("test");
  const { certificate, key } = authority.issue("mail.example", ["mail.example"]);
  const received: ReceivedMail[] = [];
  const server = await openInboundMailServer(
    {
      ...OPTIONS,
      tls: { cert: certificate, key },
    },
    {
      refusalOf: () => null,
      async receive(recipients, bytes) {
        received.push({ recipients, text: Buffer.from(bytes).toString("latin1") });
        return { code: 250, text: "2.0.0 taken" };
      },
    },
  );
  const client = createTransport({
    ...{ host: "127.0.0.1", port: server.port, requireTLS: true },
    tls: { servername: "mail.example", ca: [authority.certificate] },
  });
  await client.sendMail({ from: "mailer@mx.example", to: ADDRESS, subject: "returned", text: "Hello" });
  client.close();
  expect(received).toMatchObject([
    { recipients: [ADDRESS], text: expect.stringContaining("Subject: returned") },
  ]);

  const plain = await RawClient.open(server.port);
  expect(await plain.command("EHLO mx.example")).toContain("STARTTLS");
  plain.send("STARTTLS\r\nMAIL FROM:<injected@mx.example>\r\nRCPT TO:<a@b.example>\r\nDATA\r\n");
  expect(await plain.reply()).toMatch(/^220/);
  plain.end();
  expect(received).toHaveLength(1);
  await server.close(GRACE_MS);
});

withSeveralClients("the connections in all and from one client are bounded as the options say", async () => {
  const server = await openInboundMailServer(
    { ...OPTIONS, tls: null, connectionsMax: 3, connectionsPerClientMax: 2 },
    { refusalOf: () => null, receive: async () => ({ code: 250, text: "2.0.0 taken" }) },
  );
  const clients: RawClient[] = [];
  const codeFor = async (localAddress: string) => {
    const client = new RawClient(connect({ port: server.port, host: "127.0.0.1", localAddress }));
    clients.push(client);
    return (await client.reply()).slice(0, 3);
  };
  expect([await codeFor("127.0.0.1"), await codeFor("127.0.0.1")]).toEqual(["220", "220"]);
  // The client's third, and the port's fourth.
  expect(await codeFor("127.0.0.1")).toBe("421");
  expect([await codeFor("127.0.0.2"), await codeFor("127.0.0.3")]).toEqual(["220", "421"]);
  for (const client of clients) client.end();
  await server.close(GRACE_MS);
});
