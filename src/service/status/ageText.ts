import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";

/** From this many of a unit on, the next larger one is used. */
const AGE_UNIT_COUNT_MAX = 100;
const AGE_UNITS = [
  [SECOND_MS, "s"],
  [MINUTE_MS, "min"],
  [HOUR_MS, "h"],
] as const;

/** An age as people say it, in a unit that keeps the number short: "90 s", "45 min", "30 h", "9 days". */
export function ageText(ms: number): string {
  const [size, unit] = AGE_UNITS.find(([size]) => ms < AGE_UNIT_COUNT_MAX * size) ?? [DAY_MS, "days"];
  return `${Math.round(ms / size)} ${unit}`;
}
