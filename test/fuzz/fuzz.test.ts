import { describe, expect, test } from "bun:test";
import { described } from "../gate/documentedAnswers.ts";
import { testStores } from "../support/stores/stores.ts";
import { fuzz } from "./fuzz.ts";
import { FUZZ_PLANTS, type FuzzPlant, runPlanted } from "./plants.ts";
import type { Result } from "./tally.ts";

const REQUESTS_EACH = 60;
const TEST_MS_MAX = 180_000;

describe.each(await testStores())("a short run of the fuzzer on $name", (store) => {
  test(
    "finds nothing, and every operation succeeds often enough",
    async () => {
      const requests = REQUESTS_EACH * described.length;
      const { findings, starved, routes } = await fuzz({ store, requests, seed: 20_260_101 });
      expect(findings).toEqual([]);
      expect(starved).toEqual([]);
      expect(routes.map(({ route }) => route).sort()).toEqual(described.map(({ name }) => name).sort());
    },
    TEST_MS_MAX,
  );
});

describe("a fault that is planted", () => {
  test.each(Object.keys(FUZZ_PLANTS) as FuzzPlant[])(
    "is found, and nothing else: %s",
    async (plant) => {
      const { finds, requests } = FUZZ_PLANTS[plant];
      const words = ["--requests", String(requests), "--seed", "1", "--json"];
      const { status, out } = await runPlanted(plant, words, "pipe");
      const { counts } = JSON.parse(out) as Result;
      const kinds = Object.entries(counts).filter(([, count]) => count > 0);
      expect({ status, found: kinds.map(([kind]) => kind) }).toEqual({
        status: 1,
        found: [finds],
      });
    },
    TEST_MS_MAX,
  );
});
