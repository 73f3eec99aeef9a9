import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sqliteReadDatabases } from "../../adapters/sqlite/readModelDatabases.ts";
import { type LogVerification, verifyLog } from "../../commands/audit/verify/verifyLog.ts";
import { type PublicKey, parsePublicKeys } from "../../kernel/crypto/auditSigningKey.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { logReadFraction } from "../../readModels/logReadProgress.ts";
import { isEmbedded } from "../../service/adapters/openStore.ts";
import { progressBar } from "../output/progressBar.ts";
import { type Command, type Invocation, UsageError } from "../program/command.ts";
import { interruptible } from "../program/interruptible.ts";
import { withStore } from "../program/openStoreForCommand.ts";
import { verifyReport } from "./verifyReport.ts";

const SEAL_DIGEST = /^[0-9a-f]{64}$/;

function trustedKeys(invocation: Invocation): readonly PublicKey[] {
  const file = invocation.option("public-key");
  if (file === undefined) return [];
  const keys = parsePublicKeys(textOf(file));
  if (keys === null) throw new UsageError(`--public-key: ${file} must hold Ed25519 public keys in PEM`);
  return keys;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw new UsageError(`--public-key: ${file} cannot be read`);
  }
}

function keptDigest(invocation: Invocation): string | null {
  const digest = invocation.option("digest") ?? null;
  if (digest !== null && !SEAL_DIGEST.test(digest)) throw new UsageError("--digest must be 64 hex digits");
  return digest;
}

export const auditVerify: Command = {
  name: "audit verify",
  summary: "Check the store, the log and its seals for what was changed, removed, inserted or hidden",
  description:
    "Looks through the store's own files or settings, reads the whole log and compares it with its seals; also beside a running service. Needs neither master key nor content. Exit status 1 when anything was found.",
  options: [
    {
      name: "public-key",
      value: "<file>",
      help: "PEM file of the public keys that must have signed the seals (default: signatures are not checked)",
    },
    {
      name: "digest",
      value: "<hex>",
      help: "digest of a seal that must be in the log, 64 hex digits (default: none)",
    },
  ],
  examples: [
    "postledger audit verify",
    "postledger audit verify --public-key seal.key.pub --digest 11b070ec… # With what was kept elsewhere",
  ],
  run: (invocation) => interruptible("there is no result", (signal) => verifySeals(invocation, signal)),
};

function verificationJson({ chain, neverSealed, ...verification }: LogVerification) {
  const { seals, signed, signedSince, covered, lastAt, lastHash, publicKeys } = chain;
  const ends = { signed_since: signedSince, last_at: lastAt, last_hash: lastHash };
  const sealChain = { seals, signed, covered, ...ends, public_keys: publicKeys };
  return { ...verification, never_sealed: neverSealed, chain: sealChain };
}

async function verifySeals(invocation: Invocation, signal: AbortSignal): Promise<number> {
  const { config, print } = invocation;
  const trusted = trustedKeys(invocation);
  const kept = keptDigest(invocation);
  const bar = progressBar("verify");
  const began = performance.now();
  const check = (store: EventStore) =>
    verifyLog({
      store,
      databases: sqliteReadDatabases,
      temporaryPath: join(config.dataDir, `verify-audit-${crypto.randomUUID()}.db`),
      trusted,
      kept,
      isShared: !isEmbedded(config),
      onProgress({ events, position, head }) {
        const rate = Math.round((events * SECOND_MS) / (performance.now() - began));
        bar.show(logReadFraction({ position, head }), `${events} events, ${rate}/s`);
      },
      signal,
    });
  const result = await withStore(config, check, { evenIfFaulty: true }).finally(bar.end);
  print(verificationJson(result), verifyReport(result, Date.now()));
  return result.findings > 0 ? 1 : 0;
}
