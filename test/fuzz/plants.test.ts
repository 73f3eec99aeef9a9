import { describe, expect, test } from "bun:test";
import { FUZZ_PLANTS, type FuzzPlant, runPlanted } from "./plants.ts";
import type { Result } from "./tally.ts";

const TEST_MS_MAX = 180_000;

describe("a fault that is planted", () => {
  test.each(Object.keys(FUZZ_PLANTS) as FuzzPlant[])(
    "is found, and nothing else: %s",
    async (plant) => {
      const { finds, requests } = FUZZ_PLANTS[plant];
      const words = ["--requests", String(requests), "--seed", "1", "--until-found", "--json"];
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
