/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { type EpochMs, epochMs, HOUR_MS, rfc3339, SECOND_MS } from "../../../kernel/time.ts";

const FIELD_TIME_CHARACTERS = "2026-11-22T08:30".length;

/** `2026-11-22 04:19:37 UTC`: with its year, its seconds and its zone. */
function inUtc(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}

/** The value of a time field (`datetime-local`) for an RFC 3339 time: 2026-11-22T08:30. */
export function fieldTime(at: string): string {
  return at.slice(0, FIELD_TIME_CHARACTERS);
}

/** The time in a time field, in UTC, as RFC 3339 if it is one. Browsers omit the seconds if they are 0. */
export function timeOfField(text: string): string {
  return `${text}${text.length === FIELD_TIME_CHARACTERS ? ":00" : ""}Z`;
}

/** A time in UTC, which a script turns into local time with UTC on hover. `at` is RFC 3339 or in ms. */
export const Time: FC<{ readonly at: string | EpochMs }> = ({ at }) => {
  const text = typeof at === "number" ? rfc3339(at) : at;
  return (
    <time datetime={text} data-local>
      {inUtc(text)}
    </time>
  );
};

const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });

interface DayProps {
  /** RFC 3339. */
  readonly at: string;
  /** The time field whose day it shows, as a script keeps it: see `Field`. */
  readonly follows?: string;
}

/** The day of a time, in UTC: 5 December 2026. A script turns it into the day of local time. */
export const Day: FC<DayProps> = ({ at, follows }) => (
  <time datetime={at} data-local-day data-follows={follows}>
    {DAY.format(epochMs(at))}
  </time>
);

/** The hour in which something happened, when that is all we know. `from` is its beginning (RFC 3339). */
export const Hour: FC<{ readonly from: string }> = ({ from }) => {
  const until = rfc3339(epochMs(from) + HOUR_MS);
  return (
    <time datetime={from} data-local-hour>
      {`${from.slice(0, 10)} ${from.slice(11, 16)} to ${until.slice(11, 16)} UTC`}
    </time>
  );
};

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** A duration for people, in its largest unit: "4 minutes". */
export function lengthOfTime(ms: number): string {
  const [unit, unitMs] = UNITS.find(([, size]) => ms >= size) ?? ["second", 1_000];
  const count = Math.max(0, Math.round(ms / unitMs));
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** How far a time is from `now`: "4 minutes ago", "in 2 hours"; the time itself on hover. */
export const Ago: FC<{ readonly at: EpochMs; readonly now: EpochMs }> = ({ at, now }) => {
  const length = lengthOfTime(Math.abs(now - at));
  const isNow = Math.abs(now - at) < SECOND_MS;
  return (
    <time datetime={rfc3339(at)} title={inUtc(rfc3339(at))}>
      {isNow ? "just now" : at > now ? `in ${length}` : `${length} ago`}
    </time>
  );
};
