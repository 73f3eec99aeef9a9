import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import nodemailer from "nodemailer";
import { deliveredId, emailOf } from "../support/mail/sentEmail.ts";
import { type Sink, startSmtpSink } from "../support/mail/smtpSink.ts";
import { statusReport } from "../support/mail/statusReport.ts";
import { freePort } from "../support/stores/eventstoredb.ts";
import { type TestStore, testStores } from "../support/stores/stores.ts";
import { startService, type Tenant, type TestService } from "../support/tenants.ts";

const DOMAIN = "bounce.shop.example";
const COMPLAINTS = `complaints@${DOMAIN}`;

function report(recipient: string): string {
  return statusReport({ recipient, status: "5.1.1", reply: "550 5.1.1 user unknown" });
}

function complaint(mailFrom: string): string {
  return [
    "From: feedback@provider.example",
    "Subject: complaint",
    "MIME-Version: 1.0",
    'Content-Type: multipart/report; report-type=feedback-report; boundary="b"',
    "",
    "--b",
    "Content-Type: message/feedback-report",
    "",
    "Feedback-Type: abuse",
    "Version: 1",
    `Original-Mail-From: <${mailFrom}>`,
    "",
    "--b--",
    "",
  ].join("\r\n");
}

describe.each(await testStores())("mail that comes back to $name", (store: TestStore) => {
  let sink: Sink;
  let service: TestService;
  let tenant: Tenant;
  let port: number;
  beforeAll(async () => {
    sink = await startSmtpSink();
    port = await freePort();
    service = await startService(store, {
      DELIVERY: "on",
      SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      RETURN_PATH_DOMAIN: DOMAIN,
      INBOUND_PORT: String(port),
      COMPLAINT_ADDRESS: COMPLAINTS,
    });
    tenant = await service.tenant();
  });
  afterAll(async () => {
    await service.remove();
    await sink.close();
  });

  /** Sends a message. Returns its id, and the envelope sender that the sink received. */
  async function sent(to: string): Promise<{ readonly id: string; readonly returnPath: string }> {
    const id = await deliveredId(tenant, to);
    const accepted = sink.record.messages.find((one) => one.to.includes(to));
    return { id, returnPath: accepted?.from ?? "" };
  }

  async function returnMail(to: string, raw: string): Promise<string> {
    const transport = nodemailer.createTransport({ host: "127.0.0.1", port, ignoreTLS: true });
    try {
      const { response } = await transport.sendMail({ envelope: { from: "", to }, raw });
      return response;
    } catch (error) {
      return (error as { response: string }).response;
    } finally {
      transport.close();
    }
  }

  test("names its message: a bounce suppresses the address that was sent to, not as the report writes it", async () => {
    const to = "gone+orders@example.net";
    const rewritten = "Gone@mx1.example.net";
    const { id, returnPath } = await sent(to);
    expect(returnPath).toMatch(/^[a-z2-7]{48}@bounce\.shop\.example$/);
    const raw = report(rewritten);
    expect(await returnMail(returnPath.toUpperCase(), raw)).toBe("250 2.0.0 taken");
    const email = await emailOf(tenant, id);
    expect(email.status).toBe("bounced");
    expect(email.timeline.at(-1)).toMatchObject({ type: "bounced", source: "return_path", code: 550 });
    expect((await tenant.call("GET", `/api/v1/suppressions/${to}`)).json).toMatchObject({ email_id: id });
    expect((await tenant.call("GET", `/api/v1/suppressions/${rewritten}`)).status).toBe(404);
    // The same report once more changes nothing.
    expect(await returnMail(returnPath, raw)).toBe("250 2.0.0 taken");
    expect((await emailOf(tenant, id)).timeline).toHaveLength(email.timeline.length);
  });

  test("suppresses nothing if another address failed, such as a member of an alias", async () => {
    // Exim's reports are often in words alone.
    const exim = (failed: string) =>
      `From: Mail Delivery System <Mailer-Daemon@relay.example>\r\nX-Failed-Recipients: ${failed}\r\n\r\n550 5.1.1 no such user`;
    for (const [to, failed, raw] of [
      ["team@example.net", "left@else.example", report("left@else.example")],
      ["staff@example.net", "left@example.net", report("left@example.net")],
      ["forwarded@example.net", "forwarded@else.example", report("forwarded@else.example")],
      ["crew@example.net", "left@else.example", exim("left@else.example")],
    ] as const) {
      const { id, returnPath } = await sent(to);
      expect(await returnMail(returnPath, raw)).toBe("250 2.0.0 taken");
      const { status, timeline } = await emailOf(tenant, id);
      expect(status).toBe("bounced");
      expect(timeline.at(-1)).toMatchObject({ reason: "recipient_refused", enhanced_code: "5.1.1" });
      for (const address of [to, failed])
        expect((await tenant.call("GET", `/api/v1/suppressions/${address}`)).status).toBe(404);
    }
  });

  test("tells another address from the one that was sent to when that is erased", async () => {
    for (const [to, failed, status] of [
      ["erased-list@example.net", "left@else.example", 404],
      ["erased-gone@example.net", "Erased-Gone@example.net", 200],
      ["erased-unnamed@example.net", "unknown", 200],
    ] as const) {
      const { id, returnPath } = await sent(to);
      expect((await tenant.call("DELETE", `/api/v1/emails/${id}/content`)).status).toBe(200);
      expect(await returnMail(returnPath, report(failed))).toBe("250 2.0.0 taken");
      expect((await emailOf(tenant, id)).status).toBe("bounced");
      expect((await tenant.call("GET", `/api/v1/suppressions/${to}`)).status).toBe(status);
    }
  });

  test("suppresses the address that was sent to if the report names no address", async () => {
    for (const [nth, failed] of ["unknown", "ana@mailhub0", '"/C=de/S=ana/"'].entries()) {
      const { returnPath } = await sent(`unnamed${nth}@example.net`);
      expect(await returnMail(returnPath, report(failed))).toBe("250 2.0.0 taken");
      expect((await tenant.call("GET", `/api/v1/suppressions/unnamed${nth}@example.net`)).status).toBe(200);
    }
  });

  test("changes nothing when it is an automatic reply or a read receipt", async () => {
    const to = "away@example.net";
    const { id, returnPath } = await sent(to);
    for (const head of [
      "Subject: Out of office\r\nAuto-Submitted: auto-replied",
      "Return-Path: <>\r\nSubject: Re: Delivery status of your order\r\nAuto-Submitted: auto-replied",
      "Subject: Read: x\r\nContent-Type: multipart/report; report-type=disposition-notification; boundary=b",
    ]) {
      const words = `The account of Eve is no longer valid.\r\nFinal-Recipient: rfc822; ${to}\r\nStatus: 5.1.1`;
      expect(await returnMail(returnPath, `From: ${to}\r\n${head}\r\n\r\n${words}`)).toBe("250 2.0.0 taken");
    }
    expect((await emailOf(tenant, id)).status).toBe("sent");
    expect((await tenant.call("GET", `/api/v1/suppressions/${to}`)).status).toBe(404);
  });

  test("is refused at RCPT for every address but ours", async () => {
    const { returnPath } = await sent("ok@example.net");
    const [local = ""] = returnPath.split("@");
    const forged = local.slice(0, -1) + (local.endsWith("a") ? "b" : "a");
    for (const to of [`${forged}@${DOMAIN}`, `nobody@${DOMAIN}`, `${local}@else.example`, "ana@example.net"])
      expect(await returnMail(to, report("ok@example.net"))).toBe("550 5.1.1 no such address");
    expect(await returnMail(`postmaster@${DOMAIN}`, "Subject: hello\r\n\r\nhello")).toBe("250 2.0.0 taken");
  });

  test("is recognised where servers have wrapped the address (BATV, SRS)", async () => {
    const bounced = await sent("wrapped@example.net");
    const [local = ""] = bounced.returnPath.split("@");
    const forged = local.slice(0, -1) + (local.endsWith("a") ? "b" : "a");
    const raw = report("wrapped@example.net");
    for (const wrapped of [
      `prvs=1234ABCDEF=${forged}@${DOMAIN}`,
      `SRS0=aBc=X1=${DOMAIN}=${forged}@relay.example`,
    ])
      expect(await returnMail(wrapped, raw)).toBe("550 5.1.1 no such address");
    expect(await returnMail(`prvs=1234ABCDEF=${bounced.returnPath}`, raw)).toBe("250 2.0.0 taken");
    expect((await emailOf(tenant, bounced.id)).status).toBe("bounced");
    const complained = await sent("wrapped.too@example.net");
    const srs = `SRS0=aBc=X1=${complained.returnPath.split("@").reverse().join("=")}@relay.example`;
    expect(await returnMail(COMPLAINTS, complaint(srs))).toBe("250 2.0.0 taken");
    expect((await emailOf(tenant, complained.id)).status).toBe("complained");
  });

  test("is believed as a complaint with a signed address of ours alone", async () => {
    const to = "annoyed@example.net";
    const { id, returnPath } = await sent(to);
    expect(await returnMail(COMPLAINTS, complaint("someone@else.example"))).toBe("250 2.0.0 taken");
    expect((await emailOf(tenant, id)).status).toBe("sent");
    expect(await returnMail(COMPLAINTS, complaint(returnPath))).toBe("250 2.0.0 taken");
    expect((await emailOf(tenant, id)).timeline.at(-1)).toMatchObject({
      type: "complained",
      source: "complaint_address",
    });
    expect((await tenant.call("GET", `/api/v1/suppressions/${to}`)).json).toMatchObject({
      reason: "complaint",
    });
  });
});
