import { rotateKeyForOperator } from "../../commands/apiKey/rotateApiKey.ts";
import { OVERLAP_SECONDS_DEFAULT, OVERLAP_SECONDS_MAX } from "../../domain/apiKey/decisions.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { type Command, notFound, refuse, UsageError } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";

function overlapMsOf(text: string | undefined): number {
  const seconds = text === undefined ? OVERLAP_SECONDS_DEFAULT : Number(text);
  if (/^\d*$/.test(text ?? "") && text !== "" && seconds <= OVERLAP_SECONDS_MAX) return seconds * SECOND_MS;
  throw new UsageError(`--overlap-seconds takes a whole number from 0 to ${OVERLAP_SECONDS_MAX}`);
}

export const apiKeyRotate: Command = {
  name: "api-key rotate",
  operands: [{ name: "id", help: "id of the key: see `api-key list`" }],
  summary: "Issue a key that replaces another one, and print it, once",
  description:
    "The new key may do what the old one may. Both are accepted during the overlap; then the old one ends.",
  options: [
    {
      name: "overlap-seconds",
      value: "<n>",
      help: `how long the old key is still accepted, 0 to ${OVERLAP_SECONDS_MAX} (default: ${OVERLAP_SECONDS_DEFAULT}, a day)`,
    },
  ],
  examples: [
    "postledger api-key rotate <id>",
    "postledger api-key rotate <id> --overlap-seconds 0 # It was leaked",
  ],
  async run(invocation) {
    const rotation = {
      id: invocation.operand("id"),
      overlapMs: overlapMsOf(invocation.option("overlap-seconds")),
    };
    const outcome = await withLog(invocation.config, ({ deps }) =>
      rotateKeyForOperator(deps, rotation, systemCommandContext("cli")),
    );
    if (outcome.kind === "notFound") notFound(`there is no key ${rotation.id}`);
    if (outcome.kind === "notActive") refuse(`the key ${rotation.id} is revoked or has expired`);
    const { id, key } = outcome;
    invocation.print({ id, key, rotated_from: rotation.id }, [key]);
    return 0;
  },
};
