import { abuseReport, RECIPIENT, RETURN_PATH, type Specimen, textReport } from "./specimen.ts";

const REPORT = [
  "User-Agent: ProviderFBL/1.0",
  "Version: 1",
  `Original-Mail-From: <${RETURN_PATH}>`,
  `Original-Rcpt-To: <${RECIPIENT}>`,
  "Source-IP: 192.0.2.7",
];

function reported(feedbackType: string, isComplaint: boolean, mailFrom: readonly string[] = [RETURN_PATH]) {
  return { kind: "reported", feedbackType, isComplaint, mailFrom } as const;
}

/** Reports of abuse (RFC 5965), and automatic mail. */
export const COMPLAINTS_AND_REPLIES: readonly Specimen[] = [
  {
    name: "ARF: abuse",
    mail: abuseReport(["Feedback-Type: abuse", ...REPORT]),
    expected: reported("abuse", true),
  },
  {
    name: "ARF: the type last, in capitals",
    mail: abuseReport([...REPORT, "Feedback-Type: ABUSE"]),
    expected: reported("abuse", true),
  },
  {
    name: "ARF: a comment on the type",
    mail: abuseReport(["Feedback-Type: (as reported) abuse (spam button)", ...REPORT]),
    expected: reported("abuse", true),
  },
  {
    name: "ARF: fraud",
    mail: abuseReport(["Feedback-Type: fraud", ...REPORT]),
    expected: reported("fraud", true),
  },
  {
    name: "ARF: opt-out",
    mail: abuseReport(["Feedback-Type: opt-out", ...REPORT]),
    expected: reported("opt-out", true),
  },
  {
    name: "ARF: not spam",
    mail: abuseReport(["Feedback-Type: not-spam", ...REPORT]),
    expected: reported("not-spam", false),
  },
  {
    name: "ARF: about authentication (RFC 6591)",
    mail: abuseReport([
      "Feedback-Type: auth-failure",
      "Auth-Failure: dkim",
      "Reported-Domain: shop.example",
      ...REPORT,
    ]),
    expected: reported("auth-failure", false),
  },
  {
    name: "ARF: the recipient is blacked out, several times",
    mail: abuseReport([
      "Feedback-Type: abuse",
      "Version: 1",
      "Original-Rcpt-To: redacted@",
      "Original-Rcpt-To: redacted",
      "Redacted-Address: redacted",
    ]),
    expected: reported("abuse", true),
  },
  {
    name: "ARF: the headers of what is returned do not name us",
    mail: abuseReport(["Feedback-Type: abuse", "Original-Mail-From: somebody@else.example"], {
      original: "From: shop@shop.example\nSubject: x\n",
    }),
    expected: reported("abuse", true, ["somebody@else.example"]),
  },
  {
    name: "Microsoft: no report part",
    mail: abuseReport(null, {
      headers: ["From: staff@hotmail.example", "Subject: complaint about message from 192.0.2.7"],
      original: `X-HmXmrOriginalRecipient: ${RECIPIENT}\nReturn-Path: ${RETURN_PATH}\nFrom: shop@shop.example\nSubject: Your order\n`,
    }),
    expected: reported("abuse", true),
  },
  {
    name: "Exchange: out of office, with a null sender",
    mail: textReport(
      [
        "Return-Path: <>",
        "From: Ana <ana@mailbox.example>",
        "Subject: Automatic reply: Your order",
        "X-Auto-Response-Suppress: All",
        "Auto-Submitted: auto-generated",
      ],
      "I am away until Monday. For 550 5.1.1 questions write to bo@mailbox.example.",
    ),
    expected: { kind: "autoReply" },
  },
  {
    name: "vacation(1)",
    mail: textReport(
      ["From: ana@mailbox.example", "Subject: Re: Your order", "Auto-Submitted: auto-replied (vacation)"],
      "I am on holiday.",
    ),
    expected: { kind: "autoReply" },
  },
  {
    name: "Apple: a rule has answered",
    mail: textReport(
      ["From: ana@mailbox.example", "Subject: Re: Your order", "X-Apple-Action: JUNK-MAIL/VACATION"],
      "Gone fishing.",
    ),
    expected: { kind: "autoReply" },
  },
  {
    name: "an answer of a person who is away, told by its subject alone",
    mail: textReport(
      ["From: ana@mailbox.example", "Subject: Abwesenheitsnotiz: Ihre Bestellung"],
      "Ich bin nicht im Haus.",
    ),
    expected: { kind: "autoReply" },
  },
  {
    name: "a read receipt",
    mail: textReport(
      [
        "From: ana@mailbox.example",
        "Subject: Read: Your order",
        "MIME-Version: 1.0",
        'Content-Type: multipart/report; report-type=disposition-notification; boundary="=_r"',
      ],
      `--=_r\nContent-Type: text/plain\n\nYour message was read.\n\n--=_r\nContent-Type: message/disposition-notification\n\nFinal-Recipient: rfc822; ${RECIPIENT}\nDisposition: manual-action/MDN-sent-manually; displayed\n\n--=_r--`,
    ),
    expected: { kind: "autoReply" },
  },
  {
    name: "a read receipt of a server, with a recipient in its words too",
    mail: textReport(
      [
        "From: Mail Delivery System <MAILER-DAEMON@mailbox.example>",
        "Subject: Not read: Delivery failed",
        "MIME-Version: 1.0",
        'Content-Type: multipart/report; report-type=disposition-notification; boundary="=_r"',
      ],
      `--=_r\nContent-Type: text/plain\n\nFinal-Recipient: rfc822; ${RECIPIENT}\nStatus: 5.1.1\nDeleted unread.\n\n--=_r--`,
    ),
    expected: { kind: "autoReply" },
  },
  {
    name: "an answer to our own subject, which sounds like a report",
    mail: textReport(
      [
        "Return-Path: <>",
        "From: Ana <ana@mailbox.example>",
        "Subject: Re: Delivery status of your order",
        "Auto-Submitted: auto-replied",
        "Precedence: bulk",
      ],
      "I am out of the office. The account of Eve is no longer valid: write to bo@mailbox.example.",
    ),
    expected: { kind: "autoReply" },
  },
  {
    name: "an answer that keeps our own subject",
    mail: textReport(
      [
        "From: Front desk <desk@mailbox.example>",
        "Subject: Undeliverable parcel 4711",
        "Auto-Submitted: auto-replied",
      ],
      "If the recipient is unknown to us, please call 0511 550 12.",
    ),
    expected: { kind: "autoReply" },
  },
  {
    name: "an answer in German, with a null sender",
    mail: textReport(
      [
        "Return-Path: <>",
        "From: ana@mailbox.example",
        "Subject: Automatische Antwort: Delivery failed",
        "Auto-Submitted: auto-generated",
        "X-Auto-Response-Suppress: All",
      ],
      "Ich bin bis Montag im Urlaub.",
    ),
    expected: { kind: "autoReply" },
  },
  {
    name: "an answer whose subject is encoded (RFC 2047)",
    mail: textReport(
      [
        "From: ana@mailbox.example",
        `Subject: =?utf-8?B?${Buffer.from("自動返信: 注文").toString("base64")}?=`,
      ],
      "不在です。",
    ),
    expected: { kind: "autoReply" },
  },
  {
    name: "an answer of a mail administrator who is away",
    mail: textReport(
      [
        "From: Mail Administrator <it@mailbox.example>",
        "Subject: Out of office: Your order 7",
        "Auto-Submitted: auto-replied",
        "X-Auto-Response-Suppress: All",
      ],
      "I am away until Monday.",
    ),
    expected: { kind: "autoReply" },
  },
  {
    name: "a ticket system at postmaster's address",
    mail: textReport(
      [
        "From: postmaster@mailbox.example",
        "Subject: [Ticket 12] Delivery problem with order 7",
        "Auto-Submitted: auto-generated",
      ],
      "We have received your message. Call us: 0511 550 12.",
    ),
    expected: { kind: "autoReply" },
  },
  {
    name: "a ticket system at postmaster's address, which does not say that it is one",
    mail: textReport(
      ["From: postmaster@mailbox.example", "Subject: [Ticket 12] Re: Delivery problem with order 7"],
      "We have received your message.",
    ),
    expected: { kind: "unknown" },
  },
  {
    name: "an answer with a report in its words",
    mail: textReport(
      ["From: ana@mailbox.example", "Subject: Re: Your order", "Auto-Submitted: auto-replied"],
      `I have left. Others got this:\n\nFinal-Recipient: rfc822; ${RECIPIENT}\nAction: failed\nStatus: 5.1.1`,
    ),
    expected: { kind: "autoReply" },
  },
  {
    name: "a person",
    mail: textReport(
      ["From: Ana <ana@mailbox.example>", "Subject: Re: Your order"],
      "Where is it? The shop said 550 5.1.1 user unknown.",
    ),
    expected: { kind: "unknown" },
  },
  { name: "nothing at all", mail: "", expected: { kind: "unknown" } },
];
