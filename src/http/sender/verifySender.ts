import type { Dependencies } from "../../commands/dependencies.ts";
import type { SenderView } from "../../commands/sender/readSender.ts";
import { requestSenderVerification } from "../../commands/sender/requestSenderVerification.ts";
import { domainRecordFault, domainVerification } from "../../commands/sender/verifySenderDomain.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { type EpochMs, SECOND_MS } from "../../kernel/time.ts";
import { type DnsResolver, DnsUnavailableError } from "../../ports/dnsResolver.ts";
import { invalid, Problem, tooManyRequests, unavailable } from "../server/problem.ts";

/** When to ask again after DNS gave no answer: as often as the look-ups of a workspace allow. */
const DNS_RETRY_SECONDS = 60;

interface VerificationOptions {
  readonly deps: Dependencies;
  readonly dns: DnsResolver;
  /** Whether this service has an address to mail verification links from. */
  readonly mailsLinks: boolean;
}

/** Verifies senders. All callers share its counts. */
export interface SenderVerification {
  readonly mailsLinks: boolean;
  /** Mails a link to an address, or looks up a domain's record now. Throws a `Problem` if it cannot. */
  verify(method: "email" | "dns", view: SenderView, context: CommandContext): Promise<void>;
}

export function createSenderVerification(options: VerificationOptions): SenderVerification {
  const verifyDomain = domainVerification(options.deps, options.dns);
  return {
    mailsLinks: options.mailsLinks,
    async verify(method, view, context) {
      const { kind } = view.sender;
      if ((method === "dns") !== (kind === "domain")) {
        throw invalid(
          "/method",
          kind === "domain" ? "must be dns for a domain" : "must be email for an address",
        );
      }
      if (method === "dns") await verifyByDns(verifyDomain, view, context);
      else await verifyByMail(options, view, context);
    },
  };
}

async function verifyByMail(
  { deps, mailsLinks }: VerificationOptions,
  view: SenderView,
  context: CommandContext,
) {
  if (!mailsLinks && view.sender.verifiedBy === null) {
    throw new Problem("SENDER_VERIFICATION_UNAVAILABLE", {
      detail: `the operator has set no VERIFICATION_FROM, but can verify it: \`${POSTLEDGER} sender verify\``,
    });
  }
  const outcome = await requestSenderVerification(deps, view, context);
  if (outcome.kind === "suppressed") throw new Problem("RECIPIENT_SUPPRESSED");
  if (outcome.kind === "limited") throw tooMany("verification mails", outcome.againAt, context.at);
}

async function verifyByDns(
  verifyDomain: ReturnType<typeof domainVerification>,
  view: SenderView,
  context: CommandContext,
) {
  const outcome = await verifyDomain(view, context).catch((error: unknown) => {
    if (!(error instanceof DnsUnavailableError)) throw error;
    const detail = `${error.message}, so nothing was looked up or changed; try again later`;
    throw unavailable(detail, { retryAfterSeconds: DNS_RETRY_SECONDS });
  });
  if (outcome.kind === "limited") throw tooMany("look-ups", outcome.againAt, context.at);
  if (outcome.kind !== "verified")
    throw new Problem("SENDER_VERIFICATION_FAILED", { detail: domainRecordFault(outcome) });
}

function tooMany(what: string, againAt: EpochMs, now: EpochMs): Problem {
  const seconds = Math.max(1, Math.ceil((againAt - now) / SECOND_MS));
  return tooManyRequests(seconds, `there were too many ${what}; try again later`);
}
