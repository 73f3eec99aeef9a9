import { describe, expect, test } from "bun:test";
import { readConfig } from "../../src/service/config/config.ts";
import { relayLog, relayTrouble } from "../../src/service/logLines/relayLogLines.ts";
import { deliveryWorkersCheck } from "../../src/service/status/checks/deliveryWorkersCheck.ts";
import { until } from "../support/until.ts";

const MINUTE_MS = 60_000;
const config = readConfig({ DATA_DIR: "/nowhere", DELIVERY: "on" });

describe("what to do about a relay", () => {
  test("without TLS, or with a private authority, differs, and no bad certificate is to be passed over", () => {
    expect(relayTrouble("tls_failed").remedy).toContain("?tls=none");
    expect(relayTrouble("certificate_untrusted").remedy).toContain("NODE_EXTRA_CA_CERTS");
    for (const trouble of [
      "certificate_expired",
      "certificate_untrusted",
      "certificate_of_other_host",
    ] as const)
      expect(relayTrouble(trouble).remedy).not.toContain("tls=none");
  });

  test("is in the log when it begins, with how much mail waits, and lines keep their order", async () => {
    const lines: { readonly waiting: number | null; readonly text: string }[] = [];
    const write = ({ waiting }: { waiting: number | null }, text: string) =>
      void lines.push({ waiting, text });
    const answers = [Promise.withResolvers<number | null>(), Promise.withResolvers<number | null>()];
    const counting = answers.values();
    const tell = relayLog(config, { warn: write, info: write } as never, () => {
      const { value } = counting.next();
      return value?.promise ?? Promise.resolve(null);
    });
    tell({ kind: "began", fault: { trouble: "unconfirmed", reason: "no_answer_to_final_dot" } });
    tell({ kind: "ended", forMs: 1_000, attempts: 3 });
    answers[1]?.resolve(null);
    answers[0]?.resolve(3);
    await until(() => lines.length === 2, "both lines");
    expect(lines).toEqual([
      { waiting: 3, text: expect.stringMatching(/does not confirm.*DELIVERY_ON_AMBIGUOUS=hold.*retried$/) },
      { waiting: null, text: "the relay takes mail again" },
    ]);
  });
});

describe("doctor's check of deliveries", () => {
  const checkWith = (fault: object | null, relayFaultMs = 0) =>
    deliveryWorkersCheck({
      config,
      delivery: { relayFault: fault, relayFaultMs, recentRefusals: null } as never,
      deliveriesInFlight: 0,
      due: 0,
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
