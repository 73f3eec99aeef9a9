/** What a server reports of a recipient. */
interface Failure {
  readonly recipient: string;
  /** The enhanced code (RFC 3463). */
  readonly status: string;
  /** What the server was answered. */
  readonly reply: string;
}

/** A delivery status notification (RFC 3464) of a recipient that could not be reached. */
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
