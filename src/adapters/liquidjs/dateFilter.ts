import { SECOND_MS } from "../../kernel/time.ts";
import { BudgetError } from "./renderBudget.ts";

/** No sensible date format is longer. */
const FORMAT_CHARACTERS_MAX = 200;
const WIDTH_MAX = 40;

const MONTHS = "January February March April May June July August September October November December".split(
  " ",
);
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");
const SHORT = 3;

type Directive = (at: Date) => string | number;

function nameOf(names: readonly string[], index: number): string {
  return names[index] ?? "";
}

/** Days since 1 January, from 1. */
function dayOfYear(at: Date): number {
  const day = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate());
  return 1 + (day - Date.UTC(at.getUTCFullYear(), 0, 1)) / 86_400_000;
}

const hour12 = (at: Date) => at.getUTCHours() % 12 || 12;

/** The strftime directives that make sense for a date in UTC: value, minimum width, padding. */
const DIRECTIVES: Readonly<Record<string, readonly [Directive, number?, string?]>> = {
  a: [(at) => nameOf(DAYS, at.getUTCDay()).slice(0, SHORT)],
  A: [(at) => nameOf(DAYS, at.getUTCDay())],
  b: [(at) => nameOf(MONTHS, at.getUTCMonth()).slice(0, SHORT)],
  B: [(at) => nameOf(MONTHS, at.getUTCMonth())],
  c: [(at) => strftime(at, "%a %b %e %H:%M:%S %Y")],
  C: [(at) => Math.floor(at.getUTCFullYear() / 100), 2],
  d: [(at) => at.getUTCDate(), 2],
  D: [(at) => strftime(at, "%m/%d/%y")],
  e: [(at) => at.getUTCDate(), 2, " "],
  F: [(at) => strftime(at, "%Y-%m-%d")],
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
  R: [(at) => strftime(at, "%H:%M")],
  s: [(at) => Math.floor(at.getTime() / SECOND_MS)],
  S: [(at) => at.getUTCSeconds(), 2],
  t: [() => "\t"],
  T: [(at) => strftime(at, "%H:%M:%S")],
  u: [(at) => at.getUTCDay() || 7],
  w: [(at) => at.getUTCDay()],
  x: [(at) => strftime(at, "%m/%d/%y")],
  X: [(at) => strftime(at, "%H:%M:%S")],
  y: [(at) => at.getUTCFullYear() % 100, 2],
  Y: [(at) => at.getUTCFullYear(), 4],
  z: [() => "+0000"],
  Z: [() => "UTC"],
  "%": [() => "%"],
};

/** Ruby's strftime, as in Liquid: flags `-` (no padding), `_` (spaces), `0` (zeros), `^` (capitals), and a width. */
function strftime(at: Date, format: string): string {
  return format.replace(/%([-_0^]*)(\d*)(.)/gs, (whole, flags: string, width: string, name: string) => {
    const [value, widthMin = 0, padding = "0"] = DIRECTIVES[name] ?? [];
    if (value === undefined) return whole;
    const text = flags.includes("^") ? String(value(at)).toUpperCase() : String(value(at));
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

/**
 * Liquid's `date` filter, in UTC and English wherever the service runs. liquidjs uses the time zone of the process, is
 * an hour off where clocks change, and looks up each name again. Returns anything but a date unchanged.
 */
export function dateFilter(value: unknown, format: unknown): unknown {
  const at = timeOf(value);
  const wanted = format === undefined || format === null ? "" : String(format);
  if (wanted.length > FORMAT_CHARACTERS_MAX) {
    throw new BudgetError(`has a date format of more than ${FORMAT_CHARACTERS_MAX} characters`);
  }
  return at === null || wanted === "" ? value : strftime(at, wanted);
}
