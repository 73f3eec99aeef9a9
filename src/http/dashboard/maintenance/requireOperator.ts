import { POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import { Problem } from "../../server/problem.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/**
 * Whether somebody looks after the whole installation, and not after one workspace alone: a log-in link is only made on
 * the machine that runs the service.
 */
export function isOperator({ session }: Pick<PageContext, "session">): boolean {
  return session.hasOwnKey;
}

/** Throws for whoever is not {@link isOperator}. */
export function requireOperator(context: Pick<PageContext, "session">): void {
  if (isOperator(context)) return;
  throw new Problem("FORBIDDEN", {
    detail: `this is about the whole installation: log in with a link that \`${POSTLEDGER} dashboard link\` makes on its machine`,
  });
}
