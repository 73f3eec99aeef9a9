import { hard, policy, RECIPIENT, type Specimen, soft, statusReport } from "./specimen.ts";

const MTA = ["Reporting-MTA: dns; relay.example", "Arrival-Date: Sun, 22 Nov 2026 08:00:00 +0000"];
const FINAL = `Final-Recipient: rfc822; ${RECIPIENT}`;

function failed(status: string, diagnostic: string): readonly (readonly string[])[] {
  return [MTA, [FINAL, "Action: failed", `Status: ${status}`, `Diagnostic-Code: ${diagnostic}`]];
}

/** Delivery status notifications with a part for machines. */
export const STATUS_REPORTS: readonly Specimen[] = [
  {
    name: "Postfix: no such user, Auto-Submitted as of a reply",
    mail: statusReport({
      headers: ["Auto-Submitted: auto-replied"],
      status: [
        [
          "Reporting-MTA: dns; relay.example",
          "X-Postfix-Queue-ID: 4XyZ",
          "X-Postfix-Sender: rfc822; b@shop.example",
        ],
        [
          FINAL,
          `Original-Recipient: rfc822;${RECIPIENT}`,
          "Action: failed",
          "Status: 5.1.1",
          "Remote-MTA: dns; mx.mailbox.example",
          `Diagnostic-Code: smtp; 550 5.1.1 <${RECIPIENT}>: Recipient address rejected:`,
          "    User unknown in virtual mailbox table",
        ],
      ],
    }),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "Postfix: the domain is not in the DNS",
    mail: statusReport({
      status: failed(
        "5.4.4",
        "X-Postfix; Host or domain name not found. Name service error\n    for name=mailbox.example type=AAAA: Host not found",
      ),
    }),
    expected: hard("recipient_address_rejected", undefined, "5.4.4"),
  },
  {
    name: "Postfix: its resolver had no answer until the end",
    mail: statusReport({
      status: failed(
        "4.4.3",
        "X-Postfix; Host or domain name not found. Name service error for\n    name=mailbox.example type=MX: Host not found, try again",
      ),
    }),
    expected: soft("no_route", undefined, "4.4.3"),
  },
  {
    name: "Postfix: given up after five days",
    mail: statusReport({
      status: failed("4.4.1", "X-Postfix; connect to mx.mailbox.example[192.0.2.9]:25: Connection timed out"),
    }),
    expected: soft("no_route", undefined, "4.4.1"),
  },
  {
    name: "Postfix: delayed",
    mail: statusReport({
      subject: "Delayed Mail (still being retried)",
      status: [
        MTA,
        [FINAL, "Action: delayed", "Status: 4.4.1", "Will-Retry-Until: Fri, 27 Nov 2026 08:00:00 +0000"],
      ],
    }),
    expected: { kind: "underway" },
  },
  {
    name: "Postfix: success was asked for",
    mail: statusReport({
      subject: "Successful Mail Delivery Report",
      status: [
        MTA,
        [FINAL, "Action: delivered", "Status: 2.0.0", "Diagnostic-Code: smtp; 250 2.0.0 Ok: queued as 77"],
      ],
    }),
    expected: { kind: "delivered" },
  },
  {
    name: "Postfix: relayed to a server that tells nothing of success",
    mail: statusReport({ status: [MTA, [FINAL, "Action: relayed", "Status: 2.0.0"]] }),
    expected: { kind: "underway" },
  },
  {
    name: "Postfix: an address in another script (RFC 6533)",
    mail: statusReport({
      statusType: "message/global-delivery-status",
      originalType: "message/global",
      status: [
        ["Reporting-MTA: dns; relay.example"],
        [
          "Final-Recipient: utf-8; jürgen@bücher.example",
          "Action: failed",
          "Status: 5.1.1",
          "Diagnostic-Code: smtp; 550 5.1.1 <jürgen@bücher.example>: user unknown",
        ],
      ],
    }),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "Postfix: headers alone are returned",
    mail: statusReport({
      originalType: "text/rfc822-headers",
      status: failed("5.2.2", `smtp; 552 5.2.2 <${RECIPIENT}>: mailbox full`),
    }),
    expected: soft("mailbox_full", 552, "5.2.2"),
  },
  {
    name: "Postfix: refused by a list of addresses",
    mail: statusReport({
      status: failed(
        "5.7.1",
        "smtp; 554 5.7.1 Service unavailable; Client host [192.0.2.7] blocked using zen.dnsbl.example",
      ),
    }),
    expected: policy("policy_rejected", 554, "5.7.1"),
  },
  {
    name: "Postfix: greylisted for five days",
    mail: statusReport({
      status: failed("4.2.0", `smtp; 450 4.2.0 <${RECIPIENT}>: Recipient address rejected: Greylisted`),
    }),
    expected: soft("greylisted", 450, "4.2.0"),
  },
  {
    name: "Sendmail: a report with a sender, and a comment in the diagnostic",
    mail: statusReport({
      from: "Mail Delivery Subsystem <MAILER-DAEMON@relay.example>",
      subject: "Returned mail: see transcript for details",
      headers: ["Return-Path: <owner@relay.example>", "Auto-Submitted: auto-generated (failure)"],
      text: `   ----- The following addresses had permanent fatal errors -----\n<${RECIPIENT}>\n    (reason: 550 5.1.1 User unknown)`,
      status: [
        ["Reporting-MTA: dns; relay.example", "ReturnedMailResult-From-MTA: DNS; app.shop.example"],
        [
          `Final-Recipient: RFC822; ${RECIPIENT}`,
          "Action: failed",
          "Status: 5.1.1",
          "Remote-MTA: DNS; mx.mailbox.example",
          `Diagnostic-Code: SMTP; 550 5.1.1 <${RECIPIENT}>... User unknown`,
          "Last-Attempt-Date: Sun, 22 Nov 2026 08:00:02 GMT",
        ],
      ],
    }),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "Sendmail: host unknown",
    mail: statusReport({
      subject: "Returned mail: Host unknown",
      status: [MTA, [FINAL, "Action: failed", "Status: 5.1.2", "Remote-MTA: DNS; mailbox.example"]],
    }),
    expected: hard("recipient_address_rejected", undefined, "5.1.2"),
  },
  {
    name: "Sendmail: a warning",
    mail: statusReport({
      subject: "Warning: could not send message for past 4 hours",
      status: [MTA, [FINAL, "Action: delayed", "Status: 4.4.2"]],
    }),
    expected: { kind: "underway" },
  },
  {
    name: "Sendmail: our domain does not resolve over there",
    mail: statusReport({
      status: failed("5.1.8", "SMTP; 553 5.1.8 <b@shop.example>... Domain of sender address does not exist"),
    }),
    expected: policy("sender_rejected", 553, "5.1.8"),
  },
  {
    name: "Exim: a report in parts",
    mail: statusReport({
      from: "Mail Delivery System <Mailer-Daemon@relay.example>",
      subject: "Mail delivery failed: returning message to sender",
      headers: [`X-Failed-Recipients: ${RECIPIENT}`, "Auto-Submitted: auto-replied"],
      status: [
        ["Reporting-MTA: dns; relay.example"],
        [
          "Action: failed",
          `Final-Recipient: rfc822;${RECIPIENT}`,
          "Status: 5.0.0",
          "Remote-MTA: dns; mx.mailbox.example",
          `Diagnostic-Code: smtp; 550-5.1.1 The email account that you tried to reach does not exist. Please try`,
          " 550-5.1.1 double-checking the recipient's email address for typos or",
          " 550 5.1.1 unnecessary spaces. gsmtp",
        ],
      ],
    }),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "Exchange Online: no such address",
    mail: statusReport({
      from: "postmaster@tenant.example",
      subject: "Undeliverable: Your order",
      headers: ["Auto-Submitted: auto-replied", "Return-Path: <>"],
      status: failed(
        "5.1.10",
        "smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup",
      ),
    }),
    expected: hard("recipient_address_rejected", 550, "5.1.10"),
  },
  {
    name: "Exchange Online: the server behind, wrapped",
    mail: statusReport({
      from: "Microsoft Outlook <postmaster@outlook.example>",
      status: failed(
        "5.1.351",
        "smtp;550 5.1.351 Remote server returned unknown recipient or mailbox unavailable -> 550 5.1.1 <ana@mailbox.example>: user unknown",
      ),
    }),
    expected: hard("recipient_address_rejected", 550, "5.1.351"),
  },
  {
    name: "Exchange Online: our authentication, wrapped",
    mail: statusReport({
      status: failed(
        "5.0.350",
        "smtp;550 5.0.350 Remote server returned an error -> 550 5.7.26 This mail has been blocked because the sender is unauthenticated",
      ),
    }),
    expected: policy("policy_rejected", 550, "5.7.26"),
  },
  {
    name: "Exchange Online: expired",
    mail: statusReport({
      status: failed(
        "5.4.300",
        "smtp;550 5.4.300 Message expired -> 451 4.4.0 Primary target IP address responded with timeout",
      ),
    }),
    expected: soft("delivery_expired", 451, "5.4.300"),
  },
  {
    name: "Exchange Online: an address at the edge that is not there",
    mail: statusReport({
      status: failed("5.4.1", "smtp;550 5.4.1 Recipient address rejected: Access denied. AS(201806281)"),
    }),
    expected: hard("recipient_address_rejected", 550, "5.4.1"),
  },
  {
    name: "Exchange Online: a group that takes mail of its own people only",
    mail: statusReport({
      status: failed(
        "5.7.133",
        "smtp;550 5.7.133 RESOLVER.RST.SenderNotAuthenticatedForGroup; authentication required",
      ),
    }),
    expected: policy("policy_rejected", 550, "5.7.133"),
  },
  {
    name: "Exchange 2013: an empty status",
    mail: statusReport({
      from: "Microsoft Outlook <MicrosoftExchange329@tenant.example>",
      subject: "Unzustellbar: Ihre Bestellung",
      text: "Fehler bei der Nachrichtenzustellung an folgende Empfänger.",
      status: [
        MTA,
        [
          FINAL,
          "Action: failed",
          "Status:",
          "Diagnostic-Code: smtp;550 5.1.1 RESOLVER.ADR.RecipNotFound; not found",
        ],
      ],
    }),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "Exchange: too large for the recipient",
    mail: statusReport({
      subject: "Undeliverable: Report",
      status: failed(
        "5.2.3",
        "smtp;550 5.2.3 RESOLVER.RST.RecipSizeLimit; message too large for this recipient",
      ),
    }),
    expected: soft("message_too_large", 550, "5.2.3"),
  },
  {
    name: "Gmail, new: the report refers to ours",
    mail: statusReport({
      from: "Mail Delivery Subsystem <mailer-daemon@googlemail.example>",
      subject: "Delivery Status Notification (Failure)",
      headers: [
        `X-Failed-Recipients: ${RECIPIENT}`,
        "Auto-Submitted: auto-replied",
        "In-Reply-To: <0f0e0d0c-0000-5000-8000-000000000001@shop.example>",
        "X-Original-Message-ID: <0f0e0d0c-0000-5000-8000-000000000001@shop.example>",
      ],
      status: failed(
        "5.1.1",
        "smtp; 550-5.1.1 The email account that you tried to reach does not exist.\n 550 5.1.1 https://support.example/mail/?p=NoSuchUser - gsmtp",
      ),
    }),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "Gmail: the mailbox gets too much, which passes",
    mail: statusReport({
      status: failed(
        "5.2.1",
        "smtp; 550-5.2.1 The user you are trying to contact is receiving mail at a rate that\n 550 5.2.1 prevents additional messages from being delivered. ReceivingRatePerm - gsmtp",
      ),
    }),
    expected: soft("recipient_refused", 550, "5.2.1"),
  },
  {
    name: "Gmail: the account is disabled, with the same code",
    mail: statusReport({
      status: failed(
        "5.2.1",
        "smtp; 550 5.2.1 The email account that you tried to reach is disabled. DisabledUser - gsmtp",
      ),
    }),
    expected: hard("mailbox_disabled", 550, "5.2.1"),
  },
  {
    name: "Gmail: unauthenticated",
    mail: statusReport({
      status: failed(
        "5.7.26",
        "smtp; 550-5.7.26 This mail has been blocked because the sender is unauthenticated. DKIM = did not pass",
      ),
    }),
    expected: policy("policy_rejected", 550, "5.7.26"),
  },
  {
    name: "Gmail: likely unsolicited",
    mail: statusReport({
      status: failed(
        "5.7.1",
        "smtp; 550-5.7.1 Our system has detected that this message is likely unsolicited mail.\n 550 5.7.1 UnsolicitedMessageError - gsmtp",
      ),
    }),
    expected: policy("content_rejected", 550, "5.7.1"),
  },
  {
    name: "Gmail: over quota",
    mail: statusReport({
      status: failed(
        "4.2.2",
        "smtp; 452 4.2.2 The recipient's inbox is out of storage space. OverQuotaTemp - gsmtp",
      ),
    }),
    expected: soft("mailbox_full", 452, "4.2.2"),
  },
  {
    name: "OpenSMTPD: its status part in multipart/mixed",
    mail: statusReport({
      from: "Mailer Daemon <MAILER-DAEMON@relay.example>",
      subject: "Delivery status notification: error",
      type: "multipart/mixed",
      status: [["Reporting-MTA: dns; relay.example"], [FINAL, "Action: failed", "Status: 5.1.1"]],
      text: `${RECIPIENT}: 550 5.1.1 Invalid recipient`,
    }),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "McAfee: the recipient without a type, in angle brackets, one group",
    mail: statusReport({
      from: "<Postmaster@relay.example>",
      subject: "Delivery Status",
      type: "multipart/mixed",
      status: [
        [
          `Original-Recipient: <${RECIPIENT}>`,
          "Action: failed",
          `Diagnostic-Code: smtp; 550 5.1.1 <${RECIPIENT}>... User unknown`,
          "Remote-MTA: 192.0.2.9",
        ],
      ],
    }),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "Amazon SES: a comment after the status, the true code innermost",
    mail: statusReport({
      from: "MAILER-DAEMON@eu-west-1.ses.example",
      subject: "Delivery Status Notification (Failure)",
      status: [
        ["Reporting-MTA: dsn; a1.ses.example"],
        [
          "Action: failed",
          FINAL,
          "Diagnostic-Code: smtp; 5.1.0 - Unknown address error 550-'5.2.2 <ana@mailbox.example>... Mailbox Full' (delivery attempts: 0)",
          "Status: 5.0.0 (permanent failure)",
        ],
      ],
    }),
    expected: soft("mailbox_full", 550, "5.2.2"),
  },
  {
    name: "Amazon SES: no such user",
    mail: statusReport({
      status: [
        ["Reporting-MTA: dns; a1.ses.example"],
        ["Action: failed", FINAL, "Diagnostic-Code: smtp; 550 5.1.1 user unknown", "Status: 5.1.1"],
      ],
    }),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "Courier: always 5.0.0",
    mail: statusReport({
      from: '"Courier mail server at relay.example" <@>',
      subject: "NOTICE: mail delivery status.",
      status: failed("5.0.0", "smtp; 550 5.1.1 <ana@mailbox.example>... User Unknown"),
    }),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "Oracle Communications: a comment in the status, no diagnostic",
    mail: statusReport({
      from: "postmaster@relay.example",
      subject: "Delivery Notification: Delivery has failed",
      text: "Your message cannot be delivered to the following recipients:\n\n  Recipient address: ana@mailbox.example\n  Reason: Illegal host/domain name found",
      status: [
        ["Reporting-MTA: dns;relay.example (tcp-daemon)"],
        [
          `Original-recipient: rfc822;${RECIPIENT}`,
          `Final-recipient: rfc822;${RECIPIENT}`,
          "Action: failed",
          "Status: 5.4.4 (Illegal host/domain name found)",
        ],
      ],
    }),
    expected: hard("recipient_address_rejected", undefined, "5.4.4"),
  },
  {
    name: "PowerMTA: relayed words with the code of a full mailbox",
    mail: statusReport({
      from: "postmaster@pmta.example",
      subject: "Delivery report",
      status: [
        ["Reporting-MTA: dns;pmta.example"],
        [
          FINAL,
          "Action: failed",
          "Status: 5.2.2 (mailbox full)",
          "Diagnostic-Code: smtp;552 5.2.2 <ana@mailbox.example>... Mailbox Full",
          "X-PowerMTA-BounceCategory: quota-issues",
        ],
      ],
    }),
    expected: soft("mailbox_full", 552, "5.2.2"),
  },
  {
    name: "Action: expired",
    mail: statusReport({ status: [MTA, [FINAL, "Action: expired", "Status: 4.4.7"]] }),
    expected: soft("delivery_expired", undefined, "4.4.7"),
  },
  {
    name: "Action: failure, and no type before the recipient",
    mail: statusReport({
      status: [MTA, [`Final-Recipient: <${RECIPIENT}>`, "Action: failure", "Status: 5.1.1"]],
    }),
    expected: hard("recipient_address_rejected", undefined, "5.1.1"),
  },
  {
    name: "a continuation that is not indented",
    mail: statusReport({
      status: [
        MTA,
        [
          FINAL,
          "Action: failed",
          "Status: 5.0.0",
          "Diagnostic-Code: smtp; 554 delivery error: dd This user",
          "doesn't have a mailbox.example account (ana@mailbox.example) [0]",
        ],
      ],
    }),
    expected: hard("recipient_address_rejected", 554, "5.0.0"),
  },
  {
    name: "several groups, the second is the one that failed",
    mail: statusReport({
      status: [
        MTA,
        ["Final-Recipient: rfc822; list@mailbox.example", "Action: expanded", "Status: 2.0.0"],
        [FINAL, "Action: failed", "Status: 5.1.1"],
      ],
    }),
    expected: hard("recipient_address_rejected", undefined, "5.1.1"),
  },
  {
    name: "several groups, one of which failed and one was delivered",
    mail: statusReport({
      status: [
        MTA,
        ["Final-Recipient: rfc822; left@mailbox.example", "Action: failed", "Status: 5.1.1"],
        ["Final-Recipient: rfc822; bo@mailbox.example", "Action: delivered", "Status: 2.0.0"],
      ],
    }),
    expected: soft("recipient_refused", undefined, "5.1.1"),
  },
  {
    name: "line ends of another time",
    mail: statusReport({ status: failed("5.1.1", "smtp; 550 5.1.1 User unknown") }).replaceAll("\r\n", "\n"),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "Yahoo: a user without an account there",
    mail: statusReport({
      status: failed(
        "5.0.0",
        "smtp; 554 30 Sorry, your message to ana@mailbox.example cannot be delivered. This mailbox is disabled (554.30)",
      ),
    }),
    expected: hard("mailbox_disabled", 554, "5.0.0"),
  },
  {
    name: "Yahoo: deferred for user complaints, until the end",
    mail: statusReport({
      status: failed(
        "4.0.0",
        "smtp; 421 4.7.0 [TSS04] Messages from 192.0.2.7 temporarily deferred due to unexpected volume or user complaints",
      ),
    }),
    expected: soft("delivery_expired", 421, "4.7.0"),
  },
  {
    name: "Apple: over quota",
    mail: statusReport({
      status: failed("5.2.2", "smtp; 552 5.2.2 <ana@mailbox.example>: user is over quota"),
    }),
    expected: soft("mailbox_full", 552, "5.2.2"),
  },
  {
    name: "Outlook: mailbox unavailable, which is the address",
    mail: statusReport({
      status: failed("5.5.0", "smtp;550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302)"),
    }),
    expected: hard("recipient_address_rejected", 550, "5.5.0"),
  },
  {
    name: "Mimecast: refused for a signature",
    mail: statusReport({
      status: failed(
        "5.7.54",
        "smtp; 554 Email rejected due to security policies - https://community.example/docs",
      ),
    }),
    expected: policy("policy_rejected", 554, "5.7.54"),
  },
  {
    name: "a mailbox that has another owner (RFC 7293)",
    mail: statusReport({ status: failed("5.7.17", "smtp; 550 5.7.17 Mailbox owner has changed") }),
    expected: hard("recipient_address_rejected", 550, "5.7.17"),
  },
  {
    name: "a mail loop",
    mail: statusReport({ status: failed("5.4.6", "smtp; 554 5.4.6 Too many hops") }),
    expected: soft("no_route", 554, "5.4.6"),
  },
];
