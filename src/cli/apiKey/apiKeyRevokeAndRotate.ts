import { apiKeyAggregate } from "../../commands/aggregateDefinitions.ts";
import { revokeKey } from "../../commands/apiKey/revokeApiKey.ts";
import { rotateKeyForOperator } from "../../commands/apiKey/rotateApiKey.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { loadAllOfKind } from "../../commands/loadAllOfKind.ts";
import { OVERLAP_SECONDS_DEFAULT, OVERLAP_SECONDS_MAX } from "../../domain/apiKey/decisions.ts";
import type { ApiKey } from "../../domain/apiKey/state.ts";
import { wholeNumber } from "../../kernel/text/wholeNumber.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { type Command, refuse, UsageError } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { personsKeyText } from "./personsKeyText.ts";
import { unknownKey } from "./unknownKey.ts";

/** Returns the ids it revoked. Children may issue further keys meanwhile, so it repeats until it finds none. */
async function revokeChildren(deps: Dependencies, id: string): Promise<readonly string[]> {
  const revoked: string[] = [];
  for (;;) {
    const children = apiKeysBelow(await loadAllOfKind(deps.store, apiKeyAggregate), id);
    if (children.length === 0) return revoked;
    for (const child of children) await revokeKey(deps, child, systemCommandContext("cli"));
    revoked.push(...children);
  }
}

/** The unrevoked keys that a key issued or was rotated to, directly or through others. */
function apiKeysBelow(keys: ReadonlyMap<string, ApiKey>, id: string): readonly string[] {
  const below = new Set([id]);
  const isBelow = ({ issuerId, rotatedFrom }: ApiKey) =>
    below.has(issuerId ?? "") || below.has(rotatedFrom ?? "");
  // A key comes after its parent in the log, and so in the map.
  for (const [one, key] of keys) if (isBelow(key)) below.add(one);
  return [...below].filter((one) => one !== id && keys.get(one)?.revoked === false);
}

export const apiKeyRevoke: Command = {
  name: "api-key revoke",
  operands: [{ name: "id", help: "id of the key: see `api-key list`" }],
  summary: "Revoke a key: it stops working within a second",
  options: [
    {
      name: "with-children",
      value: null,
      help: "also revoke the keys that it has issued or was rotated to, and theirs; reads the log from its start",
    },
  ],
  examples: ["postledger api-key revoke <id>", "postledger api-key revoke <id> --with-children"],
  async run(invocation) {
    const id = invocation.operand("id");
    const isWithChildren = invocation.option("with-children") !== undefined;
    const { outcome, children } = await withLog(
      invocation.config,
      async ({ deps }) => ({
        outcome: await revokeKey(deps, id, systemCommandContext("cli")),
        children: isWithChildren ? await revokeChildren(deps, id) : [],
      }),
      { writes: true },
    );
    if (outcome === "notFound") unknownKey(id);
    const lines = [id, ...children].map((one) => `${one} revoked`);
    invocation.print({ id, revoked: true, ...(isWithChildren ? { children } : {}) }, lines);
  },
};

function overlapMsOf(text: string | undefined): number {
  const seconds =
    text === undefined ? OVERLAP_SECONDS_DEFAULT : wholeNumber(text, { max: OVERLAP_SECONDS_MAX });
  if (seconds !== null) return seconds * SECOND_MS;
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
    const outcome = await withLog(
      invocation.config,
      ({ deps }) => rotateKeyForOperator(deps, rotation, systemCommandContext("cli")),
      { writes: true },
    );
    if (outcome.kind === "notFound") unknownKey(rotation.id);
    if (outcome.kind === "notActive") refuse(`the key ${rotation.id} is revoked or has expired`);
    const { id, key } = outcome;
    invocation.print({ id, key, rotated_from: rotation.id }, [key ?? personsKeyText(id)]);
  },
};
