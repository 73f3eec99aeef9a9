import { NOTE_CHARACTERS_MAX } from "../../commands/suppression/addOrRemoveSuppression.ts";
import type { SuppressionReason } from "../../domain/suppression/events.ts";
import { type Address, parseAddress } from "../../kernel/text/emailAddress.ts";
import { unguardFormulas } from "../../kernel/text/guardFormulas.ts";
import { parseJson } from "../../kernel/text/json.ts";
import { excerpt } from "../../kernel/text/textLength.ts";
import { csvRecords } from "./csvRecords.ts";

/** An address to suppress, with the reason the file gives. */
export interface ImportedAddress {
  readonly address: Address;
  readonly reason: SuppressionReason;
  /** What the file says beyond the reason; null if nothing. */
  readonly note: string | null;
}

/** What a file holds. */
export interface ImportedAddresses {
  /** Each address once, however often and however spelled the file has it. */
  readonly addresses: readonly ImportedAddress[];
  /** How many entries of our own lists have no address any more, because it was erased. */
  readonly erased: number;
  /** How many entries say that their address gets mail, by what they say, such as `unsubscribed=false`. */
  readonly notSuppressed: ReadonlyMap<string, number>;
  /** How many entries are not addresses. */
  readonly invalid: number;
  /** The first of them, and why: a sentence each, without any content of the file. */
  readonly faults: readonly string[];
}

/** One entry of the file, as text. */
interface Entry {
  readonly place: string;
  /** Null if it was erased. */
  readonly address: string | null;
  readonly note: string;
  readonly reason: SuppressionReason;
  /** What says that the address gets mail, such as `unsubscribed=false`; null if nothing. */
  readonly getsMail: string | null;
}

/** A file that is no list at all has millions of faults. */
const FAULTS_KEPT_MAX = 10;

/** Names of columns and members that hold an address, in our own list and in exports of other services. */
const ADDRESS_NAMES = ["email", "address", "emailaddress", "recipient"];
/** Names of those that hold a reason. */
const NOTE_NAMES = ["note", "reason", "suppressionreason", "error"];
/** Names of those that may name one of our reasons: `Type` in Postmark's bounces, `origin` in Resend's suppressions. */
const REASON_NAMES = ["reason", "suppressionreason", "origin", "type"];
/** What says `false` of an address that gets mail: Resend lists all contacts, and Postmark all bounces. */
const SUPPRESSED_NAMES = ["unsubscribed", "inactive"];
/** Our reasons, as our own lists and other services write them. */
const REASONS: ReadonlyMap<string, SuppressionReason> = new Map([
  ["bounce", "bounce"],
  ["bounced", "bounce"],
  ["hardbounce", "bounce"],
  ["complaint", "complaint"],
  ["complained", "complaint"],
  ["spamcomplaint", "complaint"],
  ["manual", "manual"],
]);
/**
 * The columns of the dashboard's own file, which puts an apostrophe before what a spreadsheet would take for a formula.
 * It is taken off only where all of them are: elsewhere it may belong to the address.
 */
const OWN_COLUMNS = ["address", "reason", "note", "emailid", "createdat"];

/** An entry that says nothing but its address. */
const BARE = { note: "", reason: "manual", getsMail: null } as const;

function comparableName(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, "");
}

/** A note that only names the reason says nothing more. */
function keptNote(note: string): string | null {
  return REASONS.has(comparableName(note)) ? null : excerpt(note, NOTE_CHARACTERS_MAX) || null;
}

/** The first of our reasons among what an entry says; `manual`, as for what is added by hand, if it says another or none. */
function reasonOf(said: readonly string[]): SuppressionReason {
  const known = said.map((text) => REASONS.get(comparableName(text)));
  return known.find((reason) => reason !== undefined) ?? "manual";
}

function isFalse(value: unknown): boolean {
  return String(value).toLowerCase() === "false";
}

/**
 * Reads the addresses of a file: one per line, CSV with a column for them, or JSON with a list of addresses or of
 * objects that have one. Null if it cannot tell where they are.
 */
export function importedAddresses(text: string): ImportedAddresses | null {
  const content = text.replace(/^\uFEFF/, "");
  const entries = /^\s*[[{]/.test(content) ? jsonEntries(content) : csvEntries(content);
  if (entries === null) return null;
  const addresses = new Map<string, ImportedAddress>();
  const faults: string[] = [];
  const notSuppressed = new Map<string, number>();
  let erased = 0;
  let invalid = 0;
  for (const { place, address: given, note, reason, getsMail } of entries) {
    if (getsMail !== null) {
      notSuppressed.set(getsMail, (notSuppressed.get(getsMail) ?? 0) + 1);
      continue;
    }
    if (given === null) {
      erased += 1;
      continue;
    }
    const address = parseAddress(given);
    if ("invalid" in address) {
      invalid += 1;
      if (faults.length < FAULTS_KEPT_MAX) faults.push(`${place} ${address.invalid}`);
    } else if (!addresses.has(address.canonical))
      addresses.set(address.canonical, { address, reason, note: keptNote(note) });
  }
  return { addresses: [...addresses.values()], erased, notSuppressed, invalid, faults };
}

function csvEntries(text: string): Iterable<Entry> | null {
  const [first] = csvRecords(text);
  const names = first?.fields.map(comparableName) ?? [];
  const placesOf = (wanted: readonly string[]) =>
    wanted.map((name) => names.indexOf(name)).filter((index) => index >= 0);
  const addressAt = names.findIndex((name) => ADDRESS_NAMES.includes(name));
  const [notesAt, reasonsAt, suppressedAt] = [NOTE_NAMES, REASON_NAMES, SUPPRESSED_NAMES].map(placesOf);
  if (addressAt >= 0) {
    const isOwn = OWN_COLUMNS.every((name) => names.includes(name));
    const textOf = isOwn ? unguardFormulas : (cell: string) => cell;
    const addressOf = (cell: string) => (isOwn && cell === "" ? null : textOf(cell));
    return csvRecords(text)
      .drop(1)
      .map(({ line, fields }) => {
        const textsAt = (places: readonly number[] = []) =>
          places.map((index) => textOf(fields[index] ?? ""));
        const saysFalse = suppressedAt?.find((index) => isFalse(fields[index]));
        return {
          place: `line ${line}`,
          address: addressOf(fields[addressAt] ?? ""),
          note: textsAt(notesAt).find(Boolean) ?? "",
          reason: reasonOf(textsAt(reasonsAt)),
          getsMail: saysFalse === undefined ? null : `${first?.fields[saysFalse]}=false`,
        };
      });
  }
  // Without column names, several columns could hold anything.
  if (names.length > 1) return null;
  return csvRecords(text).map(({ line, fields: [address = ""] }) => ({
    ...BARE,
    place: `line ${line}`,
    address,
  }));
}

function jsonEntries(text: string): Iterable<Entry> | null {
  const items = itemsOf(parseJson(text));
  let index = -1;
  const entries = items?.values().map((item) => {
    index += 1;
    const place = `entry ${index + 1}`;
    if (typeof item === "string") return { ...BARE, place, address: item };
    const [address = isErased(item) ? null : ""] = textsOf(item, ADDRESS_NAMES);
    const [note = ""] = textsOf(item, NOTE_NAMES);
    return {
      place,
      address,
      note,
      reason: reasonOf(textsOf(item, REASON_NAMES)),
      getsMail: getsMailOf(item),
    };
  });
  return entries ?? null;
}

/** The value if it is a list, or the only list among an object's members; else null. */
function itemsOf(value: unknown): readonly unknown[] | null {
  if (Array.isArray(value)) return value;
  const lists = Object.values(value ?? {}).filter((member) => Array.isArray(member));
  return lists.length === 1 ? (lists[0] ?? null) : null;
}

/** Whether it is a suppression of our own list whose address was erased. */
function isErased(item: unknown): boolean {
  return typeof item === "object" && item !== null && "address" in item && item.address === null;
}

/** The texts of the members with one of these names, in the names' order, without empty ones. */
function textsOf(item: unknown, names: readonly string[]): readonly string[] {
  const members = Object.entries(item ?? {}).filter(([, value]) => typeof value === "string" && value !== "");
  return names.flatMap((name) =>
    members.filter(([member]) => comparableName(member) === name).map(([, value]) => value),
  );
}

/** What says of an item that its address gets mail; null if nothing. */
function getsMailOf(item: unknown): string | null {
  const found = Object.entries(item ?? {}).find(
    ([member, value]) => SUPPRESSED_NAMES.includes(comparableName(member)) && isFalse(value),
  );
  return found === undefined ? null : `${found[0]}=false`;
}
