import { DAY_MS } from "../../src/kernel/time.ts";
import { until } from "./until.ts";

/** Waits for the next day (UTC) if this one ends within `ms`: a test of a day's limit must not see two days. */
export async function dayWithRoom(ms: number): Promise<void> {
  const leftMs = () => DAY_MS - (Date.now() % DAY_MS);
  await until(() => leftMs() > ms, "the next day", 2 * ms);
}
