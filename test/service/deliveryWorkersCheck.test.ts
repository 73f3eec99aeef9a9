import { describe, expect, test } from "bun:test";
import { MINUTE_MS } from "../../src/kernel/time.ts";
import { deliveryWorkersCheck } from "../../src/service/status/checks/deliveryWorkersCheck.ts";
import type { MessagesDue } from "../../src/service/status/messagesDue.ts";

describe("doctor's check of deliveries", () => {
  const NOW = Date.parse("2030-01-01T12:00:00Z");
  const NONE_DUE: MessagesDue = { count: 0, oldest: null };
  const checkWith = (fault: object | null, relayFaultMs = 0, due = NONE_DUE) =>
    deliveryWorkersCheck({
      config: { deliveryEnabled: true },
      delivery: { relayFault: fault, relayFaultMs, recentRefusals: null } as never,
      deliveriesInFlight: 0,
      due,
      now: NOW,
    });

  test("says that more may be due than were counted, and warns of mail that is due for long", () => {
    const due = { count: 10_000, oldest: { since: NOW - 14 * MINUTE_MS, workspaceId: "w1" } };
    expect(checkWith(null, 0, due)).toMatchObject({
      status: "ok",
      detail:
        "0 deliveries under way, at least 10,000 messages due, the oldest since 2030-01-01T11:46:00.000Z (14 min), of workspace w1",
    });
    const late = { count: 9_999, oldest: { since: NOW - 15 * MINUTE_MS, workspaceId: "w1" } };
    expect(checkWith(null, 0, late)).toMatchObject({
      status: "warning",
      detail: expect.stringContaining(" 9,999 messages due"),
      action: expect.stringContaining("SMTP_CONNECTIONS_MAX"),
    });
  });

  test("fails for a relay that greets us and confirms nothing", () => {
    expect(checkWith({ trouble: "unconfirmed", reason: "no_answer_to_final_dot" }, MINUTE_MS)).toMatchObject({
      status: "failed",
      detail: expect.stringContaining("(no_answer_to_final_dot, for 60 s)"),
      action: expect.stringContaining("pause sending"),
    });
  });

  test("fails for a relay that defers everybody for longer than greylisting lasts", () => {
    const fault = { trouble: "defers_everybody", reason: "greylisted: 450" };
    expect(checkWith(fault, 14 * MINUTE_MS).status).toBe("warning");
    expect(checkWith(fault, 15 * MINUTE_MS).status).toBe("failed");
  });
});
