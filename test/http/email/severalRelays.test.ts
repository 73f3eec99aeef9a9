import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Sink, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

test("a relay is used within the limits in its URL, whatever holds for all relays", async () => {
  const times: number[] = [];
  const sink = await startSmtpSink({
    final: () => {
      times.push(performance.now());
      return undefined;
    },
  });
  const service = await startService(sqliteStore, {
    DELIVERY: "on",
    SMTP_CONNECTIONS_MAX: "8",
    SMTP_MESSAGES_PER_SECOND_MAX: "1000",
    SMTP_URL: `smtp://127.0.0.1:${sink.port}?connections_max=2&messages_per_second=20`,
  });
  try {
    const tenant = await service.tenant();
    const messages = Array.from({ length: 12 }, () => message({ to: `${newKey()}@example.com` }));
    await Promise.all(messages.map((one) => tenant.send(newKey(), one)));
    await sink.until((record) => record.messages.length === messages.length);
    expect(sink.record.connectionsOpenMax).toBeLessThanOrEqual(2);
    // Eleven turns of 50 ms. The first message may arrive late, the last one not early.
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(300);
  } finally {
    await service.remove();
    await sink.close();
  }
});

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
