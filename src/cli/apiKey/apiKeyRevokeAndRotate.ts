import { systemClock } from "../../adapters/system/systemClock.ts";
import { apiKeyAggregate } from "../../commands/aggregateDefinitions.ts";
import { revokeKey } from "../../commands/apiKey/revokeApiKey.ts";
import { rotateKeyForOperator } from "../../commands/apiKey/rotateApiKey.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { loadAllOfKind } from "../../commands/loadAllOfKind.ts";
import { OVERLAP_SECONDS_DEFAULT, OVERLAP_SECONDS_MAX } from "../../domain/apiKey/decisions.ts";
import { keyNameWithPerson } from "../../domain/apiKey/person.ts";
import { type ApiKey, keyStatus } from "../../domain/apiKey/state.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { wholeNumber } from "../../kernel/text/wholeNumber.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { type Command, refuse, UsageError } from "../program/command.ts";
import { changeLog } from "../program/openStoreForCommand.ts";
import { personsKeyText } from "./personsKeyText.ts";
import { unknownKey } from "./unknownKey.ts";

/** Returns the ids it revoked. Children may issue further keys meanwhile, so it repeats until it finds none. */
async function revokeChildren(deps: Dependencies, id: string): Promise<readonly string[]> {
  const revoked: string[] = [];
  for (;;) {
    const children = (await apiKeysBelow(deps, id)).map(([child]) => child);
    if (children.length === 0) return revoked;
    for (const child of children) await revokeKey(deps, child, systemCommandContext("cli"));
    revoked.push(...children);
  }
}

/** The unrevoked keys that a key issued or was rotated to, directly or through others. */
async function apiKeysBelow({ store }: Dependencies, id: string): Promise<readonly [string, ApiKey][]> {
  const keys = await loadAllOfKind(store, apiKeyAggregate);
  const below = new Set([id]);
  const isBelow = ({ issuerId, rotatedFrom }: ApiKey) =>
    below.has(issuerId ?? "") || below.has(rotatedFrom ?? "");
  // A key comes after its parent in the log, and so in the map.
  for (const [one, key] of keys) if (isBelow(key)) below.add(one);
  return [...keys].filter(([one, { revoked }]) => one !== id && below.has(one) && !revoked);
}

/** The keys that a revoked one leaves behind, and what ends them. */
function leftLines(id: string, left: readonly [string, ApiKey][]): readonly string[] {
  if (left.length === 0) return [];
  return [
    ...left.map(([child, key]) => `${child} came of it and still works: ${keyNameWithPerson(key)}`),
    `to revoke what came of it as well: ${POSTLEDGER} api-key revoke ${id} --with-children`,
  ];
}

export const apiKeyRevoke: Command = {
  name: "api-key revoke",
  operands: [{ name: "id", help: "id of the key: see `api-key list`" }],
  summary: "Revoke a key: it stops working within a second",
  description:
    "Then it names the keys that came of it and still work, for which it reads the log from its start.",
  options: [
    {
      name: "with-children",
      value: null,
      help: "also revoke the keys that it has issued or was rotated to, and theirs",
    },
  ],
  examples: ["postledger api-key revoke <id>", "postledger api-key revoke <id> --with-children"],
  async run(invocation) {
    const id = invocation.operand("id");
    const isWithChildren = invocation.option("with-children") !== undefined;
    const { outcome, children, left } = await changeLog(invocation.config, async (deps, context) => {
      const outcome = await revokeKey(deps, id, context);
      const children = isWithChildren ? await revokeChildren(deps, id) : [];
      const below = isWithChildren || outcome === "notFound" ? [] : await apiKeysBelow(deps, id);
      const left = below.filter(([, key]) => keyStatus(key, systemClock.now()) === "active");
      return { outcome, children, left };
    });
    if (outcome === "notFound") unknownKey(id);
    const lines = [...[id, ...children].map((one) => `${one} revoked`), ...leftLines(id, left)];
    const others = isWithChildren ? { children } : { active_children: left.map(([child]) => child) };
    invocation.print({ id, revoked: true, ...others }, lines);
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
    const outcome = await changeLog(invocation.config, (deps, context) =>
      rotateKeyForOperator(deps, rotation, context),
    );
    if (outcome.kind === "notFound") unknownKey(rotation.id);
    if (outcome.kind === "notActive") refuse(`the key ${rotation.id} is revoked or has expired`);
    const { id, key } = outcome;
    invocation.print({ id, key, rotated_from: rotation.id }, [key ?? personsKeyText(id)]);
  },
};
