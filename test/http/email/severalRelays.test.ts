import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Sink, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

describe("a service with several relays", () => {
  let first: Sink;
  let second: Sink;
  let service: TestService;
  let tenant: Tenant;
  let isFirstDown = false;
  beforeAll(async () => {
    first = await startSmtpSink({
      mail: () => (isFirstDown ? { code: 421, text: "4.3.2 shutting down" } : undefined),
      rcpt: () => undefined,
    });
    second = await startSmtpSink({ rcpt: () => ({ code: 550, text: "5.1.1 nobody of that name" }) });
    service = await startService(sqliteStore, {
      DELIVERY: "on",
      SMTP_URL: `smtp://127.0.0.1:${first.port}  smtp://127.0.0.1:${second.port}?order=2`,
    });
    tenant = await service.tenant();
  });
  afterAll(async () => {
    await service.remove();
    await first.close();
    await second.close();
  });

  const ended = async () => {
    const { id } = (await tenant.send(newKey(), message({ to: `${newKey()}@example.com` }))).json;
    const read = async () => (await tenant.call("GET", `/api/v1/emails/${id}`)).json;
    await until(async () => ["sent", "bounced"].includes((await read()).status), "the message to end");
    return (await read()).timeline.at(-1);
  };

  test("says of each attempt which relay it went to", async () => {
    expect(await ended()).toMatchObject({ type: "sent", relay: `127.0.0.1:${first.port}` });
  });

  test("hands a message over without an attempt more, and a refusal of the next relay counts", async () => {
    isFirstDown = true;
    const end = await ended();
    expect(end).toMatchObject({ type: "bounced", attempt: 1, relay: `127.0.0.1:${second.port}` });
  });
});
