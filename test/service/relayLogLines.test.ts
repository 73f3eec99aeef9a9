import { describe, expect, test } from "bun:test";
import { readConfig } from "../../src/service/config/config.ts";
import { relayLog, relayTrouble } from "../../src/service/logLines/relayLogLines.ts";
import { until } from "../support/until.ts";

const config = readConfig({ DATA_DIR: "/nowhere" });

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
