import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { smtpClient } from "../support/mail/smtpClient.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { SENDER, startService, type Tenant, type TestService } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const HEADER = `From: ${SENDER}\r\nTo: ana@example.com\r\nSubject: Hello\r\n\r\n`;
const ENVELOPE = "MAIL FROM:<a@example.com>\r\nRCPT TO:<ana@example.com>\r\nDATA\r\n";

describe("sessions over raw sockets", () => {
  let service: TestService;
  let tenant: Tenant;
  let port: number;
  beforeAll(async () => {
    service = await startService(sqliteStore, { SUBMISSION_PORT: "0" });
    port = service.app.app.submission?.port ?? 0;
    tenant = await service.tenant();
  });
  afterAll(() => service.remove());

  const loggedIn = async () => {
    const client = await smtpClient(port);
    expect(await client.logIn(tenant.apiKey)).toStartWith("235 ");
    return client;
  };
  const subjects = async (own: Tenant) => {
    const page = await own.call("GET", "/api/v1/emails?limit=100");
    return (page.json.data as { subject: string }[]).map(({ subject }) => subject);
  };

  test("no mail without a log-in", async () => {
    const client = await smtpClient(port);
    const offered = await client.command("EHLO client.example");
    expect(offered).toContain("AUTH PLAIN LOGIN");
    expect(offered).not.toContain("STARTTLS");
    expect(offered).toContain("SIZE 16000000");
    expect(await client.command("MAIL FROM:<a@example.com>")).toStartWith("530 5.7.0 ");
    expect(await client.command("RCPT TO:<ana@example.com>")).toStartWith("530 5.7.0 ");
    expect(await client.command("DATA")).toStartWith("530 5.7.0 ");
    client.destroy();
  });

  test.each(["WIZ x", "SHELL", "KILL", "XCLIENT ADDR=192.0.2.1", "XFORWARD ADDR=192.0.2.1", "BDAT 5"])(
    "%s is not known",
    async (command) => {
      const client = await loggedIn();
      expect(await client.command(command)).toStartWith("500 ");
      client.destroy();
    },
  );

  test("commands may come before the replies to earlier ones (RFC 2920)", async () => {
    const own = await service.tenant();
    const client = await smtpClient(port);
    const auth = Buffer.from(`\0any\0${own.apiKey}`).toString("base64");
    client.write(`EHLO client.example\r\nAUTH PLAIN ${auth}\r\n${ENVELOPE}`);
    for (const code of ["250", "235", "250", "250", "354"]) expect(await client.reply()).toStartWith(code);
    client.write(`${HEADER}One\r\n.\r\n${ENVELOPE}`);
    for (const code of ["250 2.6.0", "250", "250", "354"]) expect(await client.reply()).toStartWith(code);
    client.write(`${HEADER.replace("Hello", "Again")}Two\r\n.\r\nQUIT\r\n`);
    for (const code of ["250 2.6.0", "221"]) expect(await client.reply()).toStartWith(code);
    await until(async () => (await subjects(own)).length === 2, "two messages in the list");
    expect((await subjects(own)).sort()).toEqual(["Again", "Hello"]);
  });

  describe("a second mail cannot be hidden in the first:", () => {
    const ENDS = ["\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r\n.\r", "\r.\r\n", "\n.\r", "\r\n\0.\r\n"];
    test.each(ENDS.map((end) => [JSON.stringify(end), end] as const))("%s ends nothing", async (_, end) => {
      const own = await service.tenant();
      const client = await smtpClient(port);
      await client.logIn(own.apiKey);
      client.write(ENVELOPE);
      for (const code of ["250", "250", "354"]) expect(await client.reply()).toStartWith(code);
      const hidden = `${ENVELOPE}${HEADER.replace("Hello", "Hidden")}Two`;
      client.write(`${HEADER}One${end}${hidden}\r\n.\r\n`);
      expect(await client.reply()).toMatch(/^554 5\.6\.0 .*CR or LF alone/);
      expect(await client.command("NOOP")).toStartWith("250");
      client.destroy();
      expect((await own.call("GET", "/api/v1/emails")).json.data).toEqual([]);
    });

    test("the end of content is found wherever its bytes are split", async () => {
      const content = `${HEADER}..one dot, and a line with one:\r\n..\r\n.\r\n`;
      for (let at = 1; at <= 12; at += 1) {
        const client = await loggedIn();
        client.write(ENVELOPE);
        for (const code of ["250", "250", "354"]) expect(await client.reply()).toStartWith(code);
        client.write(content.slice(0, -at));
        await new Promise((resolve) => setImmediate(resolve));
        client.write(content.slice(-at));
        const id = (await client.reply()).split(" ").at(-1);
        const { text } = (await tenant.call("GET", `/api/v1/emails/${id}`)).json;
        expect({ at, text: text.trimEnd() }).toEqual({ at, text: ".one dot, and a line with one:\n." });
        client.destroy();
      }
    });
  });

  test.each([
    ["an LF alone", "one\ntwo\r\n"],
    ["a CR alone", "one\rtwo\r\n"],
    ["a CR at the end", "one\r\r\n"],
    ["a NUL", "one\0two\r\n"],
  ])("%s in the content is refused", async (_, text) => {
    const client = await loggedIn();
    expect(await client.send(["ana@example.com"], HEADER + text)).toStartWith("554 5.6.0 ");
    client.destroy();
  });

  test("a mail over the size limit is refused, before its content if its size is announced", async () => {
    const client = await loggedIn();
    expect(await client.command("MAIL FROM:<a@example.com> SIZE=16000001")).toStartWith("552 ");
    const line = `${"x".repeat(998)}\r\n`;
    const reply = await client.send(["ana@example.com"], HEADER + line.repeat(16_100));
    expect(reply).toMatch(/^552 5\.3\.4 .*PAYLOAD_TOO_LARGE/);
    expect(await client.command("NOOP")).toStartWith("250");
    client.destroy();
  });

  test("a client that leaves in the middle of its mail leaves nothing behind", async () => {
    const own = await service.tenant();
    const client = await smtpClient(port);
    await client.logIn(own.apiKey);
    client.write(`${ENVELOPE}${HEADER}Half a`);
    for (const code of ["250", "250", "354"]) expect(await client.reply()).toStartWith(code);
    client.destroy();
    await until(() => service.app.app.inFlight().requests === 0, "nothing to be in flight");
    expect((await own.call("GET", "/api/v1/emails")).json.data).toEqual([]);
  });

  test("one workspace cannot take the connections of the others", async () => {
    const [greedy, other] = [await service.tenant(), await service.tenant()];
    const clients: Awaited<ReturnType<typeof smtpClient>>[] = [];
    const open = async (sender: Tenant) => {
      const client = await smtpClient(port);
      clients.push(client);
      return client.logIn(sender.apiKey);
    };
    for (let opened = 0; opened < 100; opened += 20) {
      const replies = await Promise.all(Array.from({ length: 20 }, () => open(greedy)));
      expect(replies.every((reply) => reply.startsWith("235 "))).toBe(true);
    }
    expect(await open(greedy)).toStartWith("421 4.7.0 too many connections of this workspace");
    expect(await open(other)).toStartWith("235 ");
    // Whoever leaves makes room.
    clients[0]?.destroy();
    await until(async () => (await open(greedy)).startsWith("235 "), "room for another connection");
    for (const client of clients) client.destroy();
  });

  test("one client cannot open many connections without a log-in", async () => {
    const clients = await Promise.all(Array.from({ length: 25 }, () => smtpClient(port)));
    const replies = await Promise.all(clients.map((client) => client.command("NOOP")));
    expect(replies.filter((reply) => reply.startsWith("250"))).toHaveLength(20);
    for (const client of clients) client.destroy();
    // Whoever leaves makes room.
    await until(async () => {
      const next = await smtpClient(port);
      const reply = await next.command("NOOP");
      next.destroy();
      return reply.startsWith("250");
    }, "room for another connection");
  });
});
