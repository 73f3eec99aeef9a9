import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { type AddressInfo, createServer } from "node:net";
import { createTransport } from "nodemailer";
import { SAMPLE_FILES } from "../support/files/sampleFiles.ts";
import { lastAcceptedMs } from "../support/lastAcceptedMs.ts";
import { setLimits } from "../support/limits.ts";
import { smtpClient } from "../support/mail/smtpClient.ts";
import { testStores } from "../support/stores/stores.ts";
import { newKey, SENDER, startService, type Tenant, type TestService } from "../support/tenants.ts";
import { until } from "../support/until.ts";

/** A mail as simple programs write it. */
function mail(fields: Readonly<Record<string, string>> = {}, text = "It works."): string {
  const header = { From: SENDER, To: "ana@example.com", Subject: "Hello", ...fields };
  const lines = Object.entries(header).map(([name, value]) => `${name}: ${value}`);
  return `${lines.join("\r\n")}\r\n\r\n${text}\r\n`;
}

/** The id in a reply of 250. */
function idFromReply(reply: string): string {
  const [, id = ""] = /^250 2\.6\.0 accepted as (\S+)$/.exec(reply) ?? [];
  expect({ reply, hasId: id !== "" }).toEqual({ reply, hasId: true });
  return id;
}

describe.each(await testStores())("submission over SMTP on $name", (store) => {
  let service: TestService;
  let tenant: Tenant;
  let port: number;
  beforeAll(async () => {
    service = await startService(store, { SUBMISSION_PORT: "0" });
    port = service.app.app.submission?.port ?? 0;
    tenant = await service.tenant();
  });
  afterAll(() => service.remove());

  const read = async (id: string, caller = tenant) => (await caller.call("GET", `/api/v1/emails/${id}`)).json;
  const idsOf = async (caller: Tenant) => {
    const page = await caller.call("GET", "/api/v1/emails?limit=100");
    return (page.json.data as { id: string; to: string }[]).map(({ id }) => id);
  };
  const loggedIn = async (key = tenant.apiKey) => {
    const client = await smtpClient(port);
    expect(await client.logIn(key)).toStartWith("235 ");
    return client;
  };
  const replyTo = async (content: string, recipients = ["ana@example.com"], key = tenant.apiKey) => {
    const client = await loggedIn(key);
    const reply = await client.send(recipients, content);
    client.destroy();
    return reply;
  };
  const transport = (key = tenant.apiKey) =>
    createTransport({ host: "127.0.0.1", port, secure: false, auth: { user: "any", pass: key } });

  describe("what nodemailer sends", () => {
    test("arrives with its text, html and attachments", async () => {
      const [, type, bytes] = SAMPLE_FILES.find(([extension]) => extension === "pdf") ?? [];
      if (type === undefined || bytes === undefined) throw new Error("no such sample");
      const client = transport();
      const { response } = await client.sendMail({
        from: SENDER,
        to: "Ana <ana@example.com>",
        replyTo: "support@example.com",
        subject: "Grüße — 你好",
        text: "Zwölf Boxkämpfer\n.\nand a line with a dot",
        html: "<p>Zwölf <b>Boxkämpfer</b></p>",
        attachments: [
          { filename: "Rechnung März.pdf", content: bytes },
          { filename: "note.txt", content: "Danke schön" },
        ],
      });
      client.close();
      expect(await read(idFromReply(response))).toMatchObject({
        from: SENDER,
        to: "ana@example.com",
        reply_to: "support@example.com",
        subject: "Grüße — 你好",
        text: expect.stringContaining("Zwölf Boxkämpfer\n.\nand a line with a dot"),
        html: expect.stringContaining("<p>Zwölf <b>Boxkämpfer</b></p>"),
        attachments: [
          { filename: "Rechnung März.pdf", content_type: type, size_bytes: bytes.byteLength },
          { filename: "note.txt", content_type: "text/plain", size_bytes: 12 },
        ],
      });
    });

    test("becomes one message for each recipient of the envelope, and nobody sees the others", async () => {
      const own = await service.tenant();
      const client = transport(own.apiKey);
      const { response } = await client.sendMail({
        from: SENDER,
        to: "ana@example.com",
        cc: "bob@example.com",
        bcc: "eve@example.com",
        subject: "To three",
        text: "Hello",
      });
      client.close();
      expect(response).toMatch(/^250 2\.6\.0 accepted 3 messages, the first as /);
      await until(async () => (await idsOf(own)).length === 3, "three messages in the list");
      const messages = await Promise.all((await idsOf(own)).map((id) => read(id, own)));
      expect(messages.map(({ to }) => to).sort()).toEqual([
        "ana@example.com",
        "bob@example.com",
        "eve@example.com",
      ]);
      for (const { message_id: _, ...message } of messages)
        expect(JSON.stringify(message).match(/@example\.com/g)).toHaveLength(2);
    });

    test("arrives when it comes with a large attachment, and others go on meanwhile", async () => {
      const [, , pixel] = SAMPLE_FILES.find(([extension]) => extension === "png") ?? [];
      const content = Buffer.concat([pixel ?? Buffer.alloc(0), Buffer.alloc(4_500_000, 1)]);
      const client = transport();
      const large = client.sendMail({
        from: SENDER,
        to: "ana@example.com",
        subject: "Large",
        text: "See the picture.",
        attachments: [
          { filename: "one.png", content },
          { filename: "two.png", content },
        ],
      });
      const { response } = await large;
      client.close();
      expect((await read(idFromReply(response))).attachments).toEqual([
        { filename: "one.png", content_type: "image/png", size_bytes: content.byteLength, expired: false },
        { filename: "two.png", content_type: "image/png", size_bytes: content.byteLength, expired: false },
      ]);
    });
  });

  test("a mail of attachments alone arrives, with an empty text", async () => {
    const client = transport();
    const attachments = [{ filename: "note.txt", content: "Hello" }];
    const { response } = await client.sendMail({
      from: SENDER,
      to: "a@example.com",
      subject: "x",
      attachments,
    });
    client.close();
    expect(await read(idFromReply(response))).toMatchObject({
      text: "\n",
      attachments: [{ filename: "note.txt" }],
    });
  });

  test("names and headers arrive with the mail, and headers meant for others do not", async () => {
    const client = transport();
    const { response } = await client.sendMail({
      from: { name: "Bücher & Söhne", address: SENDER },
      to: [{ name: "Doe, Ana", address: "Ana@Example.com" }],
      replyTo: { name: "Hilfe", address: "help@example.com" },
      subject: "Named",
      text: "Hello",
      inReplyTo: "<1@client.example>",
      references: ["<0@client.example>", "<1@client.example>"],
      list: { unsubscribe: "https://example.com/u?id=1" },
      headers: {
        "X-Order": "4711",
        "X-Long": "ein sehr langer Wert mit Umlauten äöü ".repeat(5).trim(),
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "X-PM-Message-Stream": "outbound",
        "X-SMTPAPI": '{"to":["eve@example.com"]}',
        Sender: "other@example.com",
        "X-Postledger-Id": "forged",
      },
    });
    client.close();
    const { to, from_name, to_name, reply_to_name, headers } = await read(idFromReply(response));
    expect({ to, from_name, to_name, reply_to_name }).toEqual({
      to: "Ana@example.com",
      from_name: "Bücher & Söhne",
      to_name: "Doe, Ana",
      reply_to_name: "Hilfe",
    });
    expect(headers).toEqual({
      "In-Reply-To": "<1@client.example>",
      References: "<0@client.example> <1@client.example>",
      "List-Unsubscribe": "<https://example.com/u?id=1>",
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
      "X-Order": "4711",
      "X-Long": "ein sehr langer Wert mit Umlauten äöü ".repeat(5).trim(),
    });
  });

  test("a mail in the shape of PHPMailer arrives with its parts", async () => {
    const lines = [
      "Date: Sun, 22 Nov 2026 08:00:00 +0000",
      "To: =?utf-8?Q?Ana_Gr=C3=B6=C3=9Fe?= <ana@example.com>",
      `From: "Shop, Inc." <${SENDER}>`,
      "Reply-To: Help <help@example.com>",
      "Subject: =?utf-8?Q?Ihre_Bestellung_=E2=80=93_4711?=",
      "Message-ID: <q3dN5WbJ2hHc7oE@shop.example>",
      "X-Mailer: PHPMailer 6.9.1 (https://github.com/PHPMailer/PHPMailer)",
      "MIME-Version: 1.0",
      "Content-Type: multipart/mixed;",
      ' boundary="b1=_q3dN5WbJ2hHc7oE"',
      "Content-Transfer-Encoding: 8bit",
      "",
      "--b1=_q3dN5WbJ2hHc7oE",
      "Content-Type: multipart/alternative;",
      ' boundary="b2=_q3dN5WbJ2hHc7oE"',
      "",
      "--b2=_q3dN5WbJ2hHc7oE",
      "Content-Type: text/plain; charset=utf-8",
      "Content-Transfer-Encoding: 8bit",
      "",
      "Schöne Grüße",
      "",
      "",
      "--b2=_q3dN5WbJ2hHc7oE",
      "Content-Type: text/html; charset=utf-8",
      "Content-Transfer-Encoding: 8bit",
      "",
      "<b>Schöne</b> Grüße",
      "",
      "",
      "--b2=_q3dN5WbJ2hHc7oE--",
      "",
      "--b1=_q3dN5WbJ2hHc7oE",
      'Content-Type: application/octet-stream; name="preise.csv"',
      "Content-Transfer-Encoding: base64",
      "Content-Disposition: attachment; filename=preise.csv",
      "",
      Buffer.from("a;b\n1;2\n").toString("base64"),
      "",
      "",
      "--b1=_q3dN5WbJ2hHc7oE--",
      "",
    ];
    const client = await loggedIn();
    for (const line of ["MAIL FROM:<a@example.com> BODY=8BITMIME", "RCPT TO:<ana@example.com>", "DATA"])
      expect(await client.command(line)).toMatch(/^(250|354)/);
    client.write(Buffer.from(lines.join("\r\n")));
    expect(await read(idFromReply(await client.command(".")))).toMatchObject({
      from_name: "Shop, Inc.",
      to_name: "Ana Größe",
      reply_to: "help@example.com",
      subject: "Ihre Bestellung – 4711",
      text: expect.stringContaining("Schöne Grüße"),
      html: expect.stringContaining("<b>Schöne</b> Grüße"),
      attachments: [{ filename: "preise.csv", content_type: "text/csv", size_bytes: 8 }],
    });
    client.destroy();
  });

  describe("X-Postledger-Tags", () => {
    const tagged = (value: string) => replyTo(mail({ "x-postledger-tags": value }));

    test("sets the tags of the message, and is not sent to the recipient", async () => {
      const reply = await tagged("welcome,\r\n  order  receipt , =?utf-8?Q?Gr=C3=BC=C3=9Fe?=");
      const { tags, headers } = await read(idFromReply(reply));
      expect({ tags, headers }).toEqual({ tags: ["welcome", "order receipt", "Grüße"], headers: null });
      expect((await read(idFromReply(await tagged(" ")))).tags).toEqual([]);
    });

    test("is refused by its name for what is no tag over HTTP either", async () => {
      const refusal = (fault: string) => `554 5.6.0 X-Postledger-Tags${fault} (INVALID_REQUEST)`;
      expect(await tagged(`welcome, ${"x".repeat(65)}`)).toBe(
        refusal(", tag 2: must have 1 to 64 characters"),
      );
      expect(await tagged("welcome,,receipt")).toStartWith("554 5.6.0 X-Postledger-Tags, tag 2: ");
      expect(await tagged("welcome, welcome")).toBe(refusal(", tag 2: is there twice"));
      expect(await tagged("a,b,c,d,e,f,g,h,i,j,k")).toMatch(/^554 5\.6\.0 X-Postledger-Tags: .*10/);
      const twice = mail({ "X-Postledger-Tags": "welcome", "x-postledger-tags": "receipt" });
      expect(await replyTo(twice)).toMatch(/^554 5\.6\.0 x-postledger-tags: must occur once/);
    });
  });

  describe("X-Postledger-Deliver-Before and X-Postledger-Content-Retention", () => {
    test("set the fields of the message, and are not sent to the recipient", async () => {
      const deliver_before = new Date(Date.now() + 600_000).toISOString();
      const asked = {
        "X-Postledger-Deliver-Before": deliver_before,
        "X-Postledger-Content-Retention": "until_final_status",
      };
      expect(await read(idFromReply(await replyTo(mail(asked))))).toMatchObject({
        ...{ deliver_before, content_retention: "until_final_status", headers: null },
      });
      const empty = { "X-Postledger-Deliver-Before": "", "X-Postledger-Content-Retention": " " };
      expect(await read(idFromReply(await replyTo(mail(empty))))).toMatchObject({
        ...{ deliver_before: null, content_retention: null },
      });
    });

    test("are refused by their names for what is refused over HTTP too", async () => {
      const before = (time: string) => replyTo(mail({ "X-Postledger-Deliver-Before": time }));
      expect(await before("in ten minutes")).toStartWith(
        "554 5.6.0 X-Postledger-Deliver-Before: must be a date-time",
      );
      expect(await before("2020-01-01T00:00:00Z")).toStartWith(
        "554 5.6.0 X-Postledger-Deliver-Before: must be in the future",
      );
      expect(await replyTo(mail({ "X-Postledger-Content-Retention": "short" }))).toBe(
        "554 5.6.0 X-Postledger-Content-Retention: must be until_final_status (INVALID_REQUEST)",
      );
    });
  });

  describe("a recipient", () => {
    test("comes from the envelope, whatever the header says", async () => {
      const reply = await replyTo(mail({ To: "other@example.com", Bcc: "hidden@example.com" }));
      expect(await read(idFromReply(reply))).toMatchObject({ to: "ana@example.com" });
    });

    test("is called as To or Cc first calls it, however it is spelt there", async () => {
      const fields = {
        To: "Ana <ANA@b\u00fccher.example>, Other <other@example.com>",
        Cc: "Ann <ana@xn--bcher-kva.example>",
      };
      const reply = await replyTo(mail(fields), ["ana@XN--bcher-kva.example"]);
      expect((await read(idFromReply(reply))).to_name).toBe("Ana");
      expect((await read(idFromReply(await replyTo(mail(fields))))).to_name).toBeNull();
    });

    test("gets its name from a header whose addresses are read once for all of them", async () => {
      const shown = Array.from({ length: 500 }, (_, index) => `<p${index}@shown.example>`);
      const To = ["Ana <ana@example.com>", ...shown, "Bob <bob@example.com>"].join(",\r\n ");
      const matching = spyOn(RegExp.prototype, "test");
      const reply = await replyTo(mail({ To }), ["ana@example.com", "bob@example.com", "eve@example.com"]);
      const domains = matching.mock.calls.filter(([text]) => text === "shown.example");
      matching.mockRestore();
      expect(reply).toStartWith("250 2.6.0 accepted 3 messages, ");
      expect(domains).toHaveLength(shown.length);
    });

    test("gets the same file as the others, which is hashed once", async () => {
      const hashed: unknown[] = [];
      const { CryptoHasher } = Bun;
      Bun.CryptoHasher = class extends CryptoHasher {
        override update(...parts: Parameters<Bun.CryptoHasher["update"]>) {
          hashed.push(parts[0]);
          return super.update(...parts);
        }
      };
      const content = "Hello to all of you.\n";
      const client = transport();
      const to = ["ana@example.com", "bob@example.com", "eve@example.com"];
      try {
        await client.sendMail({
          from: SENDER,
          to,
          subject: "To three",
          text: "x",
          attachments: [{ filename: "note.txt", content }],
        });
      } finally {
        Bun.CryptoHasher = CryptoHasher;
        client.close();
      }
      const text = Buffer.from(content).toString("base64");
      expect(hashed.filter((input) => input === text)).toHaveLength(1);
    });

    test("has its files inspected once for all recipients", async () => {
      let scans = 0;
      const scanner = createServer((socket) =>
        socket.on("data", (chunk) => {
          if (chunk.includes("zINSTREAM\0")) scans += 1;
          if (chunk.subarray(-4).every((byte) => byte === 0)) socket.end("stream: OK\0");
        }),
      );
      await new Promise<void>((resolve) => scanner.listen(0, "127.0.0.1", resolve));
      const { port: scannerPort } = scanner.address() as AddressInfo;
      const scanning = await startService(store, {
        SUBMISSION_PORT: "0",
        CLAMAV_URL: `tcp://127.0.0.1:${scannerPort}`,
      });
      try {
        const { apiKey } = await scanning.tenant();
        const client = createTransport({
          host: "127.0.0.1",
          port: scanning.app.app.submission?.port ?? 0,
          auth: { user: "any", pass: apiKey },
        });
        const to = ["ana@example.com", "bob@example.com", "eve@example.com"];
        const attachments = [
          { filename: "one.txt", content: "one" },
          { filename: "two.txt", content: "two" },
        ];
        const { response } = await client.sendMail({
          from: SENDER,
          to,
          subject: "x",
          text: "x",
          attachments,
        });
        client.close();
        expect(response).toStartWith("250 2.6.0 accepted 3 messages");
        expect(scans).toBe(2);
      } finally {
        await scanning.remove();
        scanner.close();
      }
    });

    test("that is no address is refused without the others", async () => {
      const client = await loggedIn();
      await client.command("MAIL FROM:<>");
      expect(await client.command("RCPT TO:<ana@localhost>")).toStartWith("553 5.1.3 ");
      expect(await client.command("RCPT TO:<postmaster>")).toStartWith("553 5.1.3 ");
      expect(await client.command("RCPT TO:<ana>")).toStartWith("501 ");
      expect(await client.command("RCPT TO:<b\u00fccher@example.com>")).toStartWith("553 5.1.3 ");
      expect(await client.command("RCPT TO:<ana@xn--bcher-kva.example>")).toStartWith("250");
      await client.command("DATA");
      client.write(mail());
      expect(await read(idFromReply(await client.command(".")))).toMatchObject({
        to: "ana@xn--bcher-kva.example",
      });
      client.destroy();
    });

    test("that is suppressed gets a message that is not delivered", async () => {
      await service.suppress(tenant.workspaceId, "gone@example.com");
      await until(async () => {
        const reply = await replyTo(mail(), ["gone@example.com"]);
        return (await read(idFromReply(reply))).status === "suppressed";
      }, "the suppression to take effect");
    });
  });

  describe("a repeat", () => {
    test("with the same X-Idempotency-Key is the same message, over HTTP too", async () => {
      const key = newKey();
      const first = await replyTo(mail({ "X-Idempotency-Key": key }));
      expect(await replyTo(mail({ "X-Idempotency-Key": key, Date: "now" }))).toBe(first);
      const found = await tenant.call("GET", `/api/v1/emails?idempotency_key=${key}`);
      expect(found.json.data[0].id).toBe(idFromReply(first));
    });

    test("with other content is refused", async () => {
      const key = newKey();
      idFromReply(await replyTo(mail({ "X-Idempotency-Key": key })));
      const reply = await replyTo(mail({ "X-Idempotency-Key": key, Subject: "Other" }));
      expect(reply).toMatch(
        /^554 5\.6\.0 The X-Idempotency-Key or Message-ID was used .* \(IDEMPOTENCY_CONFLICT\)$/,
      );
      const tagged = mail({ "X-Idempotency-Key": key, "X-Postledger-Tags": "welcome" });
      expect(await replyTo(tagged)).toBe(reply);
    });

    test("with an invalid key is refused", async () => {
      expect(await replyTo(mail({ "X-Idempotency-Key": "short" }))).toBe(
        "554 5.6.0 X-Idempotency-Key: must have 8 to 200 characters, not 5 (IDEMPOTENCY_KEY_REQUIRED)",
      );
    });

    test("with the same Message-ID and recipient is the same message", async () => {
      const fields = { "Message-ID": `<${newKey()}@client.example>` };
      const first = await replyTo(mail(fields));
      expect(await replyTo(mail(fields))).toBe(first);
      expect(await replyTo(mail(fields), ["bob@example.com"])).not.toBe(first);
    });

    test("for several recipients finds the messages of all of them", async () => {
      const own = await service.tenant();
      const fields = { "X-Idempotency-Key": newKey() };
      const recipients = ["ana@example.com", "bob@example.com"];
      const first = await replyTo(mail(fields), recipients, own.apiKey);
      expect(await replyTo(mail(fields), recipients, own.apiKey)).toBe(first);
      await until(async () => (await idsOf(own)).length >= 2, "two messages in the list");
      expect(await idsOf(own)).toHaveLength(2);
    });

    test.each([
      [["ana@example.com", "bob@example.com"], ["ana@example.com"]],
      [
        ["ana@example.com", "bob@example.com"],
        ["bob@example.com", "bob@example.com"],
      ],
      [["bob@example.com"], ["ana@example.com", "bob@example.com"]],
    ])("to %p, then to %p, with one X-Idempotency-Key is one message to each", async (first, second) => {
      const own = await service.tenant();
      const fields = { "X-Idempotency-Key": newKey() };
      for (const recipients of [first, second, first, second]) {
        expect(await replyTo(mail(fields), recipients, own.apiKey)).toStartWith("250 ");
      }
      await until(async () => (await idsOf(own)).length >= 2, "two messages in the list");
      expect(await idsOf(own)).toHaveLength(2);
    });

    test("for some of its recipients while it is being accepted finds their messages too", async () => {
      const own = await service.tenant();
      const fields = { "X-Idempotency-Key": newKey() };
      const recipients = ["ana@example.com", "bob@example.com"];
      const mails = [recipients, ...recipients.map((one) => [one]), recipients];
      const replies = await Promise.all(mails.map((to) => replyTo(mail(fields), to, own.apiKey)));
      // With one key, only one of two mails that each have one recipient can be first: the other one is a conflict.
      expect(replies.filter((reply) => reply.startsWith("250 ")).length).toBeGreaterThanOrEqual(3);
      await until(async () => (await idsOf(own)).length >= 2, "two messages in the list");
      expect(await idsOf(own)).toHaveLength(2);
    });

    test("with other content for one of its recipients is refused", async () => {
      const fields = { "X-Idempotency-Key": newKey() };
      const recipients = ["ana@example.com", "bob@example.com"];
      expect(await replyTo(mail(fields), recipients)).toStartWith("250 ");
      const changed = mail({ ...fields, Subject: "Other" });
      expect(await replyTo(changed, ["bob@example.com"])).toContain("(IDEMPOTENCY_CONFLICT)");
    });

    test("without either is a new message", async () => {
      expect(idFromReply(await replyTo(mail()))).not.toBe(idFromReply(await replyTo(mail())));
    });

    test("beyond the daily limit is refused for all recipients, until the limit allows all of them", async () => {
      const own = await service.tenant();
      await setLimits(service.log, own.workspaceId, { messagesPerDay: 2 });
      const recipients = ["ana@example.com", "bob@example.com", "eve@example.com"];
      for (let tries = 0; tries < 2; tries += 1) {
        expect(await replyTo(mail(), recipients, own.apiKey)).toMatch(/^451 4\.7\.1 .*DAILY_LIMIT_REACHED/);
      }
      // The refused mail has used up nothing: it would have been the second one of the day otherwise.
      expect(await replyTo(mail(), ["cho@example.com", "dan@example.com"], own.apiKey)).toStartWith("250 ");
      await setLimits(service.log, own.workspaceId, { messagesPerDay: 5 });
      await until(
        async () => (await replyTo(mail(), recipients, own.apiKey)).startsWith("250 "),
        "the limit to take effect",
      );
      await until(async () => (await idsOf(own)).length >= 5, "five messages in the list");
      expect(await idsOf(own)).toHaveLength(5);
    });

    test("whose files have no room for all recipients is refused for all of them", async () => {
      const own = await service.tenant();
      await setLimits(service.log, own.workspaceId, { storageBytes: 20 });
      const client = transport(own.apiKey);
      const attachments = [{ filename: "note.txt", content: "twelve bytes" }];
      const sendTo = (...to: string[]) =>
        client.sendMail({ from: SENDER, to, subject: "x", text: "y", attachments });
      const refused = await sendTo("ana@example.com", "bob@example.com").catch((error) => error);
      expect(refused.response).toMatch(/^452 4\.3\.1 .*STORAGE_LIMIT_EXCEEDED/);
      expect((await sendTo("eve@example.com")).response).toStartWith("250 ");
      attachments[0] = { filename: "note.txt", content: "more than twenty bytes" };
      const neverFits = await sendTo("eve@example.com").catch((error) => error);
      expect(neverFits.response).toMatch(/^552 5\.3\.4 .*STORAGE_LIMIT_EXCEEDED/);
      client.close();
      await until(async () => (await idsOf(own)).length >= 1, "a message in the list");
      expect(await idsOf(own)).toHaveLength(1);
    });

    test("with other content for one of its recipients is refused for all of them", async () => {
      const own = await service.tenant();
      const fields = { "X-Idempotency-Key": newKey() };
      const first = await replyTo(mail(fields), ["bob@example.com"], own.apiKey);
      const recipients = ["ana@example.com", "bob@example.com", "eve@example.com"];
      const reply = await replyTo(mail({ ...fields, Subject: "Other" }), recipients, own.apiKey);
      expect(reply).toMatch(/^554 5\.6\.0 .*IDEMPOTENCY_CONFLICT/);
      // A later one is listed, and the refused ones before it are not.
      const last = await replyTo(mail(), ["zoe@example.com"], own.apiKey);
      await until(async () => (await idsOf(own)).includes(idFromReply(last)), "the last one in the list");
      expect((await idsOf(own)).sort()).toEqual([idFromReply(first), idFromReply(last)].sort());
    });
  });

  describe("a key", () => {
    test("that is unknown, malformed or missing is refused", async () => {
      const client = await smtpClient(port);
      expect(await client.logIn("wrong")).toStartWith("535 5.7.8 ");
      expect((await client.command("EHLO client.example")).split("\n")[0]).toBe("250-[127.0.0.1]");
      expect(await client.logIn(`pl_${"x".repeat(50)}`)).toStartWith("535 5.7.8 ");
      // The third one ends the connection.
      expect(await client.logIn("wrong")).toStartWith("421 5.7.8 ");
      await until(() => client.isClosed(), "the connection to end");
    });

    test("without the scope email:send is refused", async () => {
      const { apiKey } = await tenant.withKey({ scopes: ["email:read"] });
      const client = await smtpClient(port);
      expect(await client.logIn(apiKey)).toMatch(/^535 5\.7\.8 .*email:send/);
      client.destroy();
    });

    test("that is restricted to other addresses is refused", async () => {
      const bound = { name: "b", scopes: ["email:send"], client_ranges: ["192.0.2.0/24"] };
      const { key } = (await tenant.call("POST", "/api/v1/api-keys", { body: bound })).json;
      const client = await smtpClient(port);
      expect(await client.logIn(key)).toMatch(/^535 5\.7\.8 .*address/);
      client.destroy();
    });

    test("that is restricted to senders sends only from them", async () => {
      const bound = { name: "b", scopes: ["email:send"], senders: ["other@example.com"] };
      const { key } = (await tenant.call("POST", "/api/v1/api-keys", { body: bound })).json;
      expect(await replyTo(mail(), undefined, key)).toMatch(/^550 5\.7\.1 .*FORBIDDEN/);
    });

    test("that was revoked ends the session within a second", async () => {
      const other = await tenant.withKey({ scopes: ["email:send"] });
      const client = await loggedIn(other.apiKey);
      idFromReply(await client.send(["ana@example.com"], mail()));
      const { status } = await tenant.call("POST", `/api/v1/api-keys/${other.keyId}/revoke`);
      expect(status).toBeLessThan(300);
      const lastMs = await lastAcceptedMs(async () => {
        const reply = await client.command("MAIL FROM:<a@example.com>");
        if (reply.startsWith("250")) await client.command("RSET");
        return !reply.startsWith("530 5.7.0 ");
      }, "the session to end");
      expect(lastMs).toBeLessThan(1_000);
      await until(() => client.isClosed(), "the connection to end");
    });

    test("may send a bounded number of mails per second", async () => {
      const own = await service.tenant();
      await setLimits(service.log, own.workspaceId, { keyRequestsPerSecond: 2 });
      await until(async () => {
        const replies = await Promise.all([1, 2, 3, 4].map(() => replyTo(mail(), undefined, own.apiKey)));
        return replies.some((reply) => /^451 4\.7\.1 .*RATE_LIMITED/.test(reply));
      }, "a mail over the limit");
    });
  });

  describe("a refusal says whether a repeat helps:", () => {
    test("no sender of the workspace", async () => {
      expect(await replyTo(mail({ From: "unknown@example.net" }))).toMatch(
        /^550 5\.7\.1 from: is not a sending address .*SENDER_UNAVAILABLE/,
      );
    });

    test("a workspace that is paused", async () => {
      const own = await service.tenant();
      await service.pause(own.workspaceId);
      expect(await replyTo(mail(), undefined, own.apiKey)).toMatch(/^451 4\.7\.1 .*SENDING_PAUSED/);
    });

    test("a control character in the subject", async () => {
      const text =
        "554 5.6.0 subject: must hold no line break and no other control character (INVALID_REQUEST)";
      for (const Subject of ["=?utf-8?Q?a=C2=9B31mb?=", "=?utf-8?Q?a=0Ab?=", "a\x1b[31mb"])
        expect(await replyTo(mail({ Subject }))).toBe(text);
    });

    test("no subject, no From, two of them", async () => {
      const refusal = /^554 5\.6\.0 .*INVALID_REQUEST/;
      expect(await replyTo(`From: ${SENDER}\r\n\r\nHello\r\n`)).toBe(
        "554 5.6.0 subject: is required (INVALID_REQUEST)",
      );
      for (const from of ["", "From:\r\n"])
        expect(await replyTo(`${from}Subject: Hello\r\n\r\nHello\r\n`)).toBe(
          "554 5.6.0 from: is required (INVALID_REQUEST)",
        );
      for (const from of ["Foo", "Foo <foo>", "foo@localhost"])
        expect(await replyTo(mail({ From: from }))).toBe(
          "554 5.6.0 from: must name one mailbox, such as Ana <ana@example.com> (INVALID_REQUEST)",
        );
      expect(await replyTo(mail({ From: `${SENDER}, other@example.com` }))).toMatch(refusal);
      expect(await replyTo(`From: other@example.com\r\n${mail()}`)).toMatch(refusal);
    });

    test("a file of a format that cannot be sent", async () => {
      const client = transport();
      const attachments = [{ filename: "tool.exe", content: "MZ" }];
      const sent = client.sendMail({
        from: SENDER,
        to: "ana@example.com",
        subject: "x",
        text: "y",
        attachments,
      });
      expect((await sent.catch((error) => error)).response).toMatch(
        /^554 5\.6\.1 .*ATTACHMENT_TYPE_UNSUPPORTED/,
      );
      client.close();
    });
  });
});
