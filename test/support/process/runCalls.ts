import {
  type CommandCall,
  type CommandCallResult,
  type CommandProcess,
  sharedCommandProcess,
  startCommandProcess,
} from "./commandProcess.ts";

/** The user id that root gives up its own for, so that the rights of files bind it: `nobody`. */
export const ORDINARY_USER = 65_534;

async function makeCalls(
  commands: CommandProcess,
  calls: readonly CommandCall[],
): Promise<readonly CommandCallResult[]> {
  const results: CommandCallResult[] = [];
  for (const call of calls) results.push(await commands.run(call));
  return results;
}

/** Makes calls one after another, in the process that all commands of the test's process share. */
export function runCalls(calls: readonly CommandCall[]): Promise<readonly CommandCallResult[]> {
  return makeCalls(sharedCommandProcess(), calls);
}

/**
 * As {@link runCalls}, in a process of their own: for starts of the service, or beside other calls. `asOrdinaryUser`: as
 * {@link ORDINARY_USER} if root runs the tests.
 */
export async function runCallsApart(
  calls: readonly CommandCall[],
  { asOrdinaryUser = false } = {},
): Promise<readonly CommandCallResult[]> {
  const isRoot = process.getuid?.() === 0;
  const commands = startCommandProcess(asOrdinaryUser && isRoot ? ORDINARY_USER : null);
  try {
    return await makeCalls(commands, calls);
  } finally {
    await commands.end();
  }
}
