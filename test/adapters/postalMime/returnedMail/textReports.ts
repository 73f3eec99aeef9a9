import { hard, ORIGINAL, policy, RECIPIENT, type Specimen, soft, textReport } from "./specimen.ts";

const QMAIL = ["From: MAILER-DAEMON@relay.example", "Subject: failure notice"];
const EXIM = [
  `X-Failed-Recipients: ${RECIPIENT}`,
  "Auto-Submitted: auto-replied",
  "From: Mail Delivery System <Mailer-Daemon@relay.example>",
  "Subject: Mail delivery failed: returning message to sender",
];
const EXIM_BEGINS = `This message was created automatically by mail delivery software.

A message that you sent could not be delivered to one or more of its
recipients. This is a permanent error. The following address(es) failed:`;
const EXIM_ENDS = `------ This is a copy of the message, including all the headers. ------\n\n${ORIGINAL}`;
const QMAIL_ENDS = `--- Below this line is a copy of the message.\n\n${ORIGINAL}`;

/** Reports in words alone. */
export const TEXT_REPORTS: readonly Specimen[] = [
  {
    name: "Exim: refused by the server behind",
    mail: textReport(
      EXIM,
      `${EXIM_BEGINS}\n\n  ${RECIPIENT}\n    SMTP error from remote mail server after RCPT TO:<${RECIPIENT}>:\n    host mx.mailbox.example [192.0.2.9]: 550 5.1.1 <${RECIPIENT}>:\n    Recipient address rejected: User unknown\n\n${EXIM_ENDS}`,
    ),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "Exim: no code at all",
    mail: textReport(EXIM, `${EXIM_BEGINS}\n\n  ${RECIPIENT}\n    Unrouteable address\n\n${EXIM_ENDS}`),
    expected: hard("recipient_address_rejected"),
  },
  {
    name: "Exim: our address was refused, before any recipient's",
    mail: textReport(
      EXIM,
      `${EXIM_BEGINS}\n\n  ${RECIPIENT}\n    SMTP error from remote mail server after MAIL FROM:<b@shop.example> SIZE=1543:\n    host mx.mailbox.example [192.0.2.9]: 550 Please use the smtp server of your ISP.\n\n${EXIM_ENDS}`,
    ),
    expected: policy("sender_rejected", 550),
  },
  {
    name: "Exim: out of time",
    mail: textReport(
      EXIM,
      `${EXIM_BEGINS}\n\n  ${RECIPIENT}\n    host mx.mailbox.example [192.0.2.9]: connection timed out:\n    retry timeout exceeded\n\n${EXIM_ENDS}`,
    ),
    expected: soft("delivery_expired"),
  },
  {
    name: "Exim: a warning",
    mail: textReport(
      [
        "From: Mail Delivery System <Mailer-Daemon@relay.example>",
        "Subject: Warning: message 1AbCdE-000001 delayed 24 hours",
        "Auto-Submitted: auto-replied",
      ],
      `A message that you sent has not yet been delivered to one or more of its recipients after more than 24 hours.\n\nNo action is required on your part. Delivery attempts will continue for some time.`,
    ),
    expected: { kind: "underway" },
  },
  {
    name: "qmail: a code in brackets",
    mail: textReport(
      QMAIL,
      `Hi. This is the qmail-send program at relay.example.\nI'm afraid I wasn't able to deliver your message to the following addresses.\nThis is a permanent error; I've given up. Sorry it didn't work out.\n\n<${RECIPIENT}>:\nSorry, no mailbox here by that name. (#5.1.1)\n\n${QMAIL_ENDS}`,
    ),
    expected: hard("recipient_address_rejected", undefined, "5.1.1"),
  },
  {
    name: "qmail: what the server behind said",
    mail: textReport(
      QMAIL,
      `Hi. This is the qmail-send program at relay.example.\nThis is a permanent error; I've given up.\n\n<${RECIPIENT}>:\n192.0.2.9 does not like recipient.\nRemote host said: 550 5.1.1 unknown user\nGiving up on 192.0.2.9.\n\n${QMAIL_ENDS}`,
    ),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "qmail: in the queue too long",
    mail: textReport(
      QMAIL,
      `Hi. This is the qmail-send program at relay.example.\n\n<${RECIPIENT}>:\nSorry, I wasn't able to establish an SMTP connection. (#4.4.1)\nI'm not going to try again; this message has been in the queue too long.\n\n${QMAIL_ENDS}`,
    ),
    expected: soft("no_route", undefined, "4.4.1"),
  },
  {
    name: "qmail: no such host",
    mail: textReport(
      QMAIL,
      `Hi. This is the qmail-send program at relay.example.\nThis is a permanent error; I've given up.\n\n<${RECIPIENT}>:\nSorry, I couldn't find any host named mailbox.example. (#5.1.2)\n\n${QMAIL_ENDS}`,
    ),
    expected: hard("recipient_address_rejected", undefined, "5.1.2"),
  },
  {
    name: "Yahoo: words with the stage behind them",
    mail: textReport(
      ["From: MAILER-DAEMON@yahoo.example", "Subject: Failure Notice"],
      `Sorry, we were unable to deliver your message to the following address.\n\n<${RECIPIENT}>:\nRemote host said: 550 5.2.2 <${RECIPIENT}>... Mailbox Full [RCPT_TO]\n\n${QMAIL_ENDS}`,
    ),
    expected: soft("mailbox_full", 550, "5.2.2"),
  },
  {
    name: "DragonFly Mail Agent",
    mail: textReport(
      ["From: MAILER-DAEMON <>", "Subject: Mail delivery failed"],
      `This is the DragonFly Mail Agent v0.13 at relay.example.\n\nThere was an error delivering your mail to <${RECIPIENT}>.\n\nmx.mailbox.example [192.0.2.9] did not like our RCPT TO:\n550 5.7.26 <${RECIPIENT}>: Recipient address rejected: Multiple authentication checks failed\n\nMessage headers follow.\n\n${ORIGINAL}`,
    ),
    expected: policy("policy_rejected", 550, "5.7.26"),
  },
  {
    name: "Gmail, old: a state behind the words",
    mail: textReport(
      [
        "From: Mail Delivery Subsystem <mailer-daemon@googlemail.example>",
        "Subject: Delivery Status Notification (Failure)",
        `X-Failed-Recipients: ${RECIPIENT}`,
      ],
      `Delivery to the following recipient failed permanently:\n\n     ${RECIPIENT}\n\nTechnical details of permanent failure:\nWe tried to deliver your message, but it was rejected by the recipient domain. The error that the other server returned was: 550 550 5.1.1 <${RECIPIENT}>... User Unknown (state 14).\n\n   ----- Original message -----\n\n${ORIGINAL}`,
    ),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "Sendmail 5: a transcript",
    mail: textReport(
      ["From: Mail Delivery Subsystem <MAILER-DAEMON@relay.example>", "Subject: Returned mail: User unknown"],
      `   ----- Transcript of session follows -----\nWhile talking to mailbox.example:\n>>> RCPT To:<${RECIPIENT}>\n<<< 550 5.1.1 User unknown\n550 <${RECIPIENT}>... User unknown\n\n   ----- Unsent message follows -----\n${ORIGINAL}`,
    ),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "Domino: a user who is not listed",
    mail: textReport(
      [
        "From: Postmaster@relay.example",
        "Subject: DELIVERY FAILURE: User ana (ana@mailbox.example) not listed in Domino Directory",
      ],
      `Your message\n\n  Subject: Your order\n\nwas not delivered to:\n\n  ${RECIPIENT}\n\nbecause:\n\n  User ana (${RECIPIENT}) not listed in Domino Directory`,
    ),
    expected: hard("recipient_address_rejected"),
  },
  {
    name: "Exchange 2003: a code in words",
    mail: textReport(
      ["From: postmaster@tenant.example", "Subject: Undeliverable: Your order", "Return-Path: <>"],
      `Your message\n\n  To:      ${RECIPIENT}\n  Subject: Your order\n\ndid not reach the following recipient(s):\n\n${RECIPIENT} on Sun, 22 Nov 2026 08:00:00 +0000\n    The recipient name is not recognized\n    MSEXCH:IMS:TENANT:SITE:SERVER 0 (000C05A6) Unknown Recipient`,
    ),
    expected: hard("recipient_address_rejected"),
  },
  {
    name: "Amazon WorkMail: fields in the text, folded by quoted-printable",
    mail: textReport(
      [
        "From: MAILER-DAEMON@eu-west-1.ses.example",
        "Subject: =?utf-8?Q?Delivery_Status_Notification_=28Failure=29?=",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: quoted-printable",
      ],
      `An error occurred while trying to deliver the mail to the following recip=\nients:\n${RECIPIENT}\n\nTechnical report:\n\nReporting-MTA: dsn; a1.ses.example\n\nAction: failed\nFinal-Recipie=\nnt: rfc822; ${RECIPIENT}\nDiagnostic-Code: smtp; 550 5.1.1 <ana=\n@mailbox.example>... User unknown\nStatus: 5.1.1`,
    ),
    expected: hard("recipient_address_rejected", 550, "5.1.1"),
  },
  {
    name: "X1: a server in the queue too long",
    mail: textReport(
      ["From: MAILER-DAEMON@relay.example", "Subject: failed delivery"],
      `Message from relay.example.\nUnable to deliver message to the following address(es).\n\n<${RECIPIENT}>:\nunable to connect to remote server [192.0.2.9:25]: Operation timed out\nI'm not going to try again; this message has been in the queue too long.\n\n--- Original message follows.\n\n${ORIGINAL}`,
    ),
    expected: soft("delivery_expired", undefined, "4.4.7"),
  },
  {
    name: "a German provider: the mailbox is full",
    mail: textReport(
      [
        'From: "Mail Delivery System" <mailer-daemon@provider.example>',
        "Subject: Mail delivery failed: returning message to sender",
      ],
      `This message was created automatically by mail delivery software.\n\n${RECIPIENT}\n\n    Quota exceeded. The recipient mailbox is full.\n\n--- The header of the original message is following. ---\n\n${ORIGINAL}`,
    ),
    expected: soft("mailbox_full"),
  },
  {
    name: "OpenSMTPD: a domain that does not exist",
    mail: textReport(
      ["From: Mailer Daemon <MAILER-DAEMON@relay.example>", "Subject: Delivery status notification: error"],
      `    Hi!\n\n    This is the MAILER-DAEMON, please DO NOT REPLY to this e-mail.\n\n    An error has occurred while attempting to deliver a message for\n    the following list of recipients:\n\n${RECIPIENT}: Domain does not exist\n\n    Below is a copy of the original message:\n\n${ORIGINAL}`,
    ),
    expected: hard("recipient_address_rejected"),
  },
  {
    name: "Exchange Online: a reply without a status part, Auto-Submitted as of a reply",
    mail: textReport(
      [
        "Return-Path: <>",
        "From: <postmaster@tenant.example>",
        "Subject: Undeliverable: Re: Your order",
        "Auto-Submitted: auto-generated",
      ],
      `Delivery has failed to these recipients:\n\n${RECIPIENT}\n\nRemote Server returned '550 5.1.10 RESOLVER.ADR.RecipientNotFound; not found'`,
    ),
    expected: hard("recipient_address_rejected", 550, "5.1.10"),
  },
  {
    name: "a report that says nothing",
    mail: textReport(["From: MAILER-DAEMON@relay.example", "Subject: failure notice"], ""),
    expected: { kind: "unknown" },
  },
];
