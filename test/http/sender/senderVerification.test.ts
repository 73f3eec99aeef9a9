import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import PostalMime from "postal-mime";
import { verificationMailLimitAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { issueKey } from "../../../src/commands/apiKey/issueApiKey.ts";
import { markVerified } from "../../../src/commands/sender/manageSender.ts";
import { senderIdOf } from "../../../src/commands/sender/senderId.ts";
import { secretHashOf, verificationTokenOf } from "../../../src/commands/sender/verificationLinkSecret.ts";
import { transact } from "../../../src/commands/transact.ts";
import { newWorkspace, renameExistingWorkspace } from "../../../src/commands/workspace/manageWorkspace.ts";
import { SCOPES } from "../../../src/domain/apiKey/scopes.ts";
import { senderStream } from "../../../src/domain/sender/events.ts";
import { addressLimitStream, senderLimitStream } from "../../../src/domain/verificationMailLimit/events.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { HOUR_MS, rfc3339 } from "../../../src/kernel/time.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import { type Sink, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { type Answer, callerOf, startTestProcess } from "../../support/service.ts";
import { testStores } from "../../support/stores/stores.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const FROM = "postmaster@mail.example.net";
const BASE_URL = "https://mail.example.net/post";
const LINK = /https:\/\/mail\.example\.net\/post(\/senders\/verify\/([A-Za-z0-9_-]{107}))/;
const CODE = /[2-9B-DF-HJ-KMNP-TV-XZ]{4}-[2-9B-DF-HJ-KMNP-TV-XZ]{4}/;
const SENDERS = "/api/v1/senders";
const WORKSPACE_MAILS_MAX = 20;

/** An address that no other run has asked for: the shared log remembers for ever. */
function newAddress(): string {
  return `box-${crypto.randomUUID()}@example.org`;
}

describe.each(await testStores())("verification by mail on $name", (store) => {
  let service: TestService;
  let sink: Sink;
  let tenant: Tenant;
  const relay = { isBusy: false };
  beforeAll(async () => {
    sink = await startSmtpSink({
      rcpt: () => (relay.isBusy ? { code: 450, text: "4.2.0 busy" } : undefined),
    });
    service = await startService(store, {
      DELIVERY: "on",
      DELIVERY_RETRY_BASE_MS: "20",
      DELIVERY_RETRY_MAX_MS: "100",
      DELIVERY_RELAY_RETRY_MS: "100",
      SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      VERIFICATION_FROM: FROM,
      BASE_URL,
    });
    tenant = await service.tenant({ sender: null });
  });
  afterAll(async () => {
    await service.remove();
    await sink.close();
  });

  const add = async (address: string, as: Tenant = tenant) =>
    (await as.call("POST", SENDERS, { body: { address, display_name: "Win a prize" } })).json;
  const ask = (id: string, as: Tenant = tenant) =>
    as.call("POST", `${SENDERS}/${id}/verification`, { body: { method: "email" } });
  const statusOf = async (id: string, as: Tenant = tenant) =>
    (await as.call("GET", `${SENDERS}/${id}`)).json.status;
  const mailsTo = (address: string) => sink.record.messages.filter(({ to }) => to.includes(address));
  const mailTo = async (address: string) => {
    await sink.until(() => mailsTo(address).length > 0);
    const [mail] = mailsTo(address);
    if (mail === undefined) throw new Error("no mail was sent");
    return mail;
  };
  /** The path of the link in the mail to `address`. */
  const linkTo = async (address: string): Promise<string> => {
    const { text = "" } = await PostalMime.parse((await mailTo(address)).raw);
    return LINK.exec(text)?.[1] ?? "";
  };
  const visitor = () => callerOf(service.url, "");
  const page = (method: string, path: string) =>
    visitor().call(method, path, { headers: { authorization: null } });
  /** A sender that has been asked for, and its link. */
  const requestVerification = async (as: Tenant = tenant) => {
    const address = newAddress();
    const { id } = await add(address, as);
    expect((await ask(id, as)).status).toBe(200);
    return { id, address, path: await linkTo(address) };
  };
  const eventsOf = async (id: string) =>
    (await service.log.store.read(senderStream(id), 0, 100)).map(({ type }) => type);

  /** The mail may be read before its worker has noted that it was sent. */
  const untilSent = (id: string) =>
    until(
      async () => (await eventsOf(id)).includes("SenderVerificationMailSent"),
      "the mail to be recorded as sent",
    );

  test("from the request to the first send", async () => {
    const address = newAddress();
    const { id } = await add(address);
    const requested = await ask(id);
    expect(requested.status).toBe(200);
    expect(requested.json).toMatchObject({ id, status: "unverified", verified_by: null });
    const path = await linkTo(address);
    await untilSent(id);

    expectProblem(await tenant.send(newKey(), message({ from: address })), 422, "SENDER_UNAVAILABLE");
    const shown = await page("GET", path);
    expect(shown.status).toBe(200);
    expect(shown.text).toContain('<form method="post"><button type="submit">');
    for (const method of ["GET", "HEAD", "GET"]) expect((await page(method, path)).status).toBe(200);
    expect(await statusOf(id)).toBe("unverified");

    const confirmed = await page("POST", path);
    expect(confirmed.status).toBe(200);
    expect(confirmed.text).toContain("The address is confirmed");
    expect((await tenant.call("GET", `${SENDERS}/${id}`)).json).toMatchObject({
      status: "verified",
      verified_by: "email",
    });
    expect((await tenant.send(newKey(), message({ from: address }))).status).toBe(202);

    for (const method of ["POST", "GET"]) {
      const repeat = await page(method, path);
      expect(repeat.status).toBe(410);
      expect(repeat.text).toContain("This link was used");
    }
    expect(await eventsOf(id)).toEqual([
      "SenderAdded",
      "SenderVerificationRequested",
      "SenderVerificationMailStarted",
      "SenderVerificationMailSent",
      "SenderVerified",
    ]);
  });

  test("the mail comes from VERIFICATION_FROM, and nothing in it is the tenant's", async () => {
    const other = await service.tenant({ sender: null });
    const mails = await Promise.all(
      [tenant, other].map(async (as) => {
        const { address } = await requestVerification(as);
        const { from, to, raw } = await mailTo(address);
        expect({ from, to }).toEqual({ from: FROM, to: [address] });
        const text = raw.toString();
        expect(text).not.toContain("prize");
        expect(text.split(address)).toHaveLength(2);
        const {
          subject,
          messageId = "",
          text: body = "",
          html,
          attachments,
          from: sender,
        } = await PostalMime.parse(raw);
        expect(sender).toEqual({ address: FROM, name: "" });
        expect(messageId).toMatch(/^<[0-9a-f-]{36}@mail\.example\.net>$/);
        expect(body).toMatch(LINK);
        const plain = body.replace(LINK, "LINK").replace(as.workspaceId, "ID").replace(CODE, "CODE");
        return { subject, body: plain, html, attachments };
      }),
    );
    expect(mails[0]).toEqual(mails[1] as (typeof mails)[0]);
    expect(mails[0]?.subject).toBe("Confirm your sending address");
  });

  test("the mail, the page and the requester's answer show one code, and the first two name the workspace", async () => {
    const [own, other] = [await service.tenant({ sender: null }), await service.tenant({ sender: null })];
    const address = newAddress();
    const codes: string[] = [];
    for (const as of [own, other]) {
      const { id } = await add(address, as);
      const requested = await ask(id, as);
      expect(requested.status).toBe(200);
      const { verification } = requested.json;
      expect(verification.code).toMatch(new RegExp(`^${CODE.source}$`));
      expect(Date.parse(verification.expires_at) - Date.parse(verification.requested_at)).toBe(24 * HOUR_MS);
      expect((await as.call("GET", `${SENDERS}/${id}`)).json.verification).toEqual(verification);
      const textOf = async ({ raw }: { raw: Buffer }) => (await PostalMime.parse(raw)).text ?? "";
      const texts = async () => Promise.all(mailsTo(address).map(textOf));
      await until(async () => (await texts()).some((text) => text.includes(as.workspaceId)), "the mail");
      const text = (await texts()).find((one) => one.includes(as.workspaceId)) ?? "";
      expect(text).toContain(`Code: ${verification.code}`);
      expect(text).toContain("Workspace: test");
      const { text: html } = await page("GET", LINK.exec(text)?.[1] ?? "");
      expect(html).toContain(verification.code);
      expect(html).toContain(as.workspaceId);
      codes.push(verification.code);
    }
    expect(codes[0]).not.toBe(codes[1]);
  });

  test("a workspace's name, as it is since it was renamed, is shown without links and line breaks", async () => {
    const name = "Win: https://evil.example/\r\n\r\nCall <b>0900</b> \u202eAcme & Söhne";
    const workspaceId = await newWorkspace(service.log, "Acme", systemCommandContext("test"));
    await renameExistingWorkspace(service.log, workspaceId, name, systemCommandContext("test"));
    const issue = { workspaceId, name: "test", scopes: SCOPES, expiresAt: null };
    const key = (await issueKey(service.log, issue, systemCommandContext("test")))?.key ?? "";
    const caller = callerOf(service.url, key);
    const address = newAddress();
    const { id } = (await caller.call("POST", SENDERS, { body: { address } })).json;
    await caller.call("POST", `${SENDERS}/${id}/verification`, { body: { method: "email" } });
    const path = await linkTo(address);
    const { text = "" } = await PostalMime.parse((await mailTo(address)).raw);
    expect(text).toContain("Workspace: Win https evil example Call b 0900 b Acme & Söhne\n");
    const shown = await page("GET", path);
    expect(shown.text).toContain("<dd>Win https evil example Call b 0900 b Acme &amp; Söhne</dd>");
  });

  test("pages run no script, are not cached and send no referrer", async () => {
    const { path } = await requestVerification();
    for (const answer of [
      await page("GET", path),
      await page("POST", path),
      await page("GET", "/senders/verify/x"),
    ]) {
      const csp = answer.headers.get("content-security-policy") ?? "";
      expect(csp).toContain("default-src 'none'");
      expect(csp).toContain("form-action 'self'");
      expect(csp).not.toContain("unsafe");
      expect(csp).not.toContain("script-src");
      expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer.headers.get("x-request-id")).not.toBeNull();
      expect(answer.text).not.toMatch(/<script|\son\w+=|https?:/);
      // The one style is the one that the policy names.
      const style = /<style>(.*)<\/style>/s.exec(answer.text)?.[1] ?? "";
      const hash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
      expect(csp).toContain(`style-src 'sha256-${hash}'`);
    }
  });

  test("a form with a body confirms too", async () => {
    const { id, path } = await requestVerification();
    const headers = { "content-type": "application/x-www-form-urlencoded", authorization: null };
    expect((await visitor().call("POST", path, { body: "a=1", headers })).status).toBe(200);
    expect(await statusOf(id)).toBe("verified");
  });

  test("no link that was changed in any place works", async () => {
    const { id, path } = await requestVerification();
    const start = path.length - 107;
    const changed = Array.from({ length: 107 }, (_, index) => {
      const at = start + index;
      return path.slice(0, at) + (path[at] === "A" ? "B" : "A") + path.slice(at + 1);
    });
    for (const other of [
      ...changed,
      path.slice(0, -1),
      `${path}A`,
      "/senders/verify/x",
      "/senders/verify/%00",
    ]) {
      const answer = await page("POST", other);
      expect({ other, status: answer.status }).toEqual({ other, status: 404 });
      expect((await page("GET", other)).status).toBe(404);
    }
    expect(await statusOf(id)).toBe("unverified");
    expect((await page("POST", path)).status).toBe(200);
  });

  /** A link as the service would have made it, that was asked for at another time or of which the log knows nothing. */
  const linkOf = async (sender: { id: string; address: string }, as: Tenant, requestedAt: number | null) => {
    const requestId = newId();
    if (requestedAt !== null) {
      const secretHash = secretHashOf(service.log.keys.verificationSecret(sender.id, requestId));
      const times = { requestedAt: rfc3339(requestedAt), expiresAt: rfc3339(requestedAt + 24 * HOUR_MS) };
      await service.addSenderEvent(as.workspaceId, sender.address, {
        type: "SenderVerificationRequested",
        data: { requestId, secretHash, ...times },
      });
    }
    return `/senders/verify/${verificationTokenOf(service.log, sender.id, requestId)}`;
  };

  test("a link does not work after 24 hours, nor one that was never asked for", async () => {
    const address = newAddress();
    const { id } = await add(address);
    const day = 24 * HOUR_MS;
    const expired = await linkOf({ id, address }, tenant, Date.now() - day);
    for (const method of ["GET", "POST"]) {
      const answer = await page(method, expired);
      expect(answer.status).toBe(410);
      expect(answer.text).toContain("expired");
    }
    const unknown = await linkOf({ id, address }, tenant, null);
    expect((await page("POST", unknown)).status).toBe(404);
    expect(await statusOf(id)).toBe("unverified");
    const open = await linkOf({ id, address }, tenant, Date.now() - day + HOUR_MS);
    expect((await page("POST", open)).status).toBe(200);
    expect(await statusOf(id)).toBe("verified");
  });

  test("of 16 that confirm at once one is the first", async () => {
    const { path } = await requestVerification();
    const answers = await Promise.all(Array.from({ length: 16 }, () => page("POST", path)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(15).fill(410)]);
  });

  test("a link verifies the address in its own workspace only", async () => {
    const other = await service.tenant({ sender: null });
    const { address, path } = await requestVerification();
    const otherSender = await add(address, other);
    expect((await page("POST", path)).status).toBe(200);
    expect(await statusOf(otherSender.id, other)).toBe("unverified");
    expectProblem(await other.send(newKey(), message({ from: address })), 422, "SENDER_UNAVAILABLE");
  });

  test("a sender that is verified gets no mail", async () => {
    const { id, address, path } = await requestVerification();
    await untilSent(id);
    await page("POST", path);
    const repeat = await ask(id);
    expect(repeat.status).toBe(200);
    expect(repeat.json.status).toBe("verified");
    expect(await eventsOf(id)).toHaveLength(5);
    expect(mailsTo(address)).toHaveLength(1);
  });

  test("confirming does not enable", async () => {
    const { id, path } = await requestVerification();
    await tenant.call("POST", `${SENDERS}/${id}/disable`);
    expect((await page("POST", path)).status).toBe(200);
    expect((await tenant.call("GET", `${SENDERS}/${id}`)).json).toMatchObject({
      status: "disabled",
      verified_by: "email",
    });
  });

  describe("limits", () => {
    test("one mail in ten minutes and 20 a day of a workspace, whatever the others ask", async () => {
      const other = await service.tenant({ sender: null });
      const { id, address } = await requestVerification();
      const answer = await ask(id);
      expectProblem(answer, 429, "RATE_LIMITED");
      expect(Number(answer.headers.get("retry-after"))).toBeWithin(500, 601);
      expect(answer.json.retryable).toBe(true);
      const otherSender = await add(address.toUpperCase(), other);
      expect((await ask(otherSender.id, other)).status).toBe(200);
      // Being refused has cost the other workspace nothing of its own.
      expectProblem(await ask(otherSender.id, other), 429, "RATE_LIMITED");
      for (let mail = 1; mail < WORKSPACE_MAILS_MAX; mail += 1) {
        expect((await ask((await add(newAddress(), other)).id, other)).status).toBe(200);
      }
      const { id: last } = await add(newAddress(), other);
      const limited = await ask(last, other);
      expectProblem(limited, 429, "RATE_LIMITED");
      expect(Number(limited.headers.get("retry-after"))).toBeWithin(1, 24 * 3_600 + 1);
    });

    test("an address that many workspaces have asked for today gets no more of them, and one of each other", async () => {
      const address = newAddress();
      const canonical = address.toLowerCase();
      const [repeat, first] = [
        await service.tenant({ sender: null }),
        await service.tenant({ sender: null }),
      ];
      const known = await add(address, repeat);
      const count = (stream: string, at: string) =>
        transact(
          service.log.store,
          { ...verificationMailLimitAggregate, stream },
          () => ({ outcome: null, events: [{ type: "VerificationMailCounted" as const, data: { at } }] }),
          systemCommandContext("test"),
        );
      const now = Date.now();
      const dayStart = now - (now % (24 * HOUR_MS));
      await count(senderLimitStream(known.id), rfc3339(dayStart));
      const globalLimitStream = addressLimitStream(service.log.keys.hashAddressGlobally(canonical));
      for (let mail = 0; mail < 20; mail += 1) await count(globalLimitStream, rfc3339(now));
      const refused = await ask(known.id, repeat);
      expectProblem(refused, 429, "RATE_LIMITED");
      expect((await ask((await add(address, first)).id, first)).status).toBe(200);
      for (let mail = 21; mail < 100; mail += 1) await count(globalLimitStream, rfc3339(now));
      const late = await service.tenant({ sender: null });
      expectProblem(await ask((await add(address, late)).id, late), 429, "RATE_LIMITED");
    });

    test("8 requests at once for one address get one mail", async () => {
      const { id } = await add(newAddress());
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask(id)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      for (const answer of answers) if (answer.status !== 200) expectProblem(answer, 429, "RATE_LIMITED");
      expect((await eventsOf(id)).filter((type) => type === "SenderVerificationRequested")).toHaveLength(1);
    });
  });

  test("an address that the workspace has suppressed gets none: RECIPIENT_SUPPRESSED", async () => {
    const [own, other] = [await service.tenant({ sender: null }), await service.tenant({ sender: null })];
    const address = newAddress();
    const { id } = await add(address, own);
    await service.suppress(own.workspaceId, address);
    expectProblem(await ask(id, own), 409, "RECIPIENT_SUPPRESSED");
    expect(await eventsOf(id)).toEqual(["SenderAdded"]);
    expect((await ask((await add(address, other)).id, other)).status).toBe(200);
  });

  test.each(["address", "domain"] as const)(
    "accepted mail waits while the %s that let it in is disabled, and goes when that is enabled",
    async (kind) => {
      const own = await service.tenant({ sender: "other@example.com" });
      const domain = `${crypto.randomUUID()}.example`;
      const from = `shop@${domain}`;
      const body = kind === "domain" ? { domain } : { address: from };
      const { id } = (await own.call("POST", SENDERS, { body })).json;
      const name = { kind, domain, address: { sent: from, canonical: from } };
      expect(senderIdOf(service.log.keys, own.workspaceId, name)).toBe(id);
      await markVerified(service.log, id, "operator", systemCommandContext("test"));
      const to = newAddress();
      relay.isBusy = true;
      let accepted: Answer | undefined;
      await until(async () => {
        accepted = await own.send(`waits-${to}`, message({ from, to }));
        return accepted.status === 202;
      }, "the sender to be verified");
      const email = `/api/v1/emails/${accepted?.json.id}`;
      await own.call("POST", `${SENDERS}/${id}/disable`);
      // A claim from before may still be at the relay; a later one reads the log before it sends.
      const isWaiting = async () => (await own.call("GET", email)).json.status !== "sending";
      await until(isWaiting, "the mail to be held");
      relay.isBusy = false;
      const another = newAddress();
      await own.send(newKey(), message({ from: "other@example.com", to: another }));
      await mailTo(another);
      expect(mailsTo(to)).toHaveLength(0);
      const replay = await own.send(`waits-${to}`, message({ from, to }));
      expect(replay.text).toBe(accepted?.text as string);
      expectProblem(await own.send(newKey(), message({ from, to })), 422, "SENDER_UNAVAILABLE");

      await own.call("POST", `${SENDERS}/${id}/enable`);
      expect((await mailTo(to)).from).toBe(from);
    },
  );
});

test("the log lines of a service that logs every request contain no link", async () => {
  const dataDir = temporaryFolder();
  const child = await startTestProcess({ dataDir, env: { LOG_REQUESTS: "all", LOG_LEVEL: "trace" } });
  const secret = "A".repeat(107);
  const paths = [`/senders/verify/${secret}`, `/senders/verify/${secret}/`, `/senders/verify/${secret}/x?y`];
  for (const path of [...paths, "/api/v1/suppressions/ana@example.com"]) {
    for (const method of ["GET", "POST", "PUT"]) await child.call(method, path);
  }
  await child.kill("SIGTERM");
  const lines = child.log();
  expect(lines.split("/senders/verify/")).toHaveLength(10);
  expect(lines).not.toContain(secret);
  expect(lines).not.toContain("ana@");
});
