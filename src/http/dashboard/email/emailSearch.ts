import type { EmailQuery } from "../../../../projections/emails/queries.ts";
import type { Principal } from "../../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../../commands/dependencies.ts";
import { EMAIL_REASONS } from "../../../domain/email/emailReasons.ts";
import { emailIdOfMessageId } from "../../../domain/email/messageId.ts";
import { EMAIL_STATUSES } from "../../../domain/email/state.ts";
import { isApiKeyId } from "../../../kernel/crypto/apiKeyFormat.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { omitUndefined } from "../../../kernel/omitUndefined.ts";
import { parseAddress } from "../../../kernel/text/emailAddress.ts";
import { nearestName } from "../../../kernel/text/nearestName.ts";
import { parseDateTime, rfc3339 } from "../../../kernel/time.ts";
import { emailQuery } from "../../email/emailPages.ts";
import { mayReadContent } from "../../email/redactEmail.ts";
import { nearestFilterValue } from "../../lists/nearestFilterValue.ts";
import { Problem } from "../../server/problem.ts";

/** What can be searched for, in the order in which a search is written. */
export const SEARCH_WORDS = [
  "to",
  "from",
  "status",
  "reason",
  "template",
  "version",
  "apikey",
  "tag",
  "metadata",
  "after",
  "before",
  "key",
] as const;
type SearchWord = (typeof SEARCH_WORDS)[number];

/** Longer than any useful search. */
export const SEARCH_CHARACTERS_MAX = 1_000;

export type SearchTerms = Readonly<Partial<Record<SearchWord, string>>>;

export interface Search {
  /** As typed. */
  readonly text: string;
  readonly words: SearchTerms;
  /**
   * The id of a message, if the search is just that or a Message-ID. Without brackets that may be an address as well, which
   * `words` then has.
   */
  readonly id: string | null;
  /** What could not be understood, a sentence each. */
  readonly faults: readonly string[];
}

/** The words that take several values, separated by commas or as the same word again, as in the API. */
const LIST_WORDS: readonly SearchWord[] = ["status", "reason"];

/** `name:value`, `name: value`, `name:"a value"`, or something alone. After a space, the next word is no value. */
const TOKEN = new RegExp(
  String.raw`([a-z]+):(?:\s*"([^"]*)"|(\S+)|\s+(?!(?:${SEARCH_WORDS.join("|")}):)(\S+))?|(\S+)`,
  "gi",
);

/** Parses the text of the search box: `to:ana@example.com status:bounced`. What it cannot use is a fault. */
export function parseSearch(text: string): Search {
  const words: Partial<Record<SearchWord, string>> = {};
  if (text.length > SEARCH_CHARACTERS_MAX) {
    return { text, words, id: null, faults: [`A search has at most ${SEARCH_CHARACTERS_MAX} characters.`] };
  }
  // With the name of its header, as whoever looks at the source of a mail copies it.
  const alone = text.trim().replace(/^message-id:\s*/i, "");
  if (isUuid(alone)) return { text, words, id: alone.toLowerCase(), faults: [] };
  const id = emailIdOfMessageId(alone);
  if (id !== null) return { text, words: alone.startsWith("<") ? words : { to: alone }, id, faults: [] };
  const faults: string[] = [];
  for (const [, rawName, quoted, joined, apart, alone] of text.matchAll(TOKEN)) {
    const name = alone?.includes("@") ? "to" : rawName?.toLowerCase();
    const value = (quoted ?? joined ?? apart ?? alone ?? "").trim();
    const fault = name === undefined ? aloneFault(value) : addWord(words, name, value);
    if (fault !== null) faults.push(fault);
  }
  if (words.key !== undefined && Object.keys(words).length > 1)
    faults.push("key: names one message, so it takes no other word beside it.");
  return { text, words, id: null, faults };
}

/** Adds a word of a search to those before it, or returns what is wrong with it. */
function addWord(words: Partial<Record<SearchWord, string>>, name: string, value: string): string | null {
  if (!isOneOf(SEARCH_WORDS, name)) return unknownWord(name);
  if (value === "") return `${name}: needs a value.`;
  if (value.includes('"')) return `${name}: takes no quotation mark within its value.`;
  const earlier = words[name];
  if (earlier !== undefined && !LIST_WORDS.includes(name)) return `${name}: can be given once.`;
  words[name] = earlier === undefined ? value : `${earlier},${value}`;
  return null;
}

function isOneOf<Name extends string>(names: readonly Name[], text: string): text is Name {
  return (names as readonly string[]).includes(text);
}

/** The values of a list that is separated by commas, as the API takes it. */
function valuesOf(list: string | undefined): readonly string[] | undefined {
  return list === undefined ? undefined : [...new Set(list.split(",").map((value) => value.trim()))];
}

/** Addresses are kept as hashes, so a name or part of one finds nothing: the hint must not lead to `to:`. */
function aloneFault(text: string): string {
  if (isUuid(text)) return `“${text}” is the id of a message: search for it alone.`;
  const unclear = `“${text}” alone does not say what to look for`;
  const status = nearestName(text, EMAIL_STATUSES);
  if (status !== null) return `${unclear}: did you mean status:${status}?`;
  const reason = nearestName(text, EMAIL_REASONS);
  if (reason !== null) return `${unclear}: did you mean reason:${reason}?`;
  if (pairIn(text) !== null) return `${unclear}: did you mean metadata:${text}?`;
  return `${unclear}: give a whole address, the id of a message, or a word with a value, such as tag:${text} or metadata:order=${text}.`;
}

function unknownWord(name: string): string {
  const meant = nearestName(name, SEARCH_WORDS);
  const hint = meant === null ? "" : ` Did you mean ${meant}:?`;
  return `“${name}:” cannot be searched for.${hint} There are ${SEARCH_WORDS.map((word) => `${word}:`).join(", ")}.`;
}

/** What is wrong with the values of a word, of which only these are known. */
function listFaults(word: SearchWord, known: readonly string[], values: readonly string[] = []) {
  if (values.every((value) => known.includes(value))) return [];
  const meant = nearestFilterValue(known, values);
  const hint = meant === null ? "" : ` Did you mean ${word}:${meant}?`;
  return [`${word}: is one or several of ${known.join(", ")}.${hint}`];
}

export function searchText(words: SearchTerms): string {
  return SEARCH_WORDS.flatMap((name) => {
    const value = words[name]?.trim() ?? "";
    if (value === "") return [];
    return [/\s/.test(value) ? `${name}:"${value}"` : `${name}:${value}`];
  }).join(" ");
}

/** The name and the value in `order=4711`. Null if it lacks one. The first equals sign ends the name. */
function pairIn(text: string): readonly [name: string, value: string] | null {
  const [, name, value] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  return name === undefined || value === undefined ? null : [name, value];
}

/** The search for messages with this pair in their metadata; null if no search can name it. */
export function metadataSearch(name: string, value: string): string | null {
  const text = searchText({ metadata: `${name}=${value}` });
  const [readName, readValue] = pairIn(parseSearch(text).words.metadata ?? "") ?? [];
  return readName === name && readValue === value ? text : null;
}

/** The query of a search from our own forms and links, which must be valid, and not name one message. */
export function queryOfSearch(deps: Pick<Dependencies, "keys">, principal: Principal, text: string) {
  const search = parseSearch(text);
  const parsed = emailQueryOf(deps, principal, search);
  if ("faults" in parsed) throw new Problem("INVALID_REQUEST", { detail: parsed.faults[0] ?? "" });
  if (search.id === null && search.words.key === undefined) return parsed.query;
  throw new Problem("INVALID_REQUEST", { detail: "the search names one message: open that" });
}

/** The query for a search, or its faults, a sentence each. */
export function emailQueryOf(
  deps: Pick<Dependencies, "keys">,
  principal: Principal,
  search: Pick<Search, "words" | "faults">,
): { readonly query: Omit<EmailQuery, "limit"> } | { readonly faults: readonly string[] } {
  const { words } = search;
  const faults = [...search.faults];
  const addressOf = (name: "to" | "from") => {
    const text = words[name];
    if (text === undefined) return undefined;
    const parsed = parseAddress(text);
    if ("canonical" in parsed) return parsed.canonical;
    faults.push(`${name}: takes a whole address, such as ana@example.com.`);
    return undefined;
  };
  const timeOf = (name: "after" | "before") => {
    const text = words[name];
    if (text === undefined) return undefined;
    const at = parseDateTime(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text);
    if (at !== null) return rfc3339(at);
    faults.push(`${name}: takes a day in UTC or a time, such as 2026-11-22 or 2026-11-22T08:30:00Z.`);
    return undefined;
  };
  const pairOf = (text: string) => {
    if (!mayReadContent(principal)) faults.push("metadata: needs a key with the scope email:read.");
    const pair = pairIn(text);
    if (pair === null) faults.push("metadata: takes a name and a value, such as metadata:order=4711.");
    return pair === null ? undefined : Object.fromEntries([pair]);
  };
  const { template, version, apikey: apiKeyId, tag } = words;
  const metadata = words.metadata === undefined ? undefined : pairOf(words.metadata);
  const statuses = valuesOf(words.status);
  const reasons = valuesOf(words.reason);
  faults.push(...listFaults("status", EMAIL_STATUSES, statuses));
  faults.push(...listFaults("reason", EMAIL_REASONS, reasons));
  if (template !== undefined && !isUuid(template)) faults.push("template: takes the id of a template.");
  if (version !== undefined && !isUuid(version))
    faults.push("version: takes the id of a version of a template.");
  if (apiKeyId !== undefined && !isApiKeyId(apiKeyId))
    faults.push("apikey: takes the id of an API key, not the key itself.");
  const to = addressOf("to");
  const from = addressOf("from");
  const created = omitUndefined({ createdFrom: timeOf("after"), createdBefore: timeOf("before") });
  if (faults.length > 0) return { faults };
  const templates = { templateId: template?.toLowerCase(), templateVersionId: version?.toLowerCase() };
  const filters = { statuses, reasons, to, from, ...templates, apiKeyId, tag, metadata, ...created };
  return { query: emailQuery(deps, principal, filters) };
}
