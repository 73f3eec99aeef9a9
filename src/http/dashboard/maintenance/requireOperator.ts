import { POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import { Problem } from "../../server/problem.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/**
 * Whether the session is an operator's, for the whole installation rather than one workspace: a log-in link can only
 * be made on the machine that runs the service.
 */
export function isOperator({ session }: Pick<PageContext, "session">): boolean {
  return session.hasOwnKey;
}

/** Throws unless {@link isOperator}. */
export function requireOperator(context: Pick<PageContext, "session">): void {
  if (isOperator(context)) return;
  throw new Problem("FORBIDDEN", {
    detail: `this is about the whole installation: log in with a link that \`${POSTLEDGER} dashboard link\` makes on its machine`,
  });
}
