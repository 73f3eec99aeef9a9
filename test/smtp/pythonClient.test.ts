import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { SAMPLE_FILES } from "../support/files/sampleFiles.ts";
import { ROOT } from "../support/root.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { SENDER } from "../support/tenants.ts";

const SCRIPT = join(ROOT, "test/support/mail/submitWithPython.py");
const python = Bun.which("python3");
if (python === null) console.warn("python3 is not on the PATH: nothing is sent with its smtplib");

describe.skipIf(python === null)("what Python's smtplib sends", () => {
  const { service, tenant } = serviceFixture(sqliteStore, { SUBMISSION_PORT: "0" });
  let replies: Record<string, string>;
  beforeAll(async () => {
    const [, , png] = SAMPLE_FILES.find(([extension]) => extension === "png") ?? [];
    const port = String(service.app.app.submission?.port);
    const child = Bun.spawn([python ?? "", SCRIPT, port, tenant.apiKey, SENDER], {
      stdin: png ?? new Uint8Array(),
      stdout: "pipe",
    });
    replies = JSON.parse(await new Response(child.stdout).text());
  });

  const read = async (name: string) => {
    const [, id = ""] = /^250 2\.6\.0 accepted as (\S+)$/.exec(replies[name] ?? "") ?? [];
    return (await tenant.call("GET", `/api/v1/emails/${id}`)).json;
  };

  test("as EmailMessage arrives with its text, html, image and attachment", async () => {
    expect(await read("modern")).toMatchObject({
      to: "ana@example.com",
      subject: "Grüße aus Köln — 你好",
      text: "Zwölf Boxkämpfer\n.\nEnde\n",
      html: expect.stringContaining("<p>Zwölf</p><img src="),
      attachments: [
        { filename: "file-1.png", content_type: "image/png" },
        { filename: "Übersicht.csv", content_type: "text/csv" },
      ],
    });
  });

  test("as MIMEMultipart arrives, in another charset", async () => {
    expect(await read("legacy")).toMatchObject({
      text: null,
      html: expect.stringContaining("<p>Hällo</p>"),
      attachments: [{ filename: "logo.png", content_type: "image/png" }],
    });
  });
});
