import { NOTE_CHARACTERS_MAX } from "../../commands/suppression/addOrRemoveSuppression.ts";
import { type Address, parseAddress } from "../../kernel/text/emailAddress.ts";
import { unguardFormulas } from "../../kernel/text/guardFormulas.ts";
import { parseJson } from "../../kernel/text/json.ts";
import { excerpt } from "../../kernel/text/textLength.ts";
import { csvRecords } from "./csvRecords.ts";

/** An address to suppress, with the reason the file gives. */
export interface ImportedAddress {
  readonly address: Address;
  readonly note: string | null;
}

/** What a file holds. */
export interface ImportedAddresses {
  /** Each address once, however often and however spelled the file has it. */
  readonly addresses: readonly ImportedAddress[];
  /** How many entries of our own lists have no address any more, because it was erased. */
  readonly erased: number;
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
}

/** A file that is no list at all has millions of faults. */
const FAULTS_KEPT_MAX = 10;

/** Names of columns and members that hold an address, in our own list and in exports of other services. */
const ADDRESS_NAMES = ["email", "address", "emailaddress", "recipient"];
/** Names of those that hold a reason. */
const NOTE_NAMES = ["note", "reason", "suppressionreason", "error"];
/** The reason of what is added by hand, as everything that is imported will be: as a note it says nothing. */
const REASON_OF_IMPORTS = "manual";
/**
 * The columns of the dashboard's own file, which puts an apostrophe before what a spreadsheet would take for a formula.
 * It is taken off only where all of them are: elsewhere it may belong to the address.
 */
const OWN_COLUMNS = ["address", "reason", "note", "emailid", "createdat"];

function comparableName(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, "");
}

function keptNote(note: string): string | null {
  return note === REASON_OF_IMPORTS ? null : excerpt(note, NOTE_CHARACTERS_MAX) || null;
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
  let erased = 0;
  let invalid = 0;
  for (const { place, address: given, note } of entries) {
    if (given === null) {
      erased += 1;
      continue;
    }
    const address = parseAddress(given);
    if ("invalid" in address) {
      invalid += 1;
      if (faults.length < FAULTS_KEPT_MAX) faults.push(`${place} ${address.invalid}`);
    } else if (!addresses.has(address.canonical))
      addresses.set(address.canonical, { address, note: keptNote(note) });
  }
  return { addresses: [...addresses.values()], erased, invalid, faults };
}

function csvEntries(text: string): Iterable<Entry> | null {
  const [first] = csvRecords(text);
  const names = first?.fields.map(comparableName) ?? [];
  const addressAt = names.findIndex((name) => ADDRESS_NAMES.includes(name));
  const notesAt = NOTE_NAMES.map((name) => names.indexOf(name)).filter((index) => index >= 0);
  if (addressAt >= 0) {
    const isOwn = OWN_COLUMNS.every((name) => names.includes(name));
    const textOf = isOwn ? unguardFormulas : (cell: string) => cell;
    const addressOf = (cell: string) => (isOwn && cell === "" ? null : textOf(cell));
    return csvRecords(text)
      .drop(1)
      .map(({ line, fields }) => ({
        place: `line ${line}`,
        address: addressOf(fields[addressAt] ?? ""),
        note: textOf(notesAt.map((index) => fields[index]).find(Boolean) ?? ""),
      }));
  }
  // Without column names, several columns could hold anything.
  if (names.length > 1) return null;
  return csvRecords(text).map(({ line, fields: [address = ""] }) => ({
    place: `line ${line}`,
    address,
    note: "",
  }));
}

function jsonEntries(text: string): Iterable<Entry> | null {
  const items = itemsOf(parseJson(text));
  let index = -1;
  const entries = items?.values().map((item) => {
    index += 1;
    const place = `entry ${index + 1}`;
    if (typeof item === "string") return { place, address: item, note: "" };
    const address = memberOf(item, ADDRESS_NAMES) || (isErased(item) ? null : "");
    return { place, address, note: memberOf(item, NOTE_NAMES) };
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

/** The first text among the members with one of these names, in the names' order; "" if there is none. */
function memberOf(item: unknown, names: readonly string[]): string {
  const members = Object.entries(item ?? {}).filter(([, value]) => typeof value === "string" && value !== "");
  const found = names.flatMap((name) => members.filter(([member]) => comparableName(member) === name));
  return found[0]?.[1] ?? "";
}
