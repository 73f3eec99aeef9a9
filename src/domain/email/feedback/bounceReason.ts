import { RELAY_REPLY_READINGS, type RefusalReason, reasonOfReply } from "../delivery/smtpReplyRules.ts";

/**
 * Whose fault a bounce is. `hard`: the address will never accept mail. `policy`: the fault is ours, our content's or the
 * route's. `soft`: everything else, such as a full mailbox or a server that was down for too long.
 */
export type BounceKind = "hard" | "soft" | "policy";

export interface BounceReason {
  readonly kind: BounceKind;
  readonly reason: RefusalReason;
  /** The reply code (RFC 5321), if the report quotes a server's reply. */
  readonly code?: number;
  /** RFC 3463. */
  readonly enhancedCode?: string;
}

/** What a report says: a status, and a server's reply or words in its place. Either may be "". */
export interface BounceEvidence {
  readonly status: string;
  readonly diagnostic: string;
}

/** Matching takes time quadratic in the length of a reply. */
const DIAGNOSTIC_CHARACTERS_MAX = 1_000;

const REPLY_CODE = "4[2357]\\d|5[0-7]\\d";
const ENHANCED = "[45]\\.\\d{1,3}\\.\\d{1,3}";
/** A reply code with its enhanced code: `550 5.1.1`, `550-5.1.1`, `550-'5.2.2`, `550 #5.1.0`. */
const CODED_REPLY = new RegExp(`(?<![\\d.:])(${REPLY_CODE})[ -]+['"#(]{0,2}(${ENHANCED})(?!\\.?\\d)`, "g");
const BARE_ENHANCED = new RegExp(`(?<![\\d.])(${ENHANCED})(?!\\.?\\d)`, "g");
const BARE_REPLY = new RegExp(`(?<![\\d.:])(${REPLY_CODE})(?=[ -])`, "g");

/** The code that a status begins with. Nothing after it counts, because the log keeps it for good. */
const STATED = /^\s*([245]\.\d{1,3}\.\d{1,3})(?![.\d])/;
/** Statuses that say nothing, or only that delivery timed out: a code in the reply itself says more. */
const VAGUE_STATUS = /^(?:[45]\.\d+\.0|[45]\.0\.\d+|[45]\.4\.7|5\.3\.\d+|)$/;

/** The domain does not exist, and no retry changes that. `Host not found, try again` is about the resolver instead. */
const NO_SUCH_DOMAIN =
  /(?:host or domain name|domain name|domain|host(?:name)?)(?: name)? (?:was |is )?(?:not found|unknown|does(?: not|n't) exist)|unknown (?:mail )?(?:host|domain)|no such (?:host|domain)|nxdomain|unrouteable mail domain|illegal host\/domain|couldn't find any host named|could not find any host/i;
const RESOLVER_TROUBLE = /try again|temporar|timed? ?out|servfail/i;
/** A reply to MAIL FROM: before any recipient is named, it is about us. Reports name no other stage. */
const TO_MAIL_FROM = /\b(?:in reply to|after|like our) (?:the )?MAIL(?: FROM)?\b|\[MAIL_FROM\]/;
const LEADING_CODES = new RegExp(`^(?:${REPLY_CODE})[ -]+#?(?:${ENHANCED})?[ -]*`);
/** Domino's address book. Other replies that say "listed" may be about lists of senders. */
const NOT_LISTED = /not listed in (?:domino|public)/i;
/** What servers say about addresses that are gone, beside what the relay reply rules know. */
const ADDRESS_GONE =
  /(?:no|not a) (?:such|valid|known) (?:user|person|account|address|mailbox|recipient)|(?:user|recipient|address|mailbox|account)(?: name)? (?:is |was )?(?:unknown|not (?:found|recogni[sz]ed|listed)|invalid|does not exist|unavailable or not local)|an MX or SRV record indicated no SMTP service|domain (?:is )?not reachable|(?:unknown|bad) (?:user|recipient|address|destination mailbox)|RecipientNotFound|RecipNotFound|no longer (?:exists|valid|available)|does(?: not|n't) have an? (?:\S+ )?account|no mailbox here|nobody by that name|address (?:couldn't|could not) be found|wasn't found at|account that you tried to reach does not exist|couldn't be delivered.{0,40}unknown/i;

interface Codes {
  readonly code: number | null;
  readonly enhanced: string;
}

/** The codes of the innermost reply: a server that passes a reply on puts its own before it. */
function innermostCodes(diagnostic: string): Codes {
  const coded = [...diagnostic.matchAll(CODED_REPLY)].at(-1);
  if (coded !== undefined) return { code: Number(coded[1]), enhanced: coded[2] ?? "" };
  const replies = [...diagnostic.matchAll(BARE_REPLY)].map(([, reply = ""]) => reply);
  // A transcript may continue with the next recipient or server, so the last 5xx counts.
  const code = replies.findLast((reply) => reply.startsWith("5")) ?? replies.at(-1);
  const enhanced = [...diagnostic.matchAll(BARE_ENHANCED)].at(-1)?.[1] ?? "";
  return { code: code === undefined ? null : Number(code), enhanced };
}

function isVague(status: string, inner: string): boolean {
  return VAGUE_STATUS.test(status) || (status === "5.1.1" && inner === "5.7.1");
}

/** The reason, by the relay reply rules or by words that only reports use. */
function reasonOf(code: number, enhanced: string, words: string): RefusalReason | null {
  if (TO_MAIL_FROM.test(words)) return "sender_rejected";
  if (NOT_LISTED.test(words)) return "recipient_address_rejected";
  const said = words.replace(LEADING_CODES, "");
  const known = reasonOfReply(code, `${code} ${enhanced} ${said}`.replace(/ {2,}/g, " "));
  if (NO_SUCH_DOMAIN.test(words) && (known === null || known === "no_route")) {
    return RESOLVER_TROUBLE.test(words) ? "no_route" : "recipient_address_rejected";
  }
  if (known === null && ADDRESS_GONE.test(words)) return "recipient_address_rejected";
  return known;
}

function kindOf(reason: RefusalReason): BounceKind {
  const { permanent } = RELAY_REPLY_READINGS[reason];
  if (permanent === "suppress") return "hard";
  if (permanent === "bounced" || reason === "message_too_large") return "soft";
  return "policy";
}

/** A bounce that says nothing lasting about the address it was sent to, and so suppresses none. */
export function asTransient(read: BounceReason): BounceReason {
  return read.kind === "hard" ? { ...read, kind: "soft", reason: "recipient_refused" } : read;
}

/** Classifies a bounce. A temporary code is never hard: that server gave up, but may accept mail again. */
export function bounceReason({ status, diagnostic }: BounceEvidence): BounceReason {
  const words = diagnostic.slice(0, DIAGNOSTIC_CHARACTERS_MAX);
  const inner = innermostCodes(words);
  const stated = STATED.exec(status)?.[1] ?? "";
  const enhanced = inner.enhanced !== "" && isVague(stated, inner.enhanced) ? inner.enhanced : stated;
  const isPermanent = enhanced === "" ? (inner.code ?? 500) >= 500 : enhanced.startsWith("5");
  const code = inner.code ?? (isPermanent ? 550 : 450);
  const codes = {
    ...(inner.code === null ? {} : { code: inner.code }),
    ...(enhanced === "" ? {} : { enhancedCode: enhanced }),
  };
  const reason = reasonOf(code, enhanced, words);
  if (isPermanent)
    return { kind: kindOf(reason ?? "recipient_refused"), reason: reason ?? "recipient_refused", ...codes };
  const isAddress = reason === null || RELAY_REPLY_READINGS[reason].permanent === "suppress";
  const lasting = isAddress ? "delivery_expired" : reason;
  const kind = kindOf(lasting);
  return { kind: kind === "hard" ? "soft" : kind, reason: lasting, ...codes };
}
