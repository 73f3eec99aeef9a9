/** A recipient that a server could not deliver to. */
interface Failure {
  readonly recipient: string;
  /** The enhanced code (RFC 3463). */
  readonly status: string;
  /** The reply that the server received. */
  readonly reply: string;
}

/** A delivery status notification (RFC 3464) about a failed recipient. */
export function statusReport({ recipient, status, reply }: Failure): string {
  return [
    "From: MAILER-DAEMON@relay.example",
    "Subject: Undelivered Mail Returned to Sender",
    "MIME-Version: 1.0",
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    "",
    "--b",
    "Content-Type: message/delivery-status",
    "",
    "Reporting-MTA: dns; relay.example",
    "",
    `Final-Recipient: rfc822; ${recipient}`,
    "Action: failed",
    `Status: ${status}`,
    `Diagnostic-Code: smtp; ${reply}`,
    "",
    "--b--",
    "",
  ].join("\r\n");
}
