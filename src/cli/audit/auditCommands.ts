import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sqliteReadDatabases } from "../../adapters/sqlite/readModelDatabase.ts";
import { systemClock } from "../../adapters/system/systemClock.ts";
import { LogSealer } from "../../commands/audit/auditSealer.ts";
import { verifyLog } from "../../commands/audit/verifyLog.ts";
import {
  newSigningKey,
  type PublicKey,
  parsePublicKeys,
  parseSigningKey,
  publicKeyPem,
} from "../../kernel/crypto/signingKey.ts";
import { reasonOf } from "../../kernel/text/errorReason.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { howFar, progressBar } from "../output/progressBar.ts";
import { type Command, type Invocation, refuse, UsageError } from "../program/command.ts";
import { withStore } from "../program/openStoreForCommand.ts";
import { interruptible } from "../projection/rebuildProgress.ts";
import { auditLogCommand } from "./auditLogCommand.ts";
import { auditReport } from "./verifyReport.ts";

const SEAL_DIGEST = /^[0-9a-f]{64}$/;

const keygen: Command = {
  name: "audit keygen",
  operands: [{ name: "file", help: "where the private key goes; the public one goes to <file>.pub" }],
  summary: "Make the pair of keys that seals are signed and verified with",
  description: "It needs no installation, and overwrites nothing.",
  dataDirectory: "unused",
  examples: [
    "postledger audit keygen seal.key",
    "AUDIT_SIGNING_KEY_FILE=seal.key postledger serve # From then on seals are signed",
  ],
  async run({ operand, print }) {
    const file = operand("file");
    const { pem, publicKey } = newSigningKey();
    try {
      await writeFile(file, pem, { flag: "wx", mode: 0o600 });
      await writeFile(`${file}.pub`, publicKeyPem(publicKey), { flag: "wx", mode: 0o644 });
    } catch (error) {
      const { code, path } = error as NodeJS.ErrnoException;
      if (code === "EEXIST") refuse(`${path} is there already, and is not overwritten`);
      refuse(`the key cannot be written: ${reasonOf(error)}`);
    }
    print({ privateKey: file, publicKey: `${file}.pub` }, [
      `private key in ${file}: set AUDIT_SIGNING_KEY_FILE to it`,
      `public key in ${file}.pub: keep it where nobody who can write the log can change it`,
    ]);
    return 0;
  },
};

const seal: Command = {
  name: "audit seal",
  summary: "Seal the log up to its head now",
  description:
    "A seal names every event before it by its digest. A service makes one every AUDIT_SEAL_INTERVAL_MS by itself; this makes one at once, also beside it. Keep the digest that it prints in another place.",
  examples: ["postledger audit seal", "postledger audit seal --json"],
  async run({ config, print }) {
    const bar = progressBar("seal");
    const { revision, leaf, covered } = await withStore(config, async (store) => {
      const { auditSigningKey: pem } = config;
      const signingKey = pem === null ? null : parseSigningKey(pem);
      const sealer = new LogSealer({ store, clock: systemClock, signingKey, actor: "cli" });
      const head = await store.head();
      do {
        await sealer.readOn(async (position) =>
          bar.show(howFar({ position, head }), `${sealer.last.covered} events sealed`),
        );
      } while (!(await sealer.seal()));
      return sealer.last;
    });
    bar.end();
    print({ seal: revision, digest: leaf, covered }, [
      revision === null ? "the log is empty" : `seal ${revision}: ${covered} events are sealed`,
      ...(leaf === null ? [] : [`its digest, to be kept elsewhere: ${leaf}`]),
    ]);
    return 0;
  },
};

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

const verify: Command = {
  name: "audit verify",
  summary: "Check the store, the log and its seals: what was changed, removed, inserted or hidden",
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
      help: "digest of a seal that must be in the log, 64 hex digits (default: none must)",
    },
  ],
  examples: [
    "postledger audit verify",
    "postledger audit verify --public-key seal.key.pub --digest 11b070ec… # With what was kept in another place",
  ],
  run: (invocation) => interruptible("nothing was decided", (signal) => verifySeals(invocation, signal)),
};

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
      scratchPath: join(config.dataDir, `verify-audit-${crypto.randomUUID()}.db`),
      trusted,
      kept,
      onProgress({ events, position, head }) {
        const rate = Math.round((events * SECOND_MS) / (performance.now() - began));
        bar.show(howFar({ position, head }), `${events} events, ${rate}/s`);
      },
      signal,
    });
  const result = await withStore(config, check, { evenIfFaulty: true }).finally(bar.end);
  print(result, auditReport(result, Date.now()));
  return result.findings > 0 ? 1 : 0;
}

export const auditCommands: readonly Command[] = [auditLogCommand, keygen, seal, verify];
