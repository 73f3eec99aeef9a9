/** What to type where nothing says otherwise: in a clone of the repository, whose package.json has a script for it. */
const IN_A_CLONE = "bun run postledger";

/**
 * How the command line is called where a process with this environment was started. The container image says so; where
 * npm has fetched Bun there may be no other. The version is that of Bun.
 */
export function cliInvocation(
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
): string {
  const { POSTLEDGER_COMMAND: given, npm_config_user_agent: startedBy = "" } = environment;
  if (given) return given;
  return startedBy.startsWith("npm/") ? `npx -y bun@${version} run postledger` : IN_A_CLONE;
}

/** How it is called here, for messages that say what to type next. */
export const POSTLEDGER = cliInvocation(process.env, Bun.version);
