import { describe, expect, test } from "bun:test";
import { described } from "../gate/documentedAnswers.ts";
import { testStores } from "../support/stores/stores.ts";
import { fuzz } from "./fuzz.ts";

const REQUESTS_EACH = 60;
const TEST_MS_MAX = 360_000;

describe.each(await testStores())("a short run of the fuzzer on $name", (store) => {
  test(
    "finds nothing, and every operation succeeds often enough",
    async () => {
      const requests = REQUESTS_EACH * described.length;
      const { findings, starved, routes, submission, inbound } = await fuzz({
        store,
        requests,
        seed: 20_260_101,
      });
      expect(findings).toEqual([]);
      expect(starved).toEqual([]);
      expect(submission.faults).toEqual([]);
      expect(inbound.faults).toEqual([]);
      expect(inbound.accepted).toBeGreaterThan(inbound.mails / 2);
      expect(submission.accepted).toBeGreaterThan(submission.mails / 4);
      expect(routes.map(({ route }) => route).sort()).toEqual(described.map(({ name }) => name).sort());
    },
    TEST_MS_MAX,
  );
});
