import { returnPathLocalPart } from "../../src/kernel/crypto/returnPath.ts";
import { COMPLAINTS_AND_REPLIES } from "../adapters/postalMime/returnedMail/complaintsAndReplies.ts";
import { mutatedMail } from "../adapters/postalMime/returnedMail/mutatedMail.ts";
import { STATUS_REPORTS } from "../adapters/postalMime/returnedMail/statusReports.ts";
import { TEXT_REPORTS } from "../adapters/postalMime/returnedMail/textReports.ts";
import type { SmtpClient } from "../support/mail/smtpClient.ts";
import { message, newKey, type Tenant, type TestService } from "../support/tenants.ts";
import { faultyMail } from "./hostileMail.ts";
import type { Random } from "./random.ts";
import { runSmtpSessions, sayLine } from "./smtpSessions.ts";

/** The domain that mail comes back to in a run. */
export const RETURN_PATH_DOMAIN = "bounce.fuzz.example";

/** Sessions under way at once; fewer than one client may have. */
const LANES = 6;
const MAILS_PER_SESSION_MAX = 6;
/** Messages that are reported of, and as many that nobody reports. */
const MESSAGES = 20;
const REPORTS = [...STATUS_REPORTS, ...TEXT_REPORTS, ...COMPLAINTS_AND_REPLIES].map(({ mail }) =>
  mail.toString(),
);
const LINES = [
  "NOOP",
  "RSET",
  "EHLO \u00ff",
  "STARTTLS",
  "AUTH PLAIN AAAA",
  "VRFY postmaster",
  "MAIL FROM:<> SIZE=99999999999",
  "RCPT TO:<>",
  "BDAT 5 LAST",
  "\u0000\u00ff",
  "",
];

/** What a run of sessions came to. `faults`: what must not be seen. */
export interface InboundResult {
  readonly sessions: number;
  readonly mails: number;
  readonly accepted: number;
  readonly faults: readonly string[];
}

interface Seen {
  mails: number;
  accepted: number;
  readonly faults: string[];
}

/**
 * Sends reports, whole and mutated, and mail that is none, to return paths of messages, to forged ones and to other
 * addresses, and looks for replies that are none, faults of the service, forged addresses that are taken, and messages
 * that changed though nobody had their address.
 */
export async function fuzzInbound(
  service: TestService,
  { sessions, seed }: { readonly sessions: number; readonly seed: number },
): Promise<InboundResult> {
  const { inbound } = service.app.app;
  if (inbound === null) throw new Error("the service does not accept returned mail");
  const tenant = await service.tenant();
  const reported = await sentMessages(service, tenant);
  const others = await sentMessages(service, tenant);
  const addresses = reported.map((emailId) => {
    const localPart = returnPathLocalPart(service.log.keys, { emailId, attempt: 1 }, Date.now());
    return `${localPart}@${RETURN_PATH_DOMAIN}`;
  });
  const seen: Seen = { mails: 0, accepted: 0, faults: [] };
  await runSmtpSessions({ port: inbound.port, sessions, seed, lanes: LANES }, (client, random) =>
    new Session(client, addresses, random, seen).run(),
  );
  for (const id of others) {
    const { json } = await tenant.call("GET", `/api/v1/emails/${id}`);
    if (json.status !== "sent") seen.faults.push(`${id} is ${json.status}, and nobody had its address`);
  }
  return { sessions, ...seen };
}

/** Messages that a relay has taken, as far as the log knows. */
async function sentMessages(service: TestService, tenant: Tenant): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let number = 0; number < MESSAGES; number += 1) {
    const { json } = await tenant.send(newKey(), message({ to: `to${number}@example.com` }));
    const claim = { attempt: 1, worker: "fuzz", leaseMs: 60_000, transport: "smtp" };
    await service.addEmailEvents(
      json.id,
      { type: "EmailDeliveryStarted", data: claim },
      { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250" } },
    );
    ids.push(json.id);
  }
  return ids;
}

class Session {
  constructor(
    private readonly client: SmtpClient,
    private readonly addresses: readonly string[],
    private readonly random: Random,
    private readonly seen: Seen,
  ) {}

  async run(): Promise<void> {
    const { client, random } = this;
    if (random.chance(0.9)) await this.command("EHLO mx.example");
    for (let count = random.integer(1, MAILS_PER_SESSION_MAX); count > 0 && !client.isClosed(); count -= 1) {
      if (random.chance(0.4)) await this.command(random.pick(LINES));
      if (!client.isClosed()) await this.sendMail();
    }
    client.destroy();
  }

  /** A command and its reply. */
  private command(line: string): Promise<string> {
    return sayLine(this.client, line, { ownFault: "451", faults: this.seen.faults });
  }

  /** An address, and whether mail to it is to be taken. */
  private recipient(): readonly [string, boolean] {
    const { random } = this;
    const own = random.pick(this.addresses);
    if (random.chance(0.7)) return [random.chance(0.5) ? own : own.toUpperCase(), true];
    const at = random.integer(0, own.indexOf("@") - 1);
    const other = own[at] === "a" ? "b" : "a";
    return random.pick([
      [own.slice(0, at) + other + own.slice(at + 1), false],
      [own.slice(0, at) + own.slice(at + 1), false],
      [own.replace(RETURN_PATH_DOMAIN, "elsewhere.example"), false],
      [`postmaster@${RETURN_PATH_DOMAIN}`, true],
      [`"${own.split("@")[0]} "@${RETURN_PATH_DOMAIN}`, false],
    ]);
  }

  private content(): Buffer {
    const { random } = this;
    if (random.chance(0.3)) return Buffer.from(faultyMail(random), "latin1");
    const report = random.pick(REPORTS);
    return random.chance(0.3)
      ? Buffer.from(report)
      : Buffer.from(mutatedMail(report, random.integer(0, 1e9)));
  }

  private async sendMail(): Promise<void> {
    const { client, random, seen } = this;
    await this.command(random.chance(0.7) ? "MAIL FROM:<>" : "MAIL FROM:<mailer@mx.example>");
    const [recipient, isOurs] = this.recipient();
    const answer = await this.command(`RCPT TO:<${recipient}>`);
    if (!isOurs && answer.startsWith("250")) seen.faults.push(`${recipient} was taken`);
    if (!(await this.command("DATA")).startsWith("354")) return void (await this.command("RSET"));
    seen.mails += 1;
    const stuffed = this.content()
      .toString("latin1")
      .replace(/(^|\r\n)\./g, "$1..");
    client.write(Buffer.from(stuffed, "latin1"));
    if (random.chance(0.05)) return client.destroy();
    const reply = await this.command(stuffed.endsWith("\r\n") || stuffed === "" ? "." : "\r\n.");
    if (reply.startsWith("250")) seen.accepted += 1;
  }
}
