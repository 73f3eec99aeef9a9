import { describe, expect, test } from "bun:test";
import type { SMTPServerOptions } from "smtp-server";
import { readConfig } from "../../src/service/config/config.ts";
import { relayChecks } from "../../src/service/status/checks/dependencyChecks.ts";
import { startSmtpSink } from "../support/mail/smtpSink.ts";

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

  test("tells of no login where there is none", async () => {
    expect(await detailFor("", ["AUTH"])).toBe("greets us");
  });
});
