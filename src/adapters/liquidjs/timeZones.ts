import { AssertionError, Tokenizer, TypeGuards } from "liquidjs";
import { LRUCache } from "lru-cache";
import { DAY_MS, type EpochMs, MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";
import { BudgetError, ZONES_MAX } from "./renderBudget.ts";

/** No IANA name is longer. */
const NAME_UNITS_MAX = 64;
/** What {@link ianaNames} returns. Listing the zones takes 2 ms, so no start waits for it. */
let knownNames: Map<string, string> | undefined;
/** By IANA name; each takes 55 kB. */
const formats = new LRUCache<string, Intl.DateTimeFormat>({ max: ZONES_MAX });

/** The zone of a printed date: its IANA name, and how far its clocks are ahead of UTC at that time. */
export interface Zone {
  readonly name: string;
  readonly offsetMs: number;
}

/** The time zone `name`, in any case, at a time. Throws if there is no such zone. */
export function zoneAt(name: string, at: Date): Zone {
  const ianaName = ianaNameOf(name);
  return { name: ianaName, offsetMs: offsetMsAt(ianaName, at.getTime()) };
}

/** How many offsets `zoneAtMidnight` looks up. */
export const MIDNIGHT_LOOK_UPS = 3;

/**
 * The time zone `name` at its own midnight of the day that begins at `midnight` in UTC. If its clocks show midnight
 * twice, the first counts; if they skip it, the offset from before. Throws if there is no such zone.
 */
export function zoneAtMidnight(name: string, midnight: Date): Zone {
  const ianaName = ianaNameOf(name);
  const at = midnight.getTime();
  const offsetBefore = offsetMsAt(ianaName, at - DAY_MS);
  const offsetThen = offsetMsAt(ianaName, at - offsetBefore);
  return { name: ianaName, offsetMs: offsetMsAt(ianaName, at - offsetThen) };
}

function offsetMsAt(ianaName: string, at: EpochMs): number {
  const [, sign, hours, minutes, seconds = 0] = OFFSET.exec(formatOf(ianaName).format(at)) ?? [];
  const ms = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * MINUTE_MS + Number(seconds) * SECOND_MS;
  return sign === "-" ? -ms : ms;
}

/** At the end of a formatted time. Before standard time, offsets have seconds. */
const OFFSET = /GMT([-+])(\d+):(\d+)(?::(\d+))?$/;

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const made = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  formats.set(timeZone, made);
  return made;
}

/** The name of a zone as IANA spells it. Throws if there is no such zone. */
function ianaNameOf(zone: string): string {
  const key = zone.length > NAME_UNITS_MAX ? "" : zone.toLowerCase();
  const names = ianaNames();
  const name = names.get(key) ?? aliasOf(key);
  if (name === null) throw new AssertionError(`has an unknown time zone: ${zone.slice(0, NAME_UNITS_MAX)}`);
  names.set(key, name);
  return name;
}

/** IANA names by their lower-case form: those of every zone, and some 150 aliases as they are looked up. */
function ianaNames(): Map<string, string> {
  knownNames ??= new Map(Intl.supportedValuesOf("timeZone").map((name) => [name.toLowerCase(), name]));
  return knownNames;
}

function aliasOf(timeZone: string): string | null {
  // `Intl` also takes offsets such as +01:00, which are no zones.
  if (!/^[a-z]/.test(timeZone)) return null;
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

/** The zones written into the template that is being parsed. Parsing is synchronous, so there is only one. */
const writtenZones = new Set<string>();

/** Starts counting the zones of another template. Call it before parsing one. */
export function resetWrittenZones(): void {
  writtenZones.clear();
}

/**
 * Refuses an unknown time zone that is written into a `date` filter when the template is parsed, and more zones than a
 * render may use, so that the draft is refused and not every send. liquidjs makes its tokenizers itself, so this
 * replaces their method.
 */
export function checkWrittenZones(): void {
  const { readFilter } = Tokenizer.prototype;
  Tokenizer.prototype.readFilter = function (this: Tokenizer) {
    const filter = readFilter.call(this);
    const zone = filter?.name === "date" ? filter.args[1] : undefined;
    if (TypeGuards.isQuotedToken(zone)) writtenZones.add(ianaNameOf(zone.content));
    if (writtenZones.size > ZONES_MAX) throw new BudgetError(`uses more than ${ZONES_MAX} time zones`);
    return filter;
  };
}
