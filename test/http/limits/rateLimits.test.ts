import { afterEach, expect, setSystemTime, test } from "bun:test";
import type { Principal } from "../../../src/commands/apiKey/authenticate.ts";
import { createRateLimits } from "../../../src/http/limits/rateLimits.ts";
import { HOUR_MS } from "../../../src/kernel/time.ts";
import { readConfig } from "../../../src/service/config/config.ts";

const ADDRESS = "192.0.2.1";
/** Client addresses counted at once. */
const ADDRESSES_MAX = 50_000;
const { limitsDefault } = readConfig({});
/** As often as failures are counted before they are refused, and once more. */
const FAILURES = 11;

afterEach(() => void setSystemTime());

test("a clock that goes back an hour keeps nobody waiting for longer than the window", () => {
  const limits = createRateLimits(FAILURES - 1);
  for (let failure = 1; failure < FAILURES; failure += 1) expect(limits.countFailure(ADDRESS)).toBeNull();
  setSystemTime(new Date(Date.now() - HOUR_MS));
  expect(limits.countFailure(ADDRESS)).toBe(60);
});

test("a key over its own limit uses nothing of its workspace's", () => {
  const limits = createRateLimits(0);
  const keyed = (keyId: string) => ({ keyId, workspaceId: "shop" }) as Principal;
  const perSecond = { ...limitsDefault, keyRequestsPerSecond: 1, workspaceRequestsPerSecond: 2 };
  const retryAfter = (keyId: string) => limits.count(keyed(keyId), perSecond).retryAfterSeconds;
  expect(retryAfter("eager")).toBeNull();
  for (let request = 0; request < 10; request += 1) expect(retryAfter("eager")).toBe(1);
  expect(retryAfter("modest")).toBeNull();
});

test("an address that failed is forgotten once 50,000 others have failed since, and not before", () => {
  const limits = createRateLimits(1);
  const failFrom = (nth: number) => limits.countFailure(`10.${nth >> 16}.${(nth >> 8) & 255}.${nth & 255}`);
  for (let nth = 0; nth < ADDRESSES_MAX; nth += 1) failFrom(nth);
  expect(failFrom(0)).toBeGreaterThan(0);
  failFrom(ADDRESSES_MAX);
  expect(failFrom(0)).toBeNull();
});
