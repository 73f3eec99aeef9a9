import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { classifyMailOutcome } from "../../../src/domain/email/delivery/classifyMailOutcome.ts";
import { reasonOfReply } from "../../../src/domain/email/delivery/smtpReplyRules.ts";
import type { MailStage } from "../../../src/kernel/outcome/mailOutcome.ts";

/**
 * `suppress` is a bounce after which the address gets no more mail; `waits` burns an attempt, `relay's fault` none.
 */
type Result = "bounced" | "suppress" | "failed" | "waits" | "relay's fault";
type Row = readonly [stage: MailStage, result: Result, reason: string, reply: string];

/** What relays say, in their own words, and how it is to be read. */
const SES: readonly Row[] = [
  [
    "final",
    "failed",
    "sender_rejected",
    "554 Message rejected: Email address is not verified. The following identities failed the check in region EU-WEST-1: orders@example.com",
  ],
  ["final", "failed", "sender_rejected", "554 Message rejected: Email address is not verified."],
  ["final", "relay's fault", "throttled", "454 Throttling failure: Maximum sending rate exceeded."],
  ["final", "relay's fault", "throttled", "454 Throttling failure: Daily message quota exceeded."],
  ["mail", "relay's fault", "authentication_required", "530 Authentication required"],
  ["rcpt", "relay's fault", "authentication_required", "535 Authentication Credentials Invalid"],
  [
    "final",
    "relay's fault",
    "account_suspended",
    "554 Message rejected: Sending suspended for this account.",
  ],
  [
    "final",
    "relay's fault",
    "account_suspended",
    "554 Message rejected: Sending paused for this account. For more information, please check the inbox of the email address associated with your AWS account.",
  ],
  [
    "final",
    "failed",
    "relay_refused",
    "554 Access denied: User `arn:aws:iam::123456789012:user/ses' is not authorized to perform `ses:SendRawEmail' on resource `arn:aws:ses:eu-west-1:123456789012:identity/example.com'",
  ],
  ["final", "bounced", "relay_suppressed", "554 Message rejected: Address blacklisted."],
  ["final", "bounced", "message_too_large", "552 Message is too long."],
  ["mail", "failed", "sender_rejected", "501 Invalid MAIL FROM address provided"],
  ["mail", "relay's fault", "throttled", "421 Too many concurrent SMTP connections; please try again later."],
  ["mail", "relay's fault", "throttled", "421 4.7.0 Too many messages, slow down"],
  ["mail", "relay's fault", "throttled", "450 4.7.1 Error: too much mail from 192.0.2.1"],
  ["rcpt", "relay's fault", "throttled", "451 4.7.1 Rate limited, try again in 60 seconds"],
  ["final", "relay's fault", "relay_unavailable", "451 4.3.0 Temporary local problem - please try later"],
];

const POSTMARK: readonly Row[] = [
  [
    "final",
    "failed",
    "sender_rejected",
    "554 5.7.1 The 'From' address you supplied (orders@example.com) is not a Sender Signature on your account. Please add and confirm this address in order to be able to use it in the 'From' field of your messages.",
  ],
  [
    "final",
    "bounced",
    "relay_suppressed",
    "550 5.7.1 You tried to send to a recipient that has been marked as inactive. RowPage inactive addresses: ana@example.com.",
  ],
  [
    "final",
    "relay's fault",
    "account_suspended",
    "550 5.7.1 While your account is pending approval, all recipient addresses must share the same domain as the 'From' address.",
  ],
  ["mail", "relay's fault", "authentication_required", "535 5.7.8 Authentication failed"],
];

const MAILGUN: readonly Row[] = [
  [
    "rcpt",
    "failed",
    "sender_rejected",
    "550 Sandbox subdomains are for test purposes only. Please add your own domain or add the address to authorized recipients in domain settings.",
  ],
  [
    "mail",
    "relay's fault",
    "relay_unavailable",
    "421 Domain mg.example.com is not allowed to send: The domain is unverified and requires DNS configuration. Log in to your control panel to view required DNS records.",
  ],
  [
    "final",
    "failed",
    "sender_rejected",
    "550 5.7.1 Domain mg.example.com is not allowed to send: The domain is unverified and requires DNS configuration.",
  ],
  [
    "final",
    "relay's fault",
    "throttled",
    "450 4.7.0 Domain mg.example.com has exceeded its hourly sending limit",
  ],
  ["rcpt", "bounced", "relay_suppressed", "550 5.1.0 Not delivering to previously bounced address"],
];

const SENDGRID: readonly Row[] = [
  [
    "final",
    "failed",
    "sender_rejected",
    "550 The from address does not match a verified Sender Identity. Mail cannot be sent until this error is resolved. Visit https://sendgrid.com/docs/for-developers/sending-email/sender-identity/ to see the Sender Identity requirements",
  ],
  ["rcpt", "failed", "sender_rejected", "550 Unauthenticated senders not allowed"],
  ["mail", "relay's fault", "throttled", "451 Authentication failed: Maximum credits exceeded"],
];

const GMAIL: readonly Row[] = [
  [
    "rcpt",
    "suppress",
    "recipient_address_rejected",
    "550 5.1.1 The email account that you tried to reach does not exist. Please try double-checking the recipient's email address for typos or unnecessary spaces. For more information, go to https://support.google.com/mail/?p=NoSuchUser 5b1f17b1804b1-42 - gsmtp",
  ],
  [
    "rcpt",
    "suppress",
    "mailbox_disabled",
    "550 5.2.1 The email account that you tried to reach is disabled. For more information, go to https://support.google.com/mail/?p=DisabledUser a1-2 - gsmtp",
  ],
  [
    "rcpt",
    "suppress",
    "mailbox_disabled",
    "550 5.2.1 The email account that you tried to reach is inactive. For more information, go to https://support.google.com/mail/?p=DisabledUser a1-2 - gsmtp",
  ],
  [
    "rcpt",
    "bounced",
    "mailbox_full",
    "552 5.2.2 The recipient's inbox is out of storage space and inactive. Please direct the recipient to https://support.google.com/mail/?p=OverQuotaPerm a1-2 - gsmtp",
  ],
  [
    "rcpt",
    "waits",
    "mailbox_full",
    "452 4.2.2 The recipient's inbox is out of storage space. Please direct the recipient to https://support.google.com/mail/?p=OverQuotaTemp a1-2 - gsmtp",
  ],
  [
    "rcpt",
    "waits",
    "recipient_deferred",
    "450 4.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered. Please resend your message at a later time. a1-2 - gsmtp",
  ],
  [
    "rcpt",
    "bounced",
    "recipient_refused",
    "550 5.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered. For more information, go to https://support.google.com/mail/?p=ReceivingRatePerm a1-2 - gsmtp",
  ],
  [
    "final",
    "failed",
    "policy_rejected",
    "550 5.7.26 This mail has been blocked because the sender is unauthenticated. Gmail requires all senders to authenticate with either SPF or DKIM. a1-2 - gsmtp",
  ],
  [
    "final",
    "failed",
    "policy_rejected",
    "550 5.7.1 [192.0.2.1] The IP you're using to send mail is not authorized to send email directly to our servers. Please use the SMTP relay at your service provider instead. a1-2 - gsmtp",
  ],
  [
    "final",
    "failed",
    "content_rejected",
    "550 5.7.1 [192.0.2.1] Our system has detected that this message is likely unsolicited mail. To reduce the amount of spam sent to Gmail, this message has been blocked. a1-2 - gsmtp",
  ],
  [
    "final",
    "failed",
    "policy_rejected",
    "550 5.7.25 [192.0.2.1] The IP address sending this message does not have a PTR record setup. a1-2 - gsmtp",
  ],
  [
    "final",
    "failed",
    "content_rejected",
    "552 5.7.0 This message was blocked because its content presents a potential security issue. Please visit https://support.google.com/mail/?p=BlockedMessage a1-2 - gsmtp",
  ],
  [
    "final",
    "bounced",
    "message_too_large",
    "552 5.3.4 Your message exceeded Google's message size limits. Please visit https://support.google.com/mail/?p=MaxSizeError a1-2 - gsmtp",
  ],
  [
    "rcpt",
    "relay's fault",
    "throttled",
    "550 5.4.5 Daily user sending limit exceeded. For more information on Gmail sending limits go to https://support.google.com/a/answer/166852 a1-2 - gsmtp",
  ],
  [
    "mail",
    "relay's fault",
    "authentication_required",
    "535 5.7.8 Username and Password not accepted. For more information, go to https://support.google.com/mail/?p=BadCredentials a1-2 - gsmtp",
  ],
  [
    "final",
    "relay's fault",
    "relay_unavailable",
    "421 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address. a1-2 - gsmtp",
  ],
  [
    "rcpt",
    "suppress",
    "recipient_address_rejected",
    "553 5.1.2 We weren't able to find the recipient domain. Please check for any spelling errors. a1-2 - gsmtp",
  ],
  ["final", "bounced", "content_rejected", "550 5.6.7 SMTPUTF8 is needed a1-2 - gsmtp"],
];

const EXCHANGE: readonly Row[] = [
  [
    "rcpt",
    "suppress",
    "recipient_address_rejected",
    "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup",
  ],
  [
    "rcpt",
    "suppress",
    "recipient_address_rejected",
    "550 5.4.1 Recipient address rejected: Access denied. [DB5EUR01FT010.eop-EUR01.prod.protection.outlook.com 2024-01-01T00:00:00.000Z]",
  ],
  [
    "rcpt",
    "suppress",
    "recipient_address_rejected",
    "550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302). [AM0PR04.eurprd04.prod.outlook.com]",
  ],
  [
    "rcpt",
    "suppress",
    "recipient_address_rejected",
    "550 5.1.351 Remote server returned unknown recipient or mailbox unavailable -> 550 5.1.1 User unknown",
  ],
  [
    "final",
    "failed",
    "policy_rejected",
    "550 5.0.350 Remote server returned an error -> 550 5.7.23 The message was rejected because of Sender Policy Framework violation",
  ],
  [
    "final",
    "failed",
    "sender_rejected",
    "550 5.7.60 SMTP; Client does not have permissions to send as this sender [AM0PR04.eurprd04.prod.outlook.com]",
  ],
  [
    "final",
    "failed",
    "sender_rejected",
    "554 5.2.252 SendAsDenied; orders@example.com not allowed to send as help@example.com; STOREDRV.Submission.Exception:SendAsDeniedException.MapiExceptionSendAsDenied; Failed to process message due to a permanent exception",
  ],
  [
    "mail",
    "relay's fault",
    "authentication_required",
    "530 5.7.57 Client not authenticated to send mail. [AM0PR04.eurprd04.prod.outlook.com]",
  ],
  [
    "rcpt",
    "failed",
    "policy_rejected",
    "550 5.7.606 Access denied, banned sending IP [192.0.2.1]. To request removal from this list please visit https://sender.office.com/",
  ],
  [
    "rcpt",
    "failed",
    "policy_rejected",
    "550 5.7.708 Service unavailable. Access denied, traffic not accepted from this IP. For more information please go to http://go.microsoft.com/fwlink/?LinkId=526653 AS(7230)",
  ],
  [
    "final",
    "failed",
    "policy_rejected",
    "550 5.7.515 Access denied, sending domain example.com does not meet the required authentication level. The sender's domain in the 5322.From address doesn't meet the authentication requirements",
  ],
  [
    "final",
    "failed",
    "policy_rejected",
    "550 5.7.509 Access denied, sending domain example.com does not pass DMARC verification and has a DMARC policy of reject.",
  ],
  ["final", "failed", "sender_rejected", "550 5.1.8 Access denied, bad outbound sender AS(42004)"],
  ["final", "failed", "sender_rejected", "550 5.7.1 sender domain not verified"],
  ["final", "failed", "sender_rejected", "550 5.7.1 The domain example.com has not been verified"],
  [
    "rcpt",
    "relay's fault",
    "throttled",
    "550 5.1.90 Your message can't be sent because you've reached your daily limit for message recipients",
  ],
  [
    "rcpt",
    "relay's fault",
    "throttled",
    "451 4.7.500 Server busy. Please try again later from [192.0.2.1]. (S77714) [DB5EUR01FT010.eop-EUR01.prod.protection.outlook.com]",
  ],
  [
    "mail",
    "relay's fault",
    "throttled",
    "432 4.3.2 Concurrent connections limit exceeded. Visit https://aka.ms/concurrent_sending for more information.",
  ],
  [
    "final",
    "bounced",
    "mailbox_full",
    "554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException.MapiExceptionShutoffQuotaExceeded; Failed to process message due to a permanent exception",
  ],
  [
    "final",
    "bounced",
    "message_too_large",
    "550 5.2.3 RESOLVER.RST.RecipSizeLimit; message too large for this recipient",
  ],
  ["rcpt", "failed", "policy_rejected", "550 5.7.124 Sender not in allowed-senders list"],
  [
    "rcpt",
    "failed",
    "policy_rejected",
    "550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required; Delivery restriction check failed because the sender was not authenticated when sending to this group",
  ],
  ["rcpt", "failed", "relay_refused", "550 5.7.54 SMTP; Unable to relay recipient in non-accepted domain"],
  ["final", "bounced", "no_route", "554 5.4.14 Hop count exceeded - possible mail loop ATTR34"],
  [
    "final",
    "bounced",
    "delivery_expired",
    "550 5.4.316 Message expired, connection refused(Socket error code 10061)",
  ],
  ["final", "bounced", "delivery_expired", "550 4.4.7 QUEUE.Expired; message expired"],
  ["rcpt", "suppress", "recipient_address_rejected", "550 5.7.17 Mailbox owner has changed"],
];

const POSTFIX: readonly Row[] = [
  [
    "rcpt",
    "suppress",
    "recipient_address_rejected",
    "550 5.1.1 <ana@example.com>: Recipient address rejected: User unknown in local recipient table",
  ],
  [
    "rcpt",
    "suppress",
    "recipient_address_rejected",
    "550 5.1.1 <spam@example.com>: Recipient address rejected: User unknown in virtual mailbox table",
  ],
  [
    "rcpt",
    "suppress",
    "recipient_address_rejected",
    "550 5.1.2 <ana@example.invalid>: Recipient address rejected: Domain not found",
  ],
  ["rcpt", "failed", "relay_refused", "554 5.7.1 <ana@example.com>: Relay access denied"],
  ["rcpt", "relay's fault", "relay_unavailable", "454 4.7.1 <ana@example.com>: Relay access denied"],
  [
    "rcpt",
    "waits",
    "greylisted",
    "450 4.2.0 <ana@example.com>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/help/example.com.html",
  ],
  [
    "rcpt",
    "waits",
    "sender_rejected",
    "450 4.1.8 <orders@example.com>: Sender address rejected: Domain not found",
  ],
  [
    "rcpt",
    "failed",
    "sender_rejected",
    "553 5.7.1 <orders@example.com>: Sender address rejected: not owned by user smtp",
  ],
  [
    "rcpt",
    "failed",
    "sender_rejected",
    "550 5.1.1 <orders@example.com>: Sender address rejected: User unknown in relay recipient table",
  ],
  [
    "rcpt",
    "failed",
    "policy_rejected",
    "554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org; https://www.spamhaus.org/query/ip/192.0.2.1",
  ],
  [
    "rcpt",
    "waits",
    "policy_rejected",
    "450 4.7.1 Service unavailable; Client host [192.0.2.1] blocked using bl.spamcop.net",
  ],
  ["mail", "bounced", "message_too_large", "552 5.3.4 Message size exceeds fixed limit"],
  ["final", "bounced", "message_too_large", "552 5.3.4 Error: message file too big"],
  ["mail", "relay's fault", "relay_unavailable", "452 4.3.1 Insufficient system storage"],
  ["final", "relay's fault", "relay_unavailable", "451 4.3.0 Error: queue file write error"],
  [
    "rcpt",
    "waits",
    "recipient_address_rejected",
    "450 4.1.1 <ana@example.com>: Recipient address rejected: undeliverable address: mail for example.com loops back to myself",
  ],
  ["final", "failed", "content_rejected", "550 5.7.1 Blocked by SpamAssassin"],
  ["final", "failed", "content_rejected", "554 5.7.1 Virus found: Eicar-Signature"],
];

const OTHERS: readonly Row[] = [
  ["rcpt", "suppress", "recipient_address_rejected", "550 User unknown"],
  ["rcpt", "suppress", "recipient_address_rejected", "550 No such user here"],
  ["rcpt", "suppress", "recipient_address_rejected", "550 sorry, no mailbox here by that name. (#5.1.1)"],
  ["rcpt", "suppress", "recipient_address_rejected", "550 Unrouteable address"],
  [
    "rcpt",
    "suppress",
    "recipient_address_rejected",
    "554 delivery error: dd This user doesn't have a yahoo.com account (ana@yahoo.com) [0] - mta4001.mail.bf1.yahoo.com",
  ],
  [
    "rcpt",
    "suppress",
    "mailbox_disabled",
    "554 30 Sorry, your message to ana@yahoo.com cannot be delivered. This mailbox is disabled (554.30).",
  ],
  ["rcpt", "bounced", "recipient_refused", "550 Requested action not taken: mailbox unavailable"],
  ["rcpt", "bounced", "recipient_refused", "550 no"],
  ["rcpt", "bounced", "recipient_refused", "550 5.1.0 Address rejected."],
  [
    "rcpt",
    "failed",
    "relay_refused",
    "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)",
  ],
  ["mail", "relay's fault", "tls_required", "530 5.7.0 Must issue a STARTTLS command first"],
  ["rcpt", "relay's fault", "tls_required", "530 5.5.1 Invalid command: Must issue a STARTTLS command first"],
  ["mail", "relay's fault", "tls_required", "451 5.7.3 STARTTLS is required to send mail [AM0PR04]"],
  ["mail", "relay's fault", "authentication_required", "550 5.7.1 Client was not authenticated"],
  ["rcpt", "relay's fault", "authentication_required", "530 5.7.57 Client not authenticated to send mail."],
  ["rcpt", "failed", "authentication_required", "550 5.7.1 Client was not authenticated"],
  ["rcpt", "failed", "policy_rejected", "550 Administrative prohibition"],
  ["rcpt", "failed", "policy_rejected", "550 Your host is listed at b.barracudacentral.org"],
  ["rcpt", "failed", "policy_rejected", "550 5.7.1 Unknown user of ours has asked us to refuse you"],
  ["rcpt", "failed", "sender_rejected", "550 Sender verify failed"],
  ["rcpt", "failed", "sender_rejected", "550 From address is invalid"],
  ["rcpt", "failed", "sender_rejected", "550 Sender address unknown"],
  ["rcpt", "bounced", "recipient_refused", "550 IP address 192.0.2.1 not found in DNS"],
  ["rcpt", "bounced", "recipient_refused", "550 SMTP user account suspended"],
  ["rcpt", "bounced", "recipient_refused", "550 Recipient address rejected: Access denied"],
  [
    "final",
    "bounced",
    "content_rejected",
    "550 This message was classified as SPAM and may not be delivered",
  ],
  ["final", "bounced", "content_rejected", "554 5.6.0 Message contains invalid header"],
  ["rcpt", "bounced", "mailbox_full", "552 Requested mail action aborted: exceeded storage allocation"],
  ["rcpt", "bounced", "mailbox_full", "550 Mailbox is full / Blocks limit exceeded / Inode limit exceeded"],
  ["rcpt", "waits", "greylisted", "451 4.7.1 Greylisting in action, please come back later"],
  ["data", "waits", "recipient_deferred", "451 Try again later"],
  ["rcpt", "bounced", "delivery_expired", "550 5.4.7 Delivery time expired"],
  ["rcpt", "bounced", "no_route", "550 5.4.4 Host or domain name not found. Name service error"],
  ["final", "bounced", "recipient_address_rejected", "550 5.1.1 no such mailbox"],
];

/** Replies to a command, which say nothing about the recipient, beside those that do. */
const PROTOCOL: readonly Row[] = [
  ["mail", "relay's fault", "relay_unavailable", "503 5.5.1 Error: nested MAIL command"],
  ["mail", "relay's fault", "relay_unavailable", "555 5.5.4 Unsupported option: SIZE=1000"],
  ["rcpt", "relay's fault", "relay_unavailable", "503 5.5.1 Bad sequence of commands"],
  ["rcpt", "relay's fault", "relay_unavailable", "503 valid MAIL command must precede RCPT"],
  ["rcpt", "relay's fault", "relay_unavailable", "501 5.5.4 Syntax: RCPT TO:<address>"],
  ["rcpt", "relay's fault", "relay_unavailable", "501 Syntax error in parameters or arguments"],
  ["rcpt", "relay's fault", "relay_unavailable", "500 unrecognized command"],
  ["rcpt", "relay's fault", "relay_unavailable", "555 5.5.4 unsupported parameters"],
  ["data", "relay's fault", "relay_unavailable", "502 5.5.1 Command not implemented"],
  ["data", "relay's fault", "relay_unavailable", "500 5.5.2 Error: bad syntax"],
  ["data", "relay's fault", "relay_unavailable", "503 Valid recipient required before DATA"],
  ["rcpt", "suppress", "recipient_address_rejected", "501 5.1.3 Bad recipient address syntax"],
  ["rcpt", "suppress", "recipient_address_rejected", "500 5.1.1 no such mailbox"],
  ["rcpt", "bounced", "recipient_refused", "501 5.1.0 no"],
  ["rcpt", "bounced", "recipient_refused", "501 5.5.4 Invalid Address"],
  ["rcpt", "bounced", "recipient_refused", "501 <ana@b>: recipient address must contain a whole domain"],
  [
    "rcpt",
    "bounced",
    "recipient_refused",
    "504 5.5.2 <ana@b>: Recipient address rejected: need fully-qualified address",
  ],
  ["rcpt", "failed", "policy_rejected", "503 5.7.0 not from here"],
  ["rcpt", "failed", "sender_rejected", "504 5.5.2 <shop@b>: Sender address rejected: need a whole domain"],
  ["rcpt", "bounced", "recipient_refused", "550 5.5.0 no"],
  ["rcpt", "bounced", "recipient_refused", "550 5.5.1 no"],
  ["final", "bounced", "recipient_refused", "500 Line too long"],
  ["rcpt", "waits", "recipient_deferred", "552 5.5.3 too many recipients"],
  ["rcpt", "waits", "recipient_deferred", "552 Too many recipients"],
  ["rcpt", "failed", "sender_rejected", "553 5.1.3 Invalid sender"],
  ["rcpt", "failed", "sender_rejected", "550 5.1.3 Invalid sender address"],
];

/** Replies of a relay that offers a log-in, where none is configured, and that has taken no mail so far. */
const WITHOUT_LOGIN: readonly Row[] = [
  [
    "rcpt",
    "relay's fault",
    "authentication_required",
    "554 5.7.1 <ana@example.com>: Recipient address rejected: Access denied",
  ],
  [
    "rcpt",
    "relay's fault",
    "authentication_required",
    "554 5.7.1 <unknown[192.0.2.1]>: Client host rejected: Access denied",
  ],
  [
    "mail",
    "relay's fault",
    "authentication_required",
    "554 5.7.1 <orders@example.com>: Sender address rejected: Access denied",
  ],
  ["rcpt", "relay's fault", "authentication_required", "554 5.7.1 <ana@example.com>: Relay access denied"],
  ["rcpt", "relay's fault", "authentication_required", "454 4.7.1 <ana@example.com>: Relay access denied"],
  ["rcpt", "relay's fault", "authentication_required", "550 5.7.1 <ana@example.com>... Relaying denied"],
  ["rcpt", "relay's fault", "authentication_required", "550 5.7.1 Client was not authenticated"],
  ["rcpt", "relay's fault", "authentication_required", "550 authentication required"],
  ["rcpt", "failed", "policy_rejected", "550 5.7.1 <ana@example.com>: not for this recipient"],
  ["rcpt", "failed", "policy_rejected", "550 5.7.606 Access denied, banned sending IP [192.0.2.1]."],
  [
    "rcpt",
    "failed",
    "policy_rejected",
    "550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required; Delivery restriction check failed",
  ],
  ["rcpt", "suppress", "recipient_address_rejected", "550 5.1.1 <ana@example.com>: User unknown"],
  ["final", "failed", "policy_rejected", "554 5.7.1 Access denied"],
];

function read([stage, , , reply]: Row, more: { mayWantLogin?: true } = {}): readonly [string, string] {
  const code = Number(reply.slice(0, 3));
  const attempt = classifyMailOutcome({ kind: "refused", stage, code, reply, ...more });
  switch (attempt.kind) {
    case "sent":
      return ["sent", ""];
    case "failed":
      return ["failed", attempt.reason];
    case "bounced":
      return [attempt.suppress ? "suppress" : "bounced", attempt.reason];
    case "deferred":
      return [attempt.relayFault ? "relay's fault" : "waits", attempt.reason];
  }
}

describe.each([
  ["SES", SES],
  ["Postmark", POSTMARK],
  ["Mailgun", MAILGUN],
  ["SendGrid", SENDGRID],
  ["Gmail", GMAIL],
  ["Exchange Online", EXCHANGE],
  ["Postfix", POSTFIX],
  ["others", OTHERS],
  ["the protocol", PROTOCOL],
])("%s", (_, rows) => {
  test.each(rows)("at %s is %s, %s: %s", (stage, result, reason, reply) => {
    expect(read([stage, result, reason, reply])).toEqual([result, reason]);
  });
});

test.each(WITHOUT_LOGIN)("without a log-in, at %s is %s, %s: %s", (stage, result, reason, reply) => {
  const row = [stage, result, reason, reply] as const;
  expect(read(row, { mayWantLogin: true })).toEqual([result, reason]);
});

test("the words of a relay that takes mail without a log-in are about the recipient", () => {
  const reply = "554 5.7.1 <ana@example.com>: Recipient address rejected: Access denied";
  expect(read(["rcpt", "failed", "", reply])).toEqual(["failed", "policy_rejected"]);
});

const ALL = [SES, POSTMARK, MAILGUN, SENDGRID, GMAIL, EXCHANGE, POSTFIX, OTHERS, PROTOCOL].flat();

describe("a reading", () => {
  test("suppresses nobody except for a reply to RCPT", () => {
    for (const [, result, reason, reply] of ALL) {
      const elsewhere = read(["final", result, reason, reply]);
      expect(elsewhere[0]).not.toBe("suppress");
    }
  });

  test("does not depend on whom the reply names", () => {
    const names = fc.constantFrom("spam", "quota-exceeded", "no.such.user", "relay-access-denied", "virus");
    const anyName = fc.property(names, fc.constantFrom("550", "450", "550 5.2.0"), (name, code) => {
      const [result] = read(["rcpt", "bounced", "", `${code} <${name}@example.com>: no`]);
      const [bare] = read(["rcpt", "bounced", "", `${code} ${name}@example.com no`]);
      const [nobody] = read(["rcpt", "bounced", "", `${code} no`]);
      expect([result, bare]).toEqual([nobody, nobody] as string[]);
    });
    fc.assert(anyName);
  });

  test("comes from any text, however long", () => {
    const words = fc.constantFrom(...ALL.flatMap(([, , , reply]) => reply.split(" ")), "exceeded", "mailbox");
    const text = fc.array(words, { maxLength: 150 }).map((all) => all.join(" ").slice(0, 1_000));
    const anything = fc.property(fc.integer({ min: 400, max: 599 }), text, (code, reply) => {
      expect(read(["rcpt", "bounced", "", `${code} ${reply}`])[1]).toMatch(/^[a-z_]+$/);
    });
    fc.assert(anything, { numRuns: 2_000 });
  });
});

test("a stranger's long reply is read in time linear in its length", () => {
  const before = performance.now();
  for (const reply of [
    "x".repeat(200_000),
    `@${"x".repeat(200_000)}`,
    "<".repeat(200_000),
    "x@".repeat(100_000),
  ])
    expect(reasonOfReply(550, `550 5.1.1 ${reply}`)).toBe("recipient_address_rejected");
  // By the square of the length it would be minutes.
  expect(performance.now() - before).toBeLessThan(5_000);
});
