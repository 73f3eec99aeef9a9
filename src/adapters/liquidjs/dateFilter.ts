import type { Context } from "liquidjs";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";
import { budgetOf } from "./budgetedContext.ts";
import { BudgetError } from "./renderBudget.ts";
import { MIDNIGHT_LOOK_UPS, type Zone, zoneAt, zoneAtMidnight } from "./timeZones.ts";

/** No sensible date format is longer. */
const FORMAT_CHARACTERS_MAX = 200;
const WIDTH_MAX = 40;

const MONTHS = "January February March April May June July August September October November December".split(
  " ",
);
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");
const SHORT = 3;

const UTC: Zone = { name: "UTC", offsetMs: 0 };

/** What a directive prints of a time, whose UTC fields are the zone's own. */
type Directive = (at: Date, zone: Zone) => string | number;

function nameOf(names: readonly string[], index: number): string {
  return names[index] ?? "";
}

/** Days since 1 January, from 1. */
function dayOfYear(at: Date): number {
  const day = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate());
  return 1 + (day - Date.UTC(at.getUTCFullYear(), 0, 1)) / 86_400_000;
}

/** Such as `+0530`. */
function writtenOffset({ offsetMs }: Zone): string {
  const minutes = Math.trunc(Math.abs(offsetMs) / MINUTE_MS);
  const digits = Math.floor(minutes / 60) * 100 + (minutes % 60);
  return `${offsetMs < 0 ? "-" : "+"}${String(digits).padStart(4, "0")}`;
}

const hour12 = (at: Date) => at.getUTCHours() % 12 || 12;

/** The strftime directives: value, minimum width, padding. */
const DIRECTIVES: Readonly<Record<string, readonly [Directive, number?, string?]>> = {
  a: [(at) => nameOf(DAYS, at.getUTCDay()).slice(0, SHORT)],
  A: [(at) => nameOf(DAYS, at.getUTCDay())],
  b: [(at) => nameOf(MONTHS, at.getUTCMonth()).slice(0, SHORT)],
  B: [(at) => nameOf(MONTHS, at.getUTCMonth())],
  c: [(at, zone) => strftime(at, zone, "%a %b %e %H:%M:%S %Y")],
  C: [(at) => Math.floor(at.getUTCFullYear() / 100), 2],
  d: [(at) => at.getUTCDate(), 2],
  D: [(at, zone) => strftime(at, zone, "%m/%d/%y")],
  e: [(at) => at.getUTCDate(), 2, " "],
  F: [(at, zone) => strftime(at, zone, "%Y-%m-%d")],
  h: [(at) => nameOf(MONTHS, at.getUTCMonth()).slice(0, SHORT)],
  H: [(at) => at.getUTCHours(), 2],
  I: [hour12, 2],
  j: [dayOfYear, 3],
  k: [(at) => at.getUTCHours(), 2, " "],
  l: [hour12, 2, " "],
  L: [(at) => at.getUTCMilliseconds(), 3],
  m: [(at) => at.getUTCMonth() + 1, 2],
  M: [(at) => at.getUTCMinutes(), 2],
  n: [() => "\n"],
  p: [(at) => (at.getUTCHours() < 12 ? "AM" : "PM")],
  P: [(at) => (at.getUTCHours() < 12 ? "am" : "pm")],
  R: [(at, zone) => strftime(at, zone, "%H:%M")],
  s: [(at, zone) => Math.floor((at.getTime() - zone.offsetMs) / SECOND_MS)],
  S: [(at) => at.getUTCSeconds(), 2],
  t: [() => "\t"],
  T: [(at, zone) => strftime(at, zone, "%H:%M:%S")],
  u: [(at) => at.getUTCDay() || 7],
  w: [(at) => at.getUTCDay()],
  x: [(at, zone) => strftime(at, zone, "%m/%d/%y")],
  X: [(at, zone) => strftime(at, zone, "%H:%M:%S")],
  y: [(at) => at.getUTCFullYear() % 100, 2],
  Y: [(at) => at.getUTCFullYear(), 4],
  z: [(_, zone) => writtenOffset(zone)],
  Z: [(_, zone) => zone.name],
  "%": [() => "%"],
};

/** Ruby's strftime, as in Liquid: flags `-` (no padding), `_` (spaces), `0` (zeros), `^` (capitals), and a width. */
function strftime(at: Date, zone: Zone, format: string): string {
  return format.replace(/%([-_0^]*)(\d*)(.)/gs, (whole, flags: string, width: string, name: string) => {
    const [value, widthMin = 0, padding = "0"] = DIRECTIVES[name] ?? [];
    if (value === undefined) return whole;
    const text = flags.includes("^") ? String(value(at, zone)).toUpperCase() : String(value(at, zone));
    if (flags.includes("-")) return text;
    const fill = flags.includes("_") ? " " : flags.includes("0") ? "0" : padding;
    return text.padStart(Math.min(Number(width) || widthMin, WIDTH_MAX), fill);
  });
}

const WRITTEN = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** The time that a value stands for; null if it is none. A time without a zone is in UTC; a number counts seconds. */
function timeOf(value: unknown): Date | null {
  if (value === "now" || value === "today") return new Date();
  const isSeconds = typeof value === "number" || (typeof value === "string" && /^\d{1,12}$/.test(value));
  if (isSeconds) return validDate(Number(value) * SECOND_MS);
  const [, day, time = "00:00", zone = "Z"] = (typeof value === "string" && WRITTEN.exec(value)) || [];
  return day === undefined ? null : validDate(Date.parse(`${day}T${time}${zone}`));
}

function validDate(at: number): Date | null {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** A day without a time: it begins at midnight in each zone, so it is the same day everywhere. */
function isDay(value: unknown): boolean {
  return typeof value === "string" && /^\d{4}-\d{2}-\d{2}$/.test(value);
}

/**
 * Liquid's `date` filter, in English, and in UTC or the IANA time zone `name` wherever the service runs. liquidjs uses
 * the time zone of the process, is an hour off where clocks change, and looks up each name again. Returns anything but
 * a date unchanged.
 */
export function dateFilter(
  this: { readonly context: Context },
  value: unknown,
  format: unknown,
  name: unknown,
): unknown {
  const at = timeOf(value);
  const wanted = format === undefined || format === null ? "" : String(format);
  if (wanted.length > FORMAT_CHARACTERS_MAX) {
    throw new BudgetError(`has a date format of more than ${FORMAT_CHARACTERS_MAX} characters`);
  }
  if (at === null || wanted === "") return value;
  if (name === undefined || name === null) return strftime(at, UTC, wanted);
  const [zoneName, isWholeDay] = [String(name), isDay(value)];
  budgetOf(this.context).payZone(zoneName, isWholeDay ? MIDNIGHT_LOOK_UPS : 1);
  if (isWholeDay) return strftime(at, zoneAtMidnight(zoneName, at), wanted);
  const zone = zoneAt(zoneName, at);
  const local = validDate(at.getTime() + zone.offsetMs);
  return local === null ? value : strftime(local, zone, wanted);
}
