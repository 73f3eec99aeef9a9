import type { Logger } from "pino";
import { countReady } from "../../../projections/emails/mailQueue.ts";
import type { RelayChange } from "../../adapters/nodemailer/relayFailover.ts";
import { isOutOfDescriptors } from "../../adapters/system/descriptorLimit.ts";
import { systemClock } from "../../adapters/system/systemClock.ts";
import type { RelayTrouble } from "../../kernel/outcome/mailOutcome.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { type ReadDatabase, unlessUnavailable } from "../../ports/readDatabase.ts";
import type { RelayReport } from "../../reactors/email/relayOutageReports.ts";
import type {
  CorrectableReason,
  Refusal,
  RelayRefusalReport,
} from "../../reactors/email/relayRefusalReports.ts";
import { mailDestination } from "../adapters/openMailTransport.ts";
import type { Config } from "../config/config.ts";
import { DESCRIPTORS_REMEDY, OUT_OF_DESCRIPTORS } from "../status/checks/descriptorCheck.ts";

/** What is wrong, and what to do about it. */
const TROUBLES: Readonly<Record<RelayTrouble, readonly [what: string, remedy: string]>> = {
  login_refused: ["the relay refuses the login, or requires one", "check user and password in SMTP_URL"],
  tls_failed: [
    "no secure connection to the relay",
    "smtps:// is for ports that begin with TLS (465), smtp:// for STARTTLS (587), or ?tls=none for a relay without TLS in a private network; the certificate must be valid for the host in SMTP_URL, and NODE_EXTRA_CA_CERTS can name the file of a private authority",
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
  outbox_unwritable: [
    "the outbox cannot be written",
    "check the directory in SMTP_URL, its owner and the disk",
  ],
};

/** What an operator can do about a relay that takes no mail. */
export function relayRemedy(trouble: RelayTrouble): string {
  return TROUBLES[trouble][1];
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
  relay_refused:
    "check user and password in SMTP_URL, and to where the relay passes mail on for this machine",
  authentication_required: "check user and password in SMTP_URL",
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

/** Counting of waiting messages stops here; more are logged as this many. */
const WAITING_MAX = 10_000;

/** Logs what an operator should know about the relay. `emails` tells how much mail waits for it. */
export function relayLog(
  config: Config,
  logger: Logger,
  emails: ReadDatabase,
): (report: RelayReport) => void {
  const relay = mailDestination(config);
  return (report) => {
    // Null while the read model is unavailable.
    const waiting = unlessUnavailable(() => countReady(emails, systemClock.now(), WAITING_MAX));
    if (report.kind === "began") {
      const { trouble, reason } = report.fault;
      logger.warn({ relay, reason, waiting }, `${currentTrouble(trouble)}. Mail waits and is retried`);
      return;
    }
    const forSeconds = Math.round(report.forMs / SECOND_MS);
    const facts = { relay, forSeconds, attempts: report.attempts, waiting };
    if (report.kind === "ended") logger.info(facts, "the relay takes mail again");
    else {
      const { trouble, reason } = report.fault;
      const when = report.kind === "changed" ? "now" : "still";
      logger.warn({ ...facts, reason }, `${when}: ${currentTrouble(trouble)}`);
    }
  };
}
