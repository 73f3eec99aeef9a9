import { LOG_IN_CODES } from "../../../kernel/outcome/mailOutcome.ts";

interface Reading {
  /**
   * What a 5xx for this reason means. `suppress`: bounced, and at RCPT the address gets no more mail. `byCode`: 5.7.x is
   * about us (RFC 3463 §3.8), so failed; else bounced.
   */
  readonly permanent: "bounced" | "suppress" | "byCode" | "failed" | "relayFault";
  /** Whose fault a 4xx for this reason is. */
  readonly transient: "recipient" | "relayFault";
}

/**
 * What each reason means. A relay's fault burns no attempt: the message is retried until its lifetime ends. The log keeps
 * the names for good: they are all that is left when the relay's words are gone.
 */
export const RELAY_REPLY_READINGS = {
  account_suspended: { permanent: "relayFault", transient: "relayFault" },
  authentication_required: { permanent: "failed", transient: "relayFault" },
  content_rejected: { permanent: "byCode", transient: "recipient" },
  delivery_expired: { permanent: "bounced", transient: "recipient" },
  greylisted: { permanent: "bounced", transient: "recipient" },
  mailbox_disabled: { permanent: "suppress", transient: "recipient" },
  mailbox_full: { permanent: "bounced", transient: "recipient" },
  message_too_large: { permanent: "byCode", transient: "recipient" },
  no_route: { permanent: "bounced", transient: "recipient" },
  policy_rejected: { permanent: "failed", transient: "recipient" },
  recipient_address_rejected: { permanent: "suppress", transient: "recipient" },
  recipient_deferred: { permanent: "bounced", transient: "recipient" },
  recipient_refused: { permanent: "bounced", transient: "recipient" },
  relay_refused: { permanent: "failed", transient: "recipient" },
  relay_suppressed: { permanent: "bounced", transient: "recipient" },
  relay_unavailable: { permanent: "relayFault", transient: "relayFault" },
  sender_rejected: { permanent: "failed", transient: "recipient" },
  throttled: { permanent: "relayFault", transient: "relayFault" },
  tls_required: { permanent: "relayFault", transient: "relayFault" },
} as const satisfies Readonly<Record<string, Reading>>;

export type RefusalReason = keyof typeof RELAY_REPLY_READINGS;

/** A reply has this reason if any of the given criteria matches. */
interface ReplyRule {
  readonly reason: RefusalReason;
  /** Reply codes (RFC 5321 §4.2). */
  readonly codes?: readonly number[];
  /** Enhanced status codes (RFC 3463). */
  readonly enhanced?: RegExp;
  readonly text?: RegExp;
  /** With these enhanced codes, `text` does not count. */
  readonly textUnless?: RegExp;
}

/**
 * The first matching rule counts. Rules about us come before rules about the recipient: an address taken for a bad one
 * by mistake gets no more mail. Texts are those of SES, Postmark, Mailgun, SendGrid, Gmail, Exchange Online, Postfix,
 * Exim and qmail, as far as their codes do not say enough.
 */
const REPLY_RULES: readonly ReplyRule[] = [
  {
    reason: "throttled",
    // Gmail's daily limit is 5.4.5, Exchange Online's 5.1.90; busy servers of the latter send 4.7.500 to 4.7.699.
    enhanced: /^(?:5\.4\.5|5\.1\.90|4\.7\.[56]\d\d)$/,
    text: /throttl|sending (?:rate|limit|quota)|(?:daily|hourly|monthly|message) (?:\w+ ){0,3}(?:limit|quota) (?:\w+ )?exceeded|exceeded (?:\w+ ){0,3}(?:rate|hourly|daily|sending) (?:\w+ )?limit|(?:credits|rate limit) exceeded|too many (?:concurrent )?(?:smtp )?(?:connections|messages|e?-?mails|requests)|too much mail from|rate.?limit(?:ed|ing)|slow(?:ing)? down|concurrent connections limit|server busy/i,
    // The recipient gets too much mail, whoever sends it.
    textUnless: /^[45]\.2\.\d+$/,
  },
  {
    reason: "account_suspended",
    text: /sending (?:has been |is )?(?:suspended|paused|disabled) for (?:this|your) account|your (?:sending )?account (?:has been |is |was )?(?:currently )?(?:suspended|paused|disabled|locked|blocked|pending approval)|while your account is pending|account is under review/i,
  },
  {
    // RFC 3207 §4 has the code of a required log-in for it.
    reason: "tls_required",
    text: /must issue an? STARTTLS|STARTTLS is required to send mail/i,
  },
  {
    reason: "authentication_required",
    codes: LOG_IN_CODES,
    enhanced: /^5\.7\.57$/,
    text: /authentication (?:is )?required|client (?:was|is) not authenticated|must authenticate/i,
    // Exchange Online, for groups that accept mail only from their own members.
    textUnless: /^5\.7\.1\d\d$/,
  },
  {
    reason: "sender_rejected",
    // Exchange Online: not allowed to send as this sender.
    enhanced: /^(?:[45]\.1\.[78]|5\.7\.60|5\.2\.252)$/,
    text: /email address is not verified|(?:sender|from address|return.?path|envelope.from)\b[^.;]{0,40}\b(?:unknown|invalid|not found|does not exist|doesn't exist)|sender (?:address )?(?:rejected|verify failed|denied|not (?:allowed|verified))|sender ?signature|sendasdenied|send as this sender|verified sender identity|unauthenticated senders|not (?:owned by|allowed to send as)|mail from (?:address )?(?:domain )?(?:is )?(?:not verified|must be)|invalid mail from|bad outbound sender|(?:invalid|unknown|bad) (?:sender|from address|return.?path|envelope.from)\b|domain (?:\S+ )?(?:is |has )?(?:not (?:been )?(?:verified|authenticated)|not allowed to send|unverified)|sandbox subdomains/i,
  },
  {
    reason: "relay_suppressed",
    text: /address (?:is )?blacklisted|on the (?:account-level )?suppression list|marked as inactive|found inactive addresses|previously (?:bounced|complained|unsubscribed)/i,
  },
  {
    reason: "relay_refused",
    text: /relay access denied|relaying (?:denied|not (?:allowed|permitted))|unable to relay|not permitted to relay|allowed rcpthosts|not authorized to perform/i,
  },
  {
    reason: "greylisted",
    text: /gr[ea]y-?list/i,
  },
  // SendGrid of a domain that does not exist or has no mail server; its words go on about a PTR record.
  { reason: "no_route", text: /^(?:\d{3} )?unable to get mx info/i },
  {
    reason: "policy_rejected",
    text: /spamhaus|spamcop|barracudacentral|sorbs|\b(?:dns|r|u)bl\b|block ?list|black ?list|blocked using|banned sending|\breputation\b|\b(?:spf|dkim|dmarc|ptr|rdns)\b|reverse dns|unauthenticated|not authenticated|administrative prohibition|policy (?:reasons|violation|restriction)|unsolicited mail (?:originating )?from your|listed (?:at|by|in|on) /i,
  },
  {
    reason: "content_rejected",
    enhanced: /^[45]\.6\.\d+$/,
    text: /\bspam|unsolicited|virus|malware|phish|potential security issue|content (?:rejected|is not acceptable|filter)|message content/i,
  },
  {
    reason: "mailbox_full",
    enhanced: /^[45]\.2\.2$/,
    text: /(?:mailbox|inbox) (?:is )?(?:full|exceeded)|over ?quota|quota ?exceeded|exceed(?:s|ed) (?:its |the |his |mailbox |allocated )?(?:storage|quota)/i,
  },
  {
    reason: "message_too_large",
    enhanced: /^[45]\.(?:3\.4|2\.3)$/,
    text: /message (?:size )?(?:is )?(?:too (?:large|big|long)|larger|exceed)|(?:fixed|maximum|message) size limit|exceeded \S+ message size/i,
  },
  {
    reason: "delivery_expired",
    enhanced: /^[45]\.4\.7$/,
    text: /message expired|delivery time expired|retry time(?:out)? exceeded/i,
  },
  {
    reason: "mailbox_disabled",
    text: /(?:mailbox|recipient|email account)\b[^.;]{0,60}\b(?:disabled|inactive|suspended|deactivated|discontinued|closed)\b/i,
    textUnless: /^[45]\.7\.\d+$/,
  },
  {
    reason: "recipient_address_rejected",
    // 5.7.17 and 5.7.18: the mailbox or domain has changed owners (RFC 7293).
    enhanced: /^5\.(?:1\.(?:1|2|3|6|10|351)|7\.1[78])$/,
    // Not "account" or "address" alone: relays say that of our account, and of the address we connect from.
    text: /(?:user|recipient|mailbox|email (?:account|address)|alias)\b[^.;]{0,40}\b(?:unknown|not found|(?:does not|doesn't|doesn’t) (?:exist|have an?)|invalid)|(?:unknown|invalid|no such|nonexistent) (?:local |virtual )?(?:user|recipient|mailbox)|no mailbox (?:here )?by that name|recipient address rejected: (?:user|undeliverable|unknown)|unrouteable address|not (?:a valid|our) (?:mailbox|customer|recipient)|doesn't have an? \S+ account/i,
    textUnless: /^[45]\.7\.\d+$/,
  },
  {
    // Microsoft's replies for addresses that do not exist. Elsewhere the same codes may mean anything.
    reason: "recipient_address_rejected",
    text: /^\d{3}[ -](?:5\.5\.0 .*mailbox unavailable|5\.4\.1 recipient address rejected)/i,
  },
  { reason: "no_route", enhanced: /^[45]\.4\.\d+$/, text: /too many hops|mail loop|loops back to myself/i },
  { reason: "policy_rejected", enhanced: /^5\.7\.\d+$/ },
];

/** Addresses and links are not the relay's own words: an account may be called `spam`. */
const IN_BRACKETS = /<[^<>]*>/g;
const LINK = /https?:\S*/g;
/** Checked word by word: an expression for addresses would scan a long word once for each of its characters. */
const WORD = /\S+/g;
const CODE = /\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/;
const LEADING_CODE = new RegExp(`^${CODE.source}`);
/** Exchange wraps the reply of the next server. */
const WRAPPED_CODE = new RegExp(`-> ?${CODE.source}`);

/** The enhanced status code (RFC 2034) that follows the reply code; "" when there is none. */
export function enhancedCode(reply: string): string {
  return LEADING_CODE.exec(reply)?.[1] ?? "";
}

function matches(rule: ReplyRule, code: number, enhanced: string, words: string): boolean {
  if (rule.codes?.includes(code) || rule.enhanced?.test(enhanced)) return true;
  return rule.text !== undefined && !rule.textUnless?.test(enhanced) && rule.text.test(words);
}

function wordsOf(reply: string): string {
  return reply
    .replace(IN_BRACKETS, "<>")
    .replace(WORD, (word) => (word.includes("@") ? "<>" : word))
    .replace(LINK, "<>");
}

/** The reason that a reply gives; null if neither its code nor its words give one. */
export function reasonOfReply(code: number, reply: string): RefusalReason | null {
  const enhanced = WRAPPED_CODE.exec(reply)?.[1] ?? enhancedCode(reply);
  const words = wordsOf(reply);
  return REPLY_RULES.find((rule) => matches(rule, code, enhanced, words))?.reason ?? null;
}

/** At the end: where more follows, that says what the refusal is about. */
const ACCESS_DENIED = /\baccess denied\.?$/i;
/** No enhanced code, or one that says no more than "security" or "not authorized" (RFC 3463 §3.8). */
const NOT_AUTHORIZED = /^(?:5\.7\.[01])?$/;

/**
 * Whether a relay may say this to MAIL or RCPT because we have not logged in. Postfix (`permit_sasl_authenticated,
 * reject`) has the same words for a recipient that it blocks, so the reply alone does not tell.
 */
export function maySayNoLogin(code: number, reply: string): boolean {
  const reason = reasonOfReply(code, reply);
  if (reason === "authentication_required" || reason === "relay_refused") return true;
  return NOT_AUTHORIZED.test(enhancedCode(reply)) && ACCESS_DENIED.test(wordsOf(reply));
}

/** A command that the relay does not know, does not implement, or expects at another time (RFC 5321 §4.2.2). */
const COMMAND_CODES: readonly number[] = [500, 502, 503];
/** A parameter of a command (RFC 5321 §4.2.2 and §4.1.1.11). The address is one too. */
const PARAMETER_CODES: readonly number[] = [501, 504, 555];
const ABOUT_ADDRESS = /\b(?:address|recipient|mailbox|user|domain)/i;
/** No enhanced code, or one that says no more than the reply code: other, or protocol (RFC 3463 §3.1 and §3.6). */
const NOT_MORE_PRECISE = /^(?:5\.[05]\.\d+)?$/;

/**
 * Whether a permanent refusal that no rule knows is about the command: the relay and we do not understand each other,
 * whoever the recipient is. Only for replies to our own commands; a report may quote those to another client.
 */
export function isAboutCommand(code: number, reply: string): boolean {
  if (!NOT_MORE_PRECISE.test(enhancedCode(reply))) return false;
  if (COMMAND_CODES.includes(code)) return true;
  return PARAMETER_CODES.includes(code) && !ABOUT_ADDRESS.test(wordsOf(reply));
}

/** RFC 821 had 552 for too many recipients, and it is to be read as the 452 of today (RFC 5321 §4.5.3.1.10). */
export function isTooManyRecipients(code: number, reply: string): boolean {
  return code === 552 && (enhancedCode(reply) === "5.5.3" || /too many recipients/i.test(reply));
}
