import { expect, test } from "bun:test";
import type { WebhookPlantName } from "./plants.ts";
import { runWebhookCrash, type WebhookCrashOptions } from "./webhookCrashRun.ts";

/** A run that needs longer than this hangs. */
const RUN_MS_MAX = 240_000;

const SHORT: Pick<WebhookCrashOptions, "store" | "endMsMax"> = { store: "sqlite", endMsMax: 90_000 };

/** The kill falls into a call: whether a fault of claims shows is no luck then. */
const PLANTED = { kills: 1, endMsMax: 3_000, heldShare: 1 };
/** Faults that show only now and then, or only after a quick start: with a second kill they are found. */
const SECOND_KILL: readonly WebhookPlantName[] = ["ignored-lease", "unsaid", "hasty-skip"];
/** A lease that lasts longer than a start does on a machine that has much else to do. */
const LONG_LEASE = { callTimeoutMs: 5_000 };

test(
  "kill -9 under calls loses nothing and leaves nothing open, whatever receivers and endpoints do",
  async () => {
    const report = await runWebhookCrash({ ...SHORT, kills: 5, heldShare: 0.9 });
    expect(report.problems).toEqual([]);
    const { missing, unexplained, stuck } = report;
    expect({ missing, unexplained, stuck }).toEqual({ missing: 0, unexplained: 0, stuck: 0 });
    expect(report.deliveries).toBeGreaterThan(100);
    expect(report.killsUnderCalls).toBeGreaterThan(0);
    expect(report.leasesExpired).toBeGreaterThan(0);
  },
  RUN_MS_MAX,
);

test.each([
  ["calls without a claim", "no-claim", "without a claim before it"],
  ["a fan-out that is deaf to one endpoint", "deaf-fan-out", "nothing was ever done about it"],
  ["a fan-out to endpoints that did not ask", "no-filter", "to an endpoint that did not subscribe to it"],
  ["claims that never run out", "no-lease", "is still attempting"],
  ["claims that are taken over before they run out", "ignored-lease", "ms were over"],
  ["outcomes of calls that nobody made", "unsaid", "its receiver never accepted it"],
  ["deliveries that are skipped for nothing", "hasty-skip", "though its endpoint was active"],
] satisfies [string, WebhookPlantName, string][])(
  "found: %s",
  async (_name, plant, problem) => {
    const lease = plant === "ignored-lease" ? LONG_LEASE : {};
    const kills = SECOND_KILL.includes(plant) ? { kills: 2 } : {};
    const report = await runWebhookCrash({ ...SHORT, ...PLANTED, ...lease, ...kills, plant });
    expect(report.problems.join("\n")).toContain(problem);
  },
  RUN_MS_MAX,
);
