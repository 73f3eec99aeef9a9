import { mkdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sqliteReadDatabases } from "../adapters/sqlite/readDatabase.ts";
import { systemClock } from "../adapters/system/systemClock.ts";
import { LogSealer } from "../commands/sealLog.ts";
import { type LogVerification, verifyLog } from "../commands/verifyLog.ts";
import type { Config } from "../config.ts";
import { reasonOf } from "../kernel/reason.ts";
import {
  newSigningKey,
  type PublicKey,
  parsePublicKeys,
  parseSigningKey,
  publicKeyPem,
} from "../kernel/signingKey.ts";
import { type EpochMs, epochMs, SECOND_MS } from "../kernel/time.ts";
import { openStore } from "../openParts.ts";
import type { EventStore } from "../ports/eventStore.ts";
import { type Command, type Invocation, UsageError } from "./command.ts";
import { howFar, progressBar } from "./progressBar.ts";

const SEAL_DIGEST = /^[0-9a-f]{64}$/;

/** Seals are of the log alone: neither content nor master key is needed. */
async function onStore<Result>(
  config: Config,
  work: (store: EventStore) => Promise<Result>,
): Promise<Result> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
  const store = await openStore(config);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const keygen: Command = {
  name: "audit keygen",
  operands: "<file>",
  summary: "Make a key that signs seals: the private one in <file>, the public one in <file>.pub",
  async run({ args: [file, ...more], print }) {
    if (file === undefined || more.length > 0) throw new UsageError("audit keygen takes one file");
    const { pem, publicKey } = newSigningKey();
    try {
      await writeFile(file, pem, { flag: "wx", mode: 0o600 });
      await writeFile(`${file}.pub`, publicKeyPem(publicKey), { flag: "wx", mode: 0o644 });
    } catch (error) {
      throw new UsageError(`the key cannot be written: ${reasonOf(error)}`);
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
  summary: "Seal the log up to its head now, also beside a running service",
  async run({ config, print }) {
    const bar = progressBar("seal");
    const { revision, leaf, covered } = await onStore(config, async (store) => {
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

function linesOf(result: LogVerification, now: EpochMs): readonly string[] {
  const { events, chain, uncovered, findings, shown } = result;
  const { seals, signed, covered, lastAt, lastLeaf } = chain;
  const secondsAgo = lastAt === null ? 0 : Math.round((now - epochMs(lastAt)) / SECOND_MS);
  return [
    ...shown.map(({ kind, stream, revision, detail }) => `${kind}  ${stream}@${revision}  ${detail}`),
    ...(findings > shown.length ? [`and ${findings - shown.length} more`] : []),
    `${events} events read; ${covered} are sealed, in ${seals} seals of which ${signed} are signed; ${findings} findings`,
    lastAt === null
      ? "there is no seal: nothing but the order of each stream was checked"
      : `the last seal is ${secondsAgo} s old, ${uncovered} events came since; its digest, to be kept elsewhere: ${lastLeaf}`,
  ];
}

const verify: Command = {
  name: "audit verify",
  summary: "Compare the log with its seals: what was changed, removed or inserted, and where",
  options: [
    { name: "public-key", value: "<file>", help: "PEM of the keys that must have signed the seals" },
    { name: "digest", value: "<hex>", help: "digest of a seal that must be in the chain" },
  ],
  async run(invocation) {
    const { config, print } = invocation;
    const trusted = trustedKeys(invocation);
    const kept = keptDigest(invocation);
    const interrupted = new AbortController();
    process.once("SIGINT", () => interrupted.abort());
    const bar = progressBar("verify");
    const began = performance.now();
    const result = await onStore(config, (store) =>
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
        signal: interrupted.signal,
      }),
    );
    bar.end();
    print(result, linesOf(result, Date.now()));
    return result.findings > 0 ? 1 : 0;
  },
};

export const auditCommands: readonly Command[] = [keygen, seal, verify];
