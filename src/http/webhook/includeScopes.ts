import type { Principal } from "../../commands/apiKey/authenticate.ts";
import type { EndpointChange } from "../../commands/webhook/changeWebhookEndpoint.ts";
import { permits, type Scope } from "../../domain/apiKey/scopes.ts";
import { INCLUDABLE_MEMBERS, type IncludableMember } from "../../domain/webhook/includableMembers.ts";
import { scopeText } from "../server/authorization.ts";
import { Problem } from "../server/problem.ts";

/** The scope by which a key could read each of these in the messages themselves. */
const SCOPES_TO_INCLUDE: Readonly<Record<IncludableMember, Scope>> = {
  from: "email:status",
  to: "email:status",
  subject: "email:read",
};

/** Whether a key may have an endpoint told this of messages, and see it in its deliveries. */
export function mayInclude({ scopes }: Pick<Principal, "scopes">, member: IncludableMember): boolean {
  return permits(scopes, SCOPES_TO_INCLUDE[member]);
}

/** The members that a key may have an endpoint told, and those that the endpoint is told already. */
export function includableBy(
  principal: Pick<Principal, "scopes">,
  had: readonly string[],
): readonly IncludableMember[] {
  return INCLUDABLE_MEMBERS.filter((member) => had.includes(member) || mayInclude(principal, member));
}

/** What an endpoint is, as far as it matters here; null: there is none yet. */
type Before = { readonly url: string; readonly include: readonly string[] } | null;

/**
 * Throws FORBIDDEN if the key would have told to an endpoint what it may not read itself. What an endpoint is told already
 * may stay, unless the endpoint moves: its new address may be the caller's.
 */
export function requireIncludable(
  principal: Pick<Principal, "scopes">,
  { url, include }: Pick<EndpointChange, "url" | "include">,
  before: Before,
): void {
  const had = before?.include ?? [];
  const isMoved = before !== null && url !== undefined && url !== before.url;
  const told = (include ?? had).filter((member) => isMoved || !had.includes(member));
  for (const member of INCLUDABLE_MEMBERS) {
    if (!told.includes(member) || mayInclude(principal, member)) continue;
    const what = isMoved ? `moving an endpoint that is told ${member}` : `${member} in include`;
    throw new Problem("FORBIDDEN", { detail: `${what} needs ${scopeText(SCOPES_TO_INCLUDE[member])} too` });
  }
}
