import { describe, expect, test } from "bun:test";
import type { SMTPServerOptions } from "smtp-server";
import { readConfig } from "../../src/service/config/config.ts";
import { relayChecks } from "../../src/service/status/checks/dependencyChecks.ts";
import { startSmtpSink } from "../support/mail/smtpSink.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const onAuth: NonNullable<SMTPServerOptions["onAuth"]> = (_auth, _session, next) =>
  next(null, { user: "post" });

/** What `doctor` says of a relay at which a session can be opened. */
async function detailFor(login: string, disabledCommands: string[]): Promise<string> {
  const sink = await startSmtpSink({}, { disabledCommands, onAuth });
  try {
    const SMTP_URL = `smtp://${login}127.0.0.1:${sink.port}`;
    const [check] = await relayChecks(readConfig({ SMTP_URL }));
    expect(check).toMatchObject({ name: "relay (smtp)", status: "ok" });
    return check?.detail ?? "";
  } finally {
    await sink.close();
  }
}

describe("the check of a relay", () => {
  test("tells of a login where one was made", async () => {
    expect(await detailFor("post:secret@", [])).toBe("greets us and accepts the login");
  });

  test("tells of a login that is offered and not configured", async () => {
    const detail = "greets us; it offers a login (AUTH), and SMTP_URL has none";
    expect(await detailFor("", [])).toBe(detail);
  });

  test("that is a directory is a warning where others send mail, and its absence a failure", async () => {
    const open = { BASE_URL: "https://mail.example.com" };
    const SMTP_URL = `outbox:${temporaryFolder()}`;
    const name = "relay (outbox)";
    expect(await relayChecks(readConfig({ SMTP_URL }))).toMatchObject([{ name, status: "ok" }]);
    expect(await relayChecks(readConfig({ ...open, SMTP_URL }))).toMatchObject([
      { name, status: "warning", detail: expect.stringContaining(SMTP_URL.slice("outbox:".length)) },
    ]);
    expect(await relayChecks(readConfig(open, { needsRelay: false }))).toMatchObject([
      { name: "relay", status: "failed", detail: expect.stringMatching(/^SMTP_URL is not set/) },
    ]);
  });

  test("tells of no login where there is none", async () => {
    expect(await detailFor("", ["AUTH"])).toBe("greets us");
  });
});
