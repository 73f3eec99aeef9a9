import { describe, expect, test } from "bun:test";
import { createTransport } from "nodemailer";
import PostalMime from "postal-mime";
import { SAMPLE_FILES } from "../../support/files/sampleFiles.ts";
import { mailFaults } from "../../support/mail/strictMail.ts";
import { serviceWithRelay } from "../../support/serviceWithRelay.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey, SENDER } from "../../support/tenants.ts";

const [, , PNG] = SAMPLE_FILES.find(([extension]) => extension === "png") ?? [];
if (PNG === undefined) throw new Error("no such sample");
const HTML = '<p>Hello</p><img src="cid:logo@example.com">';
const FILE = { filename: "logo.png", content_type: "image/png", content: PNG.toString("base64") };
const LOGO = { ...FILE, content_id: "logo@example.com" };
const NOTE = { filename: "note.txt", content_type: "text/plain", content: "VGhhbmsgeW91Lgo=" };

describe("images that the html shows", () => {
  const fixture = serviceWithRelay(sqliteStore, { env: { SUBMISSION_PORT: "0" } });

  const delivered = async (subject: string): Promise<Buffer> => {
    const findMail = () =>
      fixture.sink.record.messages.find(({ raw }) => raw.includes(`Subject: ${subject}\r\n`));
    await fixture.sink.until(() => findMail() !== undefined);
    return findMail()?.raw ?? Buffer.alloc(0);
  };

  const expectShown = async (raw: Buffer) => {
    expect(mailFaults(raw)).toEqual([]);
    const mail = await PostalMime.parse(raw);
    expect(mail.html).toContain(HTML);
    expect(
      mail.attachments.map(({ filename, related, contentId }) => ({ filename, related, contentId })),
    ).toEqual([
      { filename: "logo.png", related: true, contentId: "<logo@example.com>" },
      { filename: "note.txt", related: undefined, contentId: undefined },
    ]);
    expect(raw.toString("latin1")).toMatch(
      /multipart\/mixed[\s\S]*multipart\/alternative[\s\S]*multipart\/related/,
    );
  };

  test("come with a send over HTTP, and are delivered beside the html", async () => {
    const body = message({ subject: "Over HTTP", html: HTML, attachments: [LOGO, NOTE] });
    const { status, json } = await fixture.tenant.send(newKey(), body);
    expect(status).toBe(202);
    expect((await fixture.tenant.call("GET", `/api/v1/emails/${json.id}`)).json.attachments).toEqual([
      { ...expectedImage("logo.png", "image/png", PNG.byteLength), content_id: "logo@example.com" },
      expectedImage("note.txt", "text/plain", 11),
    ]);
    await expectShown(await delivered("Over HTTP"));
  });

  test("come in over SMTP, and are delivered beside the html", async () => {
    const client = createTransport({
      host: "127.0.0.1",
      port: fixture.service.app.app.submission?.port ?? 0,
      auth: { user: "any", pass: fixture.tenant.apiKey },
    });
    await client.sendMail({
      from: SENDER,
      to: "ana@example.com",
      subject: "Over SMTP",
      text: "Hello",
      html: HTML,
      attachments: [
        { filename: "logo.png", content: PNG, cid: "logo@example.com" },
        { filename: "note.txt", content: "Thank you.\n" },
      ],
    });
    client.close();
    await expectShown(await delivered("Over SMTP"));
  });

  test("make another message of a repeat when they are called otherwise", async () => {
    const key = newKey();
    const parts = { html: HTML, attachments: [LOGO] };
    expect((await fixture.tenant.send(key, message(parts))).status).toBe(202);
    const other = { ...parts, attachments: [{ ...FILE, content_id: "other" }] };
    expect((await fixture.tenant.send(key, message(other))).json.code).toBe("IDEMPOTENCY_CONFLICT");
  });

  test.each([
    ["", "/attachments/0/content_id"],
    ["<logo>", "/attachments/0/content_id"],
    ["a b", "/attachments/0/content_id"],
    ["logo\r\nX-Evil: 1", "/attachments/0/content_id"],
    ["x".repeat(256), "/attachments/0/content_id"],
  ])("are refused as %p", async (contentId, pointer) => {
    const attachments = [{ ...FILE, content_id: contentId }];
    const { status, json } = await fixture.tenant.send(newKey(), message({ html: HTML, attachments }));
    expect({ status, pointer: json.errors[0].pointer }).toEqual({ status: 400, pointer });
  });

  test("are refused when two are called the same", async () => {
    const { json } = await fixture.tenant.send(newKey(), message({ html: HTML, attachments: [LOGO, LOGO] }));
    expect(json.errors).toEqual([
      { pointer: "/attachments/1/content_id", message: "is already used by another file" },
    ]);
  });
});

function expectedImage(filename: string, type: string, bytes: number) {
  return { filename, content_type: type, size_bytes: bytes, expired: false };
}
