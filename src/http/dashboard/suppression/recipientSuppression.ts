import type { Dependencies } from "../../../commands/dependencies.ts";
import type { EmailView } from "../../../commands/email/readEmail.ts";
import { readSuppression, type Suppression } from "../../../commands/suppression/readSuppression.ts";
import { parseAddress } from "../../../kernel/text/emailAddress.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/**
 * The suppression that a new message to the same recipient would meet; null where it would meet none, where the recipient
 * was erased, and where the session could not learn it otherwise. Throws `StoreError`.
 */
export async function recipientSuppression(
  deps: Dependencies,
  context: PageContext,
  { content }: EmailView,
): Promise<Suppression | null> {
  // Test mail is simulated, whoever is suppressed.
  const { workspaceId, isTest } = context.principal;
  if (content === null || isTest || !(context.may("email:send") || context.may("suppression:manage")))
    return null;
  const address = parseAddress(content.to);
  return "invalid" in address ? null : readSuppression(deps, workspaceId, address);
}
