/** What to type where nothing says otherwise: in a clone of the repository, whose package.json has a script for it. */
const IN_A_CLONE = "bun run postledger";

/** How the command line is called where a process with this environment was started: the container image says so. */
export function commandName(environment: Readonly<Record<string, string | undefined>>): string {
  return environment.POSTLEDGER_COMMAND || IN_A_CLONE;
}

/** How it is called here, for messages that say what to type next. */
export const POSTLEDGER = commandName(process.env);
