import type { Dependencies } from "../../../commands/dependencies.ts";
import { readSuppression, type Suppression } from "../../../commands/suppression/readSuppression.ts";
import { parseAddress } from "../../../kernel/text/emailAddress.ts";
import type { ShownEmail } from "../../email/redactEmail.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/**
 * The suppression that would stop a new message to the same recipient. Null if there is none, if the recipient was
 * erased, or if the session could not learn it otherwise. Throws `StoreError`.
 */
export async function recipientSuppression(
  deps: Dependencies,
  context: PageContext,
  { content }: Pick<ShownEmail, "content">,
): Promise<Suppression | null> {
  // Test mail is simulated regardless of suppressions.
  const { workspaceId, isTest } = context.principal;
  if (content === null || isTest || !(context.may("email:send") || context.may("suppression:manage")))
    return null;
  const address = parseAddress(content.to);
  return "invalid" in address ? null : readSuppression(deps, workspaceId, address);
}
