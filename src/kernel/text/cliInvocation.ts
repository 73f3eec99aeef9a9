/** What to type by default: in a clone of the repository, whose package.json has a script for it. */
const IN_A_CLONE = "bun run postledger";

/**
 * How to call the command line where a process with this environment was started. The container image sets a variable.
 * If npm has fetched Bun, there may be no other Bun. `version` is Bun's.
 */
export function cliInvocation(
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
): string {
  const { POSTLEDGER_COMMAND: given, npm_config_user_agent: startedBy = "" } = environment;
  if (given) return given;
  return startedBy.startsWith("npm/") ? `npx -y bun@${version} run postledger` : IN_A_CLONE;
}

/** How to call it here, for messages that say what to type next. */
export const POSTLEDGER = cliInvocation(process.env, Bun.version);

/** The command that makes a key for a program, after {@link POSTLEDGER}. */
export const CREATE_KEY = "api-key create --scopes email:send,email:read";

/** Quotes any text as one word for a POSIX shell. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
