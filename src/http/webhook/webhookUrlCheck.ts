import { privateHostOf, readDestination } from "../../domain/webhook/webhookUrl.ts";
import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import type { DestinationCheck } from "../../ports/webhookTransport.ts";
import { type Problem, refusedFor } from "../server/problem.ts";

export interface DestinationRules {
  readonly destinations: DestinationCheck;
  /** `host:port` pairs that may be private destinations, for development. */
  readonly allowedPrivateHosts: ReadonlySet<string>;
  /** Whether the service runs on loopback, for development: refusals then say what can be set. */
  readonly isDevelopment: boolean;
}

/** The destination in a request, normalised. Throws INVALID_WEBHOOK_URL, without revealing any address. */
export async function destinationOf(text: string, rules: DestinationRules): Promise<string> {
  const read = readDestination(text, rules.allowedPrivateHosts);
  if ("fault" in read) throw refused(text, rules, `is not a public HTTPS URL on port 443: ${read.fault}`);
  if (await rules.destinations.isPrivate(read.url)) {
    throw refused(text, rules, "has a name that leads to an address which is not public");
  }
  return read.url;
}

/** How long showing an endpoint waits for name servers. */
const SHOWN_LOOK_UP_MS_MAX = 300;

/** Why calls to a destination are blocked now, in sentences for its owner; null unless that is known. */
export async function blockedReason(url: string, rules: DestinationRules): Promise<string | null> {
  const isPrivate = await settleWithin(SHOWN_LOOK_UP_MS_MAX, rules.destinations.isPrivate(url), () => false);
  if (!isPrivate) return null;
  const pair = rules.isDevelopment ? privateHostOf(url) : null;
  const what = "It is not called, because its name leads to an address that is not public.";
  return pair === null
    ? `${what} Every address of the name must be public.`
    : `${what} For development, start the service with WEBHOOK_ALLOW_PRIVATE_HOSTS=${pair}.`;
}

function refused(text: string, { isDevelopment }: DestinationRules, message: string): Problem {
  const hint = isDevelopment ? developmentHint(text) : "";
  return refusedFor("INVALID_WEBHOOK_URL", [{ pointer: "/url", message: message + hint }]);
}

function developmentHint(text: string): string {
  const pair = privateHostOf(text);
  if (pair !== null) return `; for development, WEBHOOK_ALLOW_PRIVATE_HOSTS can list ${pair}`;
  if (!text.startsWith("http://")) return "";
  return "; even in development, only localhost and 127.0.0.1 can be called without TLS";
}
