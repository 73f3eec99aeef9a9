import { parseJson } from "../../kernel/text/json.ts";
import { codePoints } from "../../kernel/text/textLength.ts";

/** How many headers of the caller's own a message can carry. */
export const HEADERS_MAX = 20;
export const HEADER_VALUE_CHARACTERS_MAX = 998;
const HEADER_NAME_CHARACTERS_MAX = 76;
/** A word cannot be folded and may share its line with the header's name; a line has 998 octets (RFC 5322 §2.1.1). */
const UNBROKEN_CHARACTERS_MAX = 900;

/** Field names of RFC 5322 §2.2, without the punctuation that relays stumble over. */
const NAME = /^[A-Za-z][A-Za-z0-9_-]*$/;
const ASCII = /^[ -~]+$/;
/** RFC 5322 §3.6.4, as far as readers need it. */
const MESSAGE_IDS = /^<[!-;=?A-~]+@[!-;=?A-~]+>(?: <[!-;=?A-~]+@[!-;=?A-~]+>)*$/;
/** RFC 2369 §2: URIs in angle brackets, the preferred one first. */
const LISTED_URIS = /^<[a-z][a-z0-9+.-]*:[!-;=?-~]+>(?:, ?<[a-z][a-z0-9+.-]*:[!-;=?-~]+>)*$/i;
/** RFC 2919 §2. */
const LIST_ID = /^(?:[ -;=?-~]+ )?<[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+>$/;
const ONE_CLICK = "List-Unsubscribe=One-Click";

/** The syntax of a header whose value is not free text: a pattern, and the end of a sentence about it. */
interface Syntax {
  readonly pattern: RegExp;
  readonly words: string;
}

const URIS: Syntax = {
  pattern: LISTED_URIS,
  words: "must be addresses such as <https://example.com/list>, <mailto:list@example.com>",
};
const IDS: Syntax = {
  pattern: MESSAGE_IDS,
  words: "must be Message-IDs such as <1@example.com>, one space apart",
};

function words(...values: readonly string[]): Syntax {
  return {
    pattern: new RegExp(`^(?:${values.join("|")})$`, "i"),
    words: `must be one of ${values.join(", ")}`,
  };
}

/** The headers with a syntax of their own, by their names in lower case. */
const SYNTAX: ReadonlyMap<string, Syntax> = new Map(
  Object.entries({
    references: IDS,
    "in-reply-to": IDS,
    "list-help": URIS,
    "list-unsubscribe": URIS,
    "list-subscribe": URIS,
    "list-owner": URIS,
    "list-archive": URIS,
    "list-post": { pattern: new RegExp(`${LISTED_URIS.source}|^NO$`, "i"), words: `${URIS.words}, or NO` },
    "list-id": { pattern: LIST_ID, words: "must be an id such as News <news.example.com>, in ASCII" },
    "list-unsubscribe-post": { pattern: new RegExp(`^${ONE_CLICK}$`), words: `must be ${ONE_CLICK}` },
    "auto-submitted": words("no", "auto-generated", "auto-replied", "auto-notified"),
    importance: words("low", "normal", "high"),
    precedence: words("bulk", "list", "junk", "first-class"),
    "feedback-id": { pattern: ASCII, words: "must be ASCII" },
  }),
);

/** The headers that the service writes, and the members of a send that they come from, if any. */
const WRITTEN_BY_US: ReadonlyMap<string, string | null> = new Map(
  Object.entries({
    from: "from and from_name",
    to: "to and to_name",
    "reply-to": "reply_to and reply_to_name",
    subject: "subject",
    date: null,
    "message-id": null,
    "mime-version": null,
  }),
);
/** These name further recipients, but nobody except `to` may get the message. */
const RECIPIENT_HEADERS = ["cc", "bcc"];
/**
 * The headers by which relays take instructions: in this order SendGrid, SparkPost, Amazon SES, Mailgun, Postmark,
 * Mandrill, Mailjet, Brevo, Elastic Email, Mailtrap, MailerSend and MailerQ. Some name further recipients, some replace
 * the content by a template of the operator's account, which all workspaces share, and some choose its streams,
 * configuration sets or identities. The relays add to them now and then, so each of their prefixes is taken as a whole.
 */
const RELAY_INSTRUCTION =
  /^x-(?:smtpapi$|(?:msys|ses|mailgun|pm|mc|mj|mailjet|mailin|sib|elasticemail|mt|mailersend|mq)-)/;
/** Those which only label the message in the relay's reports and events. */
const RELAY_LABEL =
  /^x-(?:ses-message-tags|mailgun-(?:tag|variables)|pm-(?:tag|metadata-.+)|mc-(?:tags|metadata)|mj-(?:customid|eventpayload)|mailjet-campaign|mailin-(?:tag|custom)|mt-(?:category|custom-variables)|mailersend-tags|mq-tag)$/;
/** Providers' events name a message by these. A caller who could set them could make another message count as bounced. */
const NAMES_OF_MESSAGES = {
  field: "x-pm-metadata-postledger_id",
  labels: { fields: ["x-ses-message-tags", "x-mailgun-variables"], label: /postledger_id/i },
} as const;

/** Whether a label names a message. In JSON, as Mailgun takes it, any letter may be escaped. */
function namesMessage(lowerName: string, value: string): boolean {
  const { fields, label } = NAMES_OF_MESSAGES.labels;
  if (!(fields as readonly string[]).includes(lowerName)) return false;
  return label.test(value) || label.test(JSON.stringify(parseJson(value)) ?? "");
}

/** Whether a header, by its name in lower case, is meant for a relay, as an instruction or as a label. */
export function isForRelay(lowerName: string): boolean {
  return RELAY_INSTRUCTION.test(lowerName);
}

/** Whether a header, by its name in lower case, is of a kind that callers may set. */
export function isCallerHeader(lowerName: string): boolean {
  return SYNTAX.has(lowerName) || /^(?:x|list)-./.test(lowerName);
}

/** What is wrong with the name of a header; null if nothing. */
function nameFault(name: string): string | null {
  const lower = name.toLowerCase();
  if (WRITTEN_BY_US.has(lower) || lower.startsWith("content-") || lower.startsWith("x-postledger-")) {
    const member = WRITTEN_BY_US.get(lower) ?? null;
    return `is written by the service${member === null ? "" : `, from ${member}`}`;
  }
  if (lower === NAMES_OF_MESSAGES.field) return "is written by the service";
  if (RECIPIENT_HEADERS.includes(lower)) return "may name further recipients; a message has one";
  if (isForRelay(lower) && !RELAY_LABEL.test(lower))
    return "is an instruction to a relay, which could name further recipients or replace the content";
  if (!isCallerHeader(lower))
    return "is not one that a send can set: X-…, List-…, References, In-Reply-To, Auto-Submitted, Feedback-ID, Importance, Precedence";
  if (name.length <= HEADER_NAME_CHARACTERS_MAX && NAME.test(name)) return null;
  return `must be a name of at most ${HEADER_NAME_CHARACTERS_MAX} letters, digits, - and _`;
}

function valueFault(name: string, value: string): string | null {
  // First, because the patterns below would take seconds for megabytes.
  if (codePoints(value) > HEADER_VALUE_CHARACTERS_MAX)
    return `must have at most ${HEADER_VALUE_CHARACTERS_MAX} characters`;
  if (/\p{Cc}/u.test(value)) return "must hold no line break and no other control character";
  if (value.trim() === "") return "must have visible characters";
  if (namesMessage(name.toLowerCase(), value)) return "must not hold postledger_id, which the service writes";
  const syntax = SYNTAX.get(name.toLowerCase());
  if (syntax === undefined) return null;
  if (!syntax.pattern.test(value)) return syntax.words;
  const isFoldable = value.split(" ").every((part) => part.length <= UNBROKEN_CHARACTERS_MAX);
  return isFoldable ? null : `must have a space after ${UNBROKEN_CHARACTERS_MAX} characters at the latest`;
}

/** What is wrong with one header; null if nothing. */
export function headerFault(name: string, value: string): string | null {
  return nameFault(name) ?? valueFault(name, value);
}

/** RFC 8058 §3.1: the one click goes to an https address. `values`: by the headers' names in lower case. */
export function oneClickFault(values: ReadonlyMap<string, string>): string | null {
  if (!values.has("list-unsubscribe-post")) return null;
  const isThere = /<https:/i.test(values.get("list-unsubscribe") ?? "");
  return isThere ? null : "needs a List-Unsubscribe with an https address beside it (RFC 8058)";
}

/** What is wrong with a header, with its name as it was given, or with all of them together, with the name "". */
interface HeaderFault {
  readonly name: string;
  readonly message: string;
}

/** What is wrong with the headers of a send. */
export function headerFaults(headers: Readonly<Record<string, string>>): readonly HeaderFault[] {
  const entries = Object.entries(headers);
  if (entries.length > HEADERS_MAX)
    return [{ name: "", message: `must hold at most ${HEADERS_MAX} headers` }];
  const values = new Map<string, string>();
  const faults: HeaderFault[] = [];
  for (const [name, value] of entries) {
    const lower = name.toLowerCase();
    const message = values.has(lower) ? "is there twice" : headerFault(name, value);
    if (message !== null) faults.push({ name, message });
    values.set(lower, value);
  }
  const message = faults.length === 0 ? oneClickFault(values) : null;
  const [post = ""] = entries.map(([name]) => name).filter((name) => /^list-unsubscribe-post$/i.test(name));
  return message === null ? faults : [{ name: post, message }];
}
