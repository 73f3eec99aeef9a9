import { afterEach, expect, setSystemTime, test } from "bun:test";
import { HOUR_MS } from "../../src/kernel/time.ts";
import { until } from "./until.ts";

afterEach(() => void setSystemTime());

test("a wait is not over because the clock was set ahead", async () => {
  let polls = 0;
  await until(() => {
    setSystemTime(Date.now() + HOUR_MS);
    polls += 1;
    return polls === 3;
  });
  expect(polls).toBe(3);
});
