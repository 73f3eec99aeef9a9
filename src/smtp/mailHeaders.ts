import {
  HEADER_VALUE_CHARACTERS_MAX,
  HEADERS_MAX,
  headerFault,
  isCallerHeader,
  isForRelay,
  oneClickFault,
} from "../domain/email/callerHeaders.ts";
import type { ParsedMail } from "../ports/submission/mailParser.ts";

/** Headers meant for us. */
const FOR_US = /^x-(?:idempotency-key$|postledger-)/;
/** Headers added by servers that the mail passed through. */
const ADDED_ON_THE_WAY = /^x-(?:sg-|ms-exchange-|microsoft-|forefront-|google-|gm-|received$|spam-)/;

/** Whether a header, by its name in lower case, may become one of the message's. */
function isOwn(lowerName: string): boolean {
  // What is meant for a relay was meant for the service that was used before this one.
  const isForOthers = isForRelay(lowerName) || ADDED_ON_THE_WAY.test(lowerName);
  return isCallerHeader(lowerName) && !FOR_US.test(lowerName) && !isForOthers;
}

/** The fields that RFCs let a mail write in more ways than a send does, and how a send writes them. */
const REWRITTEN: Readonly<Record<string, (text: string) => string>> = {
  references: messageIds,
  "in-reply-to": messageIds,
  "list-help": listedUris,
  "list-unsubscribe": listedUris,
  "list-subscribe": listedUris,
  "list-owner": listedUris,
  "list-archive": listedUris,
  "list-post": (text) => (/^NO\b/i.test(text) ? "NO" : listedUris(text)),
  "list-id": listId,
  "auto-submitted": withoutParameters,
};

/** The name as the mail spells it. */
type Header = readonly [name: string, value: string];

/**
 * The mail's headers that go out with its messages, as the `headers` of a send. None of them decides who gets the mail,
 * and servers on the way add whatever they like, so those that a send cannot carry are dropped: the first of several
 * equal names counts, and the last of the X- headers make way if there are too many.
 */
export function mailHeaders({ headers }: ParsedMail): Readonly<Record<string, string>> {
  const kept = new Map<string, Header>();
  for (const { name, value } of headers) {
    const lower = name.toLowerCase();
    if (!isOwn(lower) || kept.has(lower)) continue;
    const text = unfolded(value);
    const written = REWRITTEN[lower]?.(text) ?? text;
    if (headerFault(name, written) === null) kept.set(lower, [name, written]);
  }
  const isX = ([lower]: readonly [string, Header]) => lower.startsWith("x-");
  const all = [...kept];
  const own = new Map([...all.filter((one) => !isX(one)), ...all.filter(isX)].slice(0, HEADERS_MAX));
  const values = new Map([...own].map(([lower, [, value]]) => [lower, value]));
  if (oneClickFault(values) !== null) own.delete("list-unsubscribe-post");
  return Object.fromEntries(own.values());
}

/** The text of a field's value. The folding of a long line is not part of it. */
export function unfolded(value: string): string {
  return value.replace(/[ \t]+/g, " ").trim();
}

/**
 * Message-IDs (RFC 5322 §3.6.4) one space apart. Of a thread that is too long for one field, the message that began it
 * and the latest ones remain (RFC 5537 §3.4.4).
 */
function messageIds(text: string): string {
  const [first, ...later] = text.match(/<[^<>\s@]+@[^<>\s@]+>/g) ?? [];
  if (first === undefined) return "";
  const latest = later.toReversed();
  const count = Math.max(0, fitting([first, ...latest], " ") - 1);
  return [first, ...latest.slice(0, count).reverse()].join(" ");
}

/** The URIs of a list field, the preferred ones first, without folding and without the comments between (RFC 2369 §2). */
function listedUris(text: string): string {
  const uris = (text.match(/<[^<>]*>/g) ?? []).map((uri) => uri.replaceAll(" ", ""));
  return uris.slice(0, fitting(uris, ", ")).join(", ");
}

/** The list's id in brackets, with its description unless only an encoded word could express that (RFC 2919 §2). */
function listId(text: string): string {
  if (headerFault("List-Id", text) === null) return text;
  const [bracketed = `<${text}>`] = /<[^<>]*>/.exec(text) ?? [];
  return bracketed;
}

/** The keyword of Auto-Submitted (RFC 3834 §5). */
function withoutParameters(text: string): string {
  return text.replace(/[;(].*$/s, "").trim();
}

/** How many of the parts, from the first, one header can hold. */
function fitting(parts: readonly string[], separator: string): number {
  let characters = 0;
  const over = parts.findIndex((part, index) => {
    characters += part.length + (index === 0 ? 0 : separator.length);
    return characters > HEADER_VALUE_CHARACTERS_MAX;
  });
  return over < 0 ? parts.length : over;
}
