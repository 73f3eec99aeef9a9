import type { SmtpClient } from "../support/mail/smtpClient.ts";
import type { Tenant, TestService } from "../support/tenants.ts";
import { faultyMail, validMail } from "./hostileMail.ts";
import type { Random } from "./random.ts";
import { runSmtpSessions, sayLine } from "./smtpSessions.ts";

/** Sessions under way at once; fewer than one client may have without a log-in. */
const LANES = 8;
const MAILS_PER_SESSION_MAX = 6;

const LINES = [
  "NOOP",
  "RSET",
  "HELP",
  "VRFY ana",
  "EHLO",
  "EHLO \u00ff",
  "AUTH PLAIN AAAA",
  "AUTH LOGIN",
  "AUTH",
  "STARTTLS",
  "MAIL FROM:",
  "MAIL FROM:<a@example.com> SIZE=99999999999",
  "MAIL FROM:<a@example.com> BODY=8BITMIME X=+0D+0A",
  "RCPT TO:<>",
  "RCPT TO:<@a,@b:ana@example.com>",
  'RCPT TO:<"a b"@example.com>',
  "RCPT TO:<ana@[127.0.0.1]>",
  `RCPT TO:<${"a".repeat(300)}@example.com>`,
  "DATA x",
  "BDAT 5 LAST",
  "GET / HTTP/1.1",
  "x".repeat(3_000),
  "\u0000\u0001\u00ff",
  "",
];

/** What a run of sessions came to. `faults`: what must not be seen. */
export interface SubmissionResult {
  readonly sessions: number;
  readonly mails: number;
  readonly accepted: number;
  readonly faults: readonly string[];
}

interface Seen {
  mails: number;
  accepted: Set<string>;
  readonly faults: string[];
}

/**
 * Opens sessions with the service's port for SMTP, sends sound and strange mails and commands, and looks for replies
 * that are none, faults of the service, mail that is taken from strangers, and messages that no reply has promised.
 */
export async function fuzzSubmission(
  service: TestService,
  { sessions, seed }: { readonly sessions: number; readonly seed: number },
): Promise<SubmissionResult> {
  const { submission } = service.app.app;
  if (submission === null) throw new Error("the service does not accept mail over SMTP");
  const tenant = await service.tenant();
  const seen: Seen = { mails: 0, accepted: new Set(), faults: [] };
  await runSmtpSessions({ port: submission.port, sessions, seed, lanes: LANES }, (client, random) =>
    new Session(client, tenant, random, seen).run(),
  );
  const stored = await storedIds(service, tenant);
  for (const id of seen.accepted)
    if (!stored.has(id)) seen.faults.push(`${id} was promised and is not there`);
  const { mails, accepted, faults } = seen;
  return { sessions, mails, accepted: accepted.size, faults };
}

/** Asks without holding answers to the document: whether they are as documented, other requests find out. */
async function storedIds(service: TestService, { apiKey }: Tenant): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  let cursor: string | null = "";
  while (cursor !== null) {
    const after: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = await fetch(new URL(`/api/v1/emails?limit=100${after}`, service.url), {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const page = (await answer.json()) as { data: { id: string }[]; next_cursor: string | null };
    for (const { id } of page.data) ids.add(id);
    cursor = page.next_cursor;
  }
  return ids;
}

class Session {
  private isKnown = false;

  constructor(
    private readonly client: SmtpClient,
    private readonly tenant: Tenant,
    private readonly random: Random,
    private readonly seen: Seen,
  ) {}

  async run(): Promise<void> {
    const { client, random } = this;
    if (random.chance(0.8)) this.isKnown = (await client.logIn(this.tenant.apiKey)).startsWith("235");
    else await this.command("EHLO client.example");
    for (let count = random.integer(1, MAILS_PER_SESSION_MAX); count > 0 && !client.isClosed(); count -= 1) {
      if (random.chance(0.4)) await this.command(random.pick(LINES));
      if (!client.isClosed()) await this.sendMail();
    }
    client.destroy();
  }

  /** A command and its reply. */
  private async command(line: string): Promise<string> {
    const { faults } = this.seen;
    const reply = await sayLine(this.client, line, { ownFault: "451 4.3.0", faults });
    if (reply.startsWith("334")) await this.command("*");
    return reply;
  }

  private async sendMail(): Promise<void> {
    const { client, random, seen } = this;
    const mail = random.chance(0.4) ? validMail(random) : faultyMail(random);
    const began = await this.command("MAIL FROM:<a@example.com>");
    if (!this.isKnown && began.startsWith("250")) seen.faults.push("mail was taken from a stranger");
    const recipients = Array.from({ length: random.integer(1, 3) }, (_, at) => `to${at}@example.com`);
    for (const recipient of recipients) await this.command(`RCPT TO:<${recipient}>`);
    if (!(await this.command("DATA")).startsWith("354")) return void (await this.command("RSET"));
    seen.mails += 1;
    const stuffed = mail.replace(/(^|\r\n)\./g, "$1..");
    client.write(Buffer.from(stuffed, "latin1"));
    if (random.chance(0.05)) return client.destroy();
    const reply = await this.command(stuffed.endsWith("\r\n") || stuffed === "" ? "." : "\r\n.");
    const [, id = ""] = /^250 2\.6\.0 accepted .*?as (\S+)$/.exec(reply) ?? [];
    if (id !== "") seen.accepted.add(id);
  }
}
