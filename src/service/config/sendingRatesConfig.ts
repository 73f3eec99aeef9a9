import { RATE_BASE_MESSAGES, type RateSettings } from "../../domain/workspace/sendingRates.ts";
import type { EnvironmentReader } from "./environmentReader.ts";

/** At which bounce and complaint rates operators are warned, and at which a workspace is paused. */
export function readSendingRatesConfig(reader: EnvironmentReader): { readonly sendingRates: RateSettings } {
  const threshold = (name: string, fallback: number) =>
    reader.parsed(name, thresholdOf, "a percentage from 0 to 100 with at most three decimals, such as 0.1") ??
    fallback;
  return {
    sendingRates: {
      warning: {
        bounce: threshold("BOUNCE_RATE_WARNING_PERCENT", 5 * ONE_PERCENT),
        complaint: threshold("COMPLAINT_RATE_WARNING_PERCENT", ONE_PERCENT / 10),
      },
      pause: {
        bounce: threshold("BOUNCE_RATE_PAUSE_PERCENT", 0),
        complaint: threshold("COMPLAINT_RATE_PAUSE_PERCENT", 0),
      },
    },
  };
}

const ONE_PERCENT = RATE_BASE_MESSAGES / 100;

/** A percentage as a threshold; null for anything else. */
function thresholdOf(text: string): number | null {
  if (!/^\d{1,3}(\.\d{1,3})?$/.test(text)) return null;
  const threshold = Math.round(Number(text) * ONE_PERCENT);
  return threshold <= RATE_BASE_MESSAGES ? threshold : null;
}
