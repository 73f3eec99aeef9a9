import type { Logger } from "pino";
import type { RelayChange } from "../../adapters/nodemailer/relayFailover.ts";
import { isOutOfDescriptors } from "../../adapters/system/descriptorLimit.ts";
import type { RelayTrouble } from "../../kernel/outcome/mailOutcome.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { RelayReport } from "../../reactors/email/relayOutageReports.ts";
import type {
  CorrectableReason,
  Refusal,
  RelayRefusalReport,
} from "../../reactors/email/relayRefusalReports.ts";
import { mailDestination } from "../adapters/openMailTransport.ts";
import type { Config } from "../config/config.ts";
import { DESCRIPTORS_REMEDY, OUT_OF_DESCRIPTORS } from "../status/checks/descriptorCheck.ts";

const CHECK_LOGIN =
  "check user and password in SMTP_URL, and restart the service if you change them: it reads SMTP_URL and SMTP_URL_FILE only when it starts";

/** What is wrong, and what to do about it. */
const TROUBLES: Readonly<Record<RelayTrouble, readonly [what: string, remedy: string]>> = {
  login_refused: ["the relay refuses the login, or requires one", CHECK_LOGIN],
  tls_failed: [
    "no secure connection to the relay",
    "smtps:// is for ports that begin with TLS (465), smtp:// for STARTTLS (587), or ?tls=none for a relay without TLS in a private network",
  ],
  certificate_expired: [
    "the relay's certificate is out of date",
    "ask whoever runs the relay to renew it; if it is valid, this machine's clock is wrong",
  ],
  certificate_untrusted: [
    "nobody whom this machine trusts has signed the relay's certificate",
    "if the relay has a private authority, NODE_EXTRA_CA_CERTS can name the file of that, read at the start; else ask whoever runs the relay for a certificate with its whole chain",
  ],
  certificate_of_other_host: [
    "the relay's certificate is for another host",
    "name in SMTP_URL a host that the certificate is for, or ask whoever runs the relay",
  ],
  unreachable: [
    "the relay cannot be reached",
    "check host and port in SMTP_URL, and that it runs and no firewall is between; a port that begins with TLS (465) needs smtps://",
  ],
  throttled: [
    "the relay asks for slower sending",
    "set SMTP_MESSAGES_PER_SECOND_MAX and SMTP_CONNECTIONS_MAX, or ?messages_per_second= and ?connections_max= in its URL, to what it permits, or ask its operator to permit more",
  ],
  unavailable: [
    "the relay takes no mail now",
    "if this lasts, check host and port in SMTP_URL, and ask whoever runs the relay why",
  ],
  unconfirmed: [
    "the relay takes messages and does not confirm them: recipients may have them, and each retry may be one more copy",
    "ask whoever runs the relay why it ends connections without an answer; until then pause sending, or start the service with DELIVERY_ON_AMBIGUOUS=hold",
  ],
  defers_everybody: [
    "the relay defers one recipient after the other",
    "GET /api/v1/emails/{id} of a deferred message shows its words: greylisting passes by itself within minutes; for 4.1.8 the sender's domain needs DNS records, for 4.7.25 this machine's address a name in reverse DNS; else ask whoever runs the relay",
  ],
  outbox_unwritable: [
    "the outbox cannot be written",
    "check the directory in SMTP_URL, its owner and the disk",
  ],
};

/** What is wrong with a relay that takes no mail, and what an operator can do. */
export function relayTrouble(trouble: RelayTrouble): { readonly what: string; readonly remedy: string } {
  const [what, remedy] = TROUBLES[trouble];
  return { what, remedy };
}

/** What is wrong at this moment, and what to do. */
function currentTrouble(trouble: RelayTrouble): string {
  // Without a free descriptor no relay can be reached, and this one may well be fine.
  const isOurs = trouble === "unreachable" && isOutOfDescriptors();
  return (isOurs ? [OUT_OF_DESCRIPTORS, DESCRIPTORS_REMEDY] : TROUBLES[trouble]).join(": ");
}

/** What to do about mail that the relay permanently refuses. */
const REFUSALS: Readonly<Record<CorrectableReason, string>> = {
  sender_rejected: "verify the sender's address or domain at the relay too, or let this log-in send from it",
  relay_refused: `ask whoever runs the relay to where it passes mail on for this machine, and ${CHECK_LOGIN}`,
  authentication_required: CHECK_LOGIN,
  policy_rejected: "check SPF, DKIM, DMARC and the reputation of the sender's domain and the relay",
};

/** What an operator can do about mail refused because of our setup. */
export function refusalRemedy({ emailId, reason }: Refusal): string {
  return `${REFUSALS[reason]}; GET /api/v1/emails/${emailId} shows the relay's words`;
}

/** Logs that mail is lost for a reason the operator can fix. */
export function refusalLog(config: Config, logger: Logger): (report: RelayRefusalReport) => void {
  const relay = mailDestination(config);
  return ({ failed, ...refusal }) => {
    // Not the route: it has a recipient's domain.
    const { emailId, reason, code } = refusal;
    const text = `the relay refuses mail for good (${reason}), and it is not tried again: ${refusalRemedy(refusal)}`;
    logger.warn({ relay, emailId, reason: `${reason}: ${code}`, failed }, text);
  };
}

/** Logs which of several relays takes no mail, and when it does again. */
export function relayChangeLog(logger: Logger): (change: RelayChange) => void {
  return ({ relay, reason }) => {
    if (reason === null) logger.info({ relay }, "the relay takes mail again");
    else logger.warn({ relay, reason }, "the relay takes no mail: it goes to the next one meanwhile");
  };
}

/** Logs what an operator should know about the relay. `countWaiting` tells how much mail waits for it; null is unknown. */
export function relayLog(
  config: Config,
  logger: Logger,
  countWaiting: () => Promise<number | null>,
): (report: RelayReport) => void {
  const relay = mailDestination(config);
  // In their order, although each counts first.
  let written = Promise.resolve();
  return (report) => {
    const { facts, text } = lineOf(report);
    const counting = countWaiting();
    written = written.then(async () => {
      const level = report.kind === "ended" ? "info" : "warn";
      logger[level]({ relay, ...facts, waiting: await counting }, text);
    });
  };
}

function lineOf(report: RelayReport): { readonly facts: object; readonly text: string } {
  if (report.kind === "began") {
    const { trouble, reason, emailId } = report.fault;
    return { facts: { reason, emailId }, text: `${currentTrouble(trouble)}. Mail waits and is retried` };
  }
  const facts = { forSeconds: Math.round(report.forMs / SECOND_MS), attempts: report.attempts };
  if (report.kind === "ended") return { facts, text: "the relay takes mail again" };
  const { trouble, reason, emailId } = report.fault;
  const when = report.kind === "changed" ? "now" : "still";
  return { facts: { ...facts, reason, emailId }, text: `${when}: ${currentTrouble(trouble)}` };
}
