import { AssertionError, Tokenizer, TypeGuards } from "liquidjs";
import { LRUCache } from "lru-cache";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";
import { ZONES_MAX } from "./renderBudget.ts";

/** No IANA name is longer. */
const NAME_UNITS_MAX = 64;
/** By lower-case name; each takes 55 kB. */
const formats = new LRUCache<string, Intl.DateTimeFormat>({ max: ZONES_MAX });

/** How long the clocks of an IANA time zone are ahead of UTC at a time, in ms. Throws if there is no such zone. */
export function zoneOffsetMs(zone: string, at: Date): number {
  const [, sign, hours, minutes, seconds = 0] = OFFSET.exec(formatOf(zone).format(at)) ?? [];
  const ms = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * MINUTE_MS + Number(seconds) * SECOND_MS;
  return sign === "-" ? -ms : ms;
}

/** At the end of a formatted time. Before standard time, offsets have seconds. */
const OFFSET = /GMT([-+])(\d+):(\d+)(?::(\d+))?$/;

function formatOf(zone: string): Intl.DateTimeFormat {
  const key = zone.toLowerCase();
  const known = formats.get(key);
  if (known) return known;
  const made = newFormat(zone);
  if (made === null) throw new AssertionError(`has an unknown time zone: ${zone.slice(0, NAME_UNITS_MAX)}`);
  formats.set(key, made);
  return made;
}

function newFormat(timeZone: string): Intl.DateTimeFormat | null {
  // `Intl` also takes offsets such as +01:00, which are no zones.
  if (timeZone.length > NAME_UNITS_MAX || !/^[a-z]/i.test(timeZone)) return null;
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  } catch {
    return null;
  }
}

/**
 * Refuses an unknown time zone that is written into a `date` filter when the template is parsed, so that its draft is
 * refused and not every send. liquidjs makes its tokenizers itself, so this replaces their method.
 */
export function checkWrittenZones(): void {
  const { readFilter } = Tokenizer.prototype;
  Tokenizer.prototype.readFilter = function (this: Tokenizer) {
    const filter = readFilter.call(this);
    const zone = filter?.name === "date" ? filter.args[1] : undefined;
    if (TypeGuards.isQuotedToken(zone)) formatOf(zone.content);
    return filter;
  };
}
