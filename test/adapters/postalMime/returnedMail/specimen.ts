/** A returned mail as one kind of server writes it, and its expected reading. */
export interface Specimen {
  readonly name: string;
  readonly mail: string;
  readonly expected: Expected;
}

export type Expected =
  | {
      readonly kind: "bounced";
      readonly bounce: {
        readonly kind: "hard" | "soft" | "policy";
        readonly reason: string;
        readonly code?: number;
        readonly enhancedCode?: string;
      };
    }
  | {
      readonly kind: "reported";
      readonly feedbackType: string;
      readonly isComplaint: boolean;
      readonly mailFrom: readonly string[];
    }
  | { readonly kind: "delivered" | "underway" | "autoReply" | "unknown" };

/** Our envelope sender in all of them. */
export const RETURN_PATH = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@bounce.shop.example";
export const RECIPIENT = "ana@mailbox.example";

const ORIGINAL = [
  `Return-Path: <${RETURN_PATH}>`,
  "ReturnedMailResult: from shop.example (shop.example [192.0.2.7]) by relay.example; Sun, 22 Nov 2026 08:00:00 +0000",
  "From: shop@shop.example",
  `To: ${RECIPIENT}`,
  "Subject: Your order 550 5.1.1",
  "Message-ID: <0f0e0d0c-0000-5000-8000-000000000001@shop.example>",
  "X-Postledger-Id: 0f0e0d0c-0000-5000-8000-000000000001",
  "",
].join("\n");

export function hard(reason: string, code?: number, enhancedCode?: string): Expected {
  return bounced("hard", reason, code, enhancedCode);
}

export function soft(reason: string, code?: number, enhancedCode?: string): Expected {
  return bounced("soft", reason, code, enhancedCode);
}

export function policy(reason: string, code?: number, enhancedCode?: string): Expected {
  return bounced("policy", reason, code, enhancedCode);
}

function bounced(
  kind: "hard" | "soft" | "policy",
  reason: string,
  code?: number,
  enhancedCode?: string,
): Expected {
  const codes = {
    ...(code === undefined ? {} : { code }),
    ...(enhancedCode === undefined ? {} : { enhancedCode }),
  };
  return { kind: "bounced", bounce: { kind, reason, ...codes } };
}

interface Report {
  readonly from?: string;
  readonly subject?: string;
  readonly headers?: readonly string[];
  readonly text?: string;
  /** The groups of the status part; the first is of the message. */
  readonly status: readonly (readonly string[])[];
  readonly statusType?: string;
  readonly type?: string;
  readonly original?: string;
  readonly originalType?: string;
}

/** A delivery status notification in parts (RFC 6522). */
export function statusReport(report: Report): string {
  const { from = "MAILER-DAEMON@relay.example", subject = "Undelivered Mail Returned to Sender" } = report;
  const { text = "The message could not be delivered.", original = ORIGINAL } = report;
  const type = report.type ?? "multipart/report; report-type=delivery-status";
  const lines = [
    `From: ${from}`,
    `To: ${RETURN_PATH}`,
    `Subject: ${subject}`,
    ...(report.headers ?? []),
    "MIME-Version: 1.0",
    `Content-Type: ${type}; boundary="=_b1"`,
    "",
    "--=_b1",
    "Content-Type: text/plain; charset=utf-8",
    "",
    text,
    "",
    "--=_b1",
    `Content-Type: ${report.statusType ?? "message/delivery-status"}`,
    "",
    report.status.map((group) => group.join("\n")).join("\n\n"),
    "",
    "--=_b1",
    `Content-Type: ${report.originalType ?? "message/rfc822"}`,
    "",
    original,
    "--=_b1--",
    "",
  ];
  return lines.join("\n").replaceAll("\n", "\r\n");
}

/** A report in words alone. */
export function textReport(headers: readonly string[], body: string): string {
  return [...headers, `To: ${RETURN_PATH}`, "", body, ""].join("\n").replaceAll("\n", "\r\n");
}

/** A report of abuse (RFC 5965). `fields` null: its middle part is left out. */
export function abuseReport(
  fields: readonly string[] | null,
  { original = ORIGINAL, headers = ["From: feedback@provider.example", "Subject: Complaint"] } = {},
): string {
  const type = fields === null ? "multipart/mixed" : "multipart/report; report-type=feedback-report";
  const report =
    fields === null ? [] : ["--=_a1", "Content-Type: message/feedback-report", "", ...fields, ""];
  return [
    ...headers,
    "MIME-Version: 1.0",
    `Content-Type: ${type}; boundary="=_a1"`,
    "",
    "--=_a1",
    "Content-Type: text/plain",
    "",
    "A reader has reported this message.",
    "",
    ...report,
    "--=_a1",
    "Content-Type: message/rfc822",
    "Content-Disposition: inline",
    "",
    original,
    "--=_a1--",
    "",
  ]
    .join("\n")
    .replaceAll("\n", "\r\n");
}

export { ORIGINAL };
