import { tellIfSlow } from "../../kernel/concurrency/tellIfSlow.ts";

/** The result of a step of a command. On a terminal it says what it waits for if that takes long. */
export function waitingFor<Result>(what: string, step: Promise<Result>): Promise<Result> {
  return tellIfSlow(step, () => {
    if (process.stderr.isTTY) process.stderr.write(`postledger: waiting for ${what}…\n`);
  });
}
