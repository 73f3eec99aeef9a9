import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import { smtpClient } from "../support/mail/smtpClient.ts";
import { type Authority, type Certificate, certificateAuthority } from "../support/stores/certificates.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { SENDER, startService, type Tenant, type TestService } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const NAME = "mail.example";
const authority = certificateAuthority("test");

async function certificateFiles(
  directory: string,
  { certificate, key }: Certificate,
): Promise<Record<string, string>> {
  const [certPath, keyPath] = [join(directory, "cert.pem"), join(directory, "key.pem")];
  await Bun.write(certPath, certificate);
  await Bun.write(keyPath, key);
  return { SUBMISSION_TLS_CERT_FILE: certPath, SUBMISSION_TLS_KEY_FILE: keyPath };
}

describe.each([false, true])("with a certificate, TLS from the beginning: %p", (isImplicit) => {
  const directory = temporaryFolder();
  let service: TestService;
  let tenant: Tenant;
  let port: number;
  beforeAll(async () => {
    const files = await certificateFiles(directory, authority.issue(NAME, [NAME]));
    const mode = isImplicit ? { SUBMISSION_TLS: "implicit" } : {};
    service = await startService(sqliteStore, { SUBMISSION_PORT: "0", ...files, ...mode });
    port = service.app.app.submission?.port ?? 0;
    tenant = await service.tenant();
  });
  afterAll(async () => {
    await service.remove();
  });

  test("nodemailer sends, and trusts the certificate", async () => {
    const client = createTransport({
      host: "127.0.0.1",
      port,
      secure: isImplicit,
      requireTLS: true,
      auth: { user: "any", pass: tenant.apiKey },
      tls: { servername: NAME, ca: [authority.certificate] },
    });
    const sent = await client.sendMail({
      from: SENDER,
      to: "ana@example.com",
      subject: "TLS",
      text: "Hello",
    });
    client.close();
    expect(sent.response).toStartWith("250 2.6.0 accepted as ");
  });

  test.if(!isImplicit)("nothing but TLS is taken before TLS", async () => {
    const client = await smtpClient(port);
    const offered = await client.command("EHLO client.example");
    expect(offered).toContain("STARTTLS");
    expect(offered).not.toContain("AUTH");
    const auth = Buffer.from(`\0any\0${tenant.apiKey}`).toString("base64");
    expect(await client.command(`AUTH PLAIN ${auth}`)).toStartWith("500 ");
    expect(await client.command("MAIL FROM:<a@example.com>")).toStartWith("530 5.7.0 ");
    expect(await client.command("RCPT TO:<ana@example.com>")).toStartWith("503 ");
    expect(await client.command("DATA")).toStartWith("503 ");
    client.destroy();
  });

  test.if(!isImplicit)("what came in clear text before the handshake is forgotten", async () => {
    const client = await smtpClient(port);
    await client.command("EHLO client.example");
    const auth = Buffer.from(`\0any\0${tenant.apiKey}`).toString("base64");
    client.write(`STARTTLS\r\nEHLO hidden.example\r\nAUTH PLAIN ${auth}\r\nMAIL FROM:<a@example.com>\r\n`);
    expect(await client.reply()).toStartWith("220 ");
    await client.startTls();
    expect(await client.command("MAIL FROM:<a@example.com>")).toStartWith("503 ");
    expect(await client.command("EHLO client.example")).toContain("AUTH PLAIN LOGIN");
    expect(await client.command("MAIL FROM:<a@example.com>")).toStartWith("530 ");
    client.destroy();
  });

  test.if(isImplicit)("one client may have many sessions that are logged in", async () => {
    const open: Awaited<ReturnType<typeof smtpClient>>[] = [];
    // More than it may open without a word; not more at once than it may have without a log-in.
    for (let batches = 0; batches < 6; batches += 1) {
      const clients = await Promise.all(Array.from({ length: 10 }, () => smtpClient(port, true)));
      const replies = await Promise.all(clients.map((client) => client.logIn(tenant.apiKey)));
      for (const reply of replies) expect(reply).toStartWith("235 ");
      open.push(...clients);
    }
    for (const client of open) client.destroy();
  });

  test.if(isImplicit)("there is no greeting in clear text", async () => {
    const client = await smtpClient(port, true);
    expect(await client.logIn(tenant.apiKey)).toStartWith("235 ");
    expect(await client.command("STARTTLS")).toMatch(/^50[03] /);
    client.destroy();
  });

  // Only Linux has 127.0.0.2 without setting it up.
  const withTwoClients = test.skipIf(process.platform !== "linux");

  withTwoClients(
    "one client that opens connections and says nothing leaves room for the others",
    async () => {
      // More than the port takes at once.
      const silent = Array.from({ length: 700 }, () => connect({ host: "127.0.0.1", port }));
      for (const socket of silent) socket.on("error", () => {});
      await Promise.all(silent.map((socket) => once(socket, "connect")));
      const otherTransport = createTransport({
        host: "127.0.0.1",
        port,
        localAddress: "127.0.0.2",
        secure: isImplicit,
        requireTLS: true,
        auth: { user: "any", pass: tenant.apiKey },
        tls: { servername: NAME, ca: [authority.certificate] },
      });
      const sent = await otherTransport.sendMail({
        from: SENDER,
        to: "bo@example.com",
        subject: "Room",
        text: "Hello",
      });
      otherTransport.close();
      for (const socket of silent) socket.destroy();
      expect(sent.response).toStartWith("250 2.6.0 accepted as ");
    },
  );

  test("a renewed certificate is what new connections get; open ones go on", async () => {
    const other = certificateAuthority("other");
    const isTrusted = async ({ certificate: ca }: Authority) => {
      const tls = { servername: NAME, ca: [ca] };
      const client = createTransport({ host: "127.0.0.1", port, secure: isImplicit, requireTLS: true, tls });
      return client.verify().catch(() => false);
    };
    // The connections of the test before may still be counted.
    await until(() => isTrusted(authority), "room for a connection");
    expect(await isTrusted(other)).toBe(false);
    const open = await smtpClient(port, isImplicit);
    await open.command("EHLO client.example");
    await certificateFiles(directory, other.issue(NAME, [NAME]));
    await until(() => isTrusted(other), "the renewed certificate");
    expect(await isTrusted(authority)).toBe(false);
    expect(await open.command("NOOP")).toStartWith("250 ");
    open.destroy();
  });
});
