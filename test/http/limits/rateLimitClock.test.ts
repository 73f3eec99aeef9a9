import { afterEach, expect, setSystemTime, test } from "bun:test";
import { createLogInAttempts } from "../../../src/http/dashboard/login/logInAttempts.ts";
import { createRateLimits } from "../../../src/http/limits/rateLimits.ts";
import { HOUR_MS } from "../../../src/kernel/time.ts";

const ADDRESS = "192.0.2.1";
/** As often as both kinds of failures are counted before they are refused, and once more. */
const FAILURES = 11;

afterEach(() => void setSystemTime());

test("a clock that goes back an hour keeps nobody waiting for longer than the window", async () => {
  const limits = createRateLimits(FAILURES - 1);
  const logIns = createLogInAttempts();
  const failOnce = async () => [await limits.countFailure(ADDRESS), await logIns.begin(ADDRESS)];
  for (let failure = 1; failure < FAILURES; failure += 1) expect(await failOnce()).toEqual([null, null]);
  setSystemTime(new Date(Date.now() - HOUR_MS));
  expect(await failOnce()).toEqual([60, 60]);
});
