import { cp, mkdir, mkdtemp, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WritingThreads } from "../../../src/adapters/sqlite/append/openLogWriter.ts";
import { ROOT } from "../../support/root.ts";

/** A change to the program's text: a fault, to show that the checker finds it, or a part of the next release. */
export interface Plant {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const PLANTS = {
  /** Commits no longer wait for the disk: only a power cut would show it, so the system calls are watched. */
  "synchronous-off": {
    file: "src/adapters/sqlite/openLogDatabase.ts",
    from: "PRAGMA synchronous = FULL",
    to: "PRAGMA synchronous = OFF",
  },
  /** The same where a thread of its own waits for the disk. */
  "no-flush": {
    file: "src/adapters/sqlite/append/writeAheadLogFlush.ts",
    from: "fdatasyncSync(this.descriptor());",
    to: "this.descriptor();",
  },
  /** Workers deliver without saying so first: a crash then repeats a message that nobody declared ambiguous. */
  "no-claim": {
    file: "src/commands/email/mailAttempts.ts",
    from: "const result = await store.append(emailStream(email.id), toNewEvents(events, context), email.revision);",
    to: 'const result = { outcome: "appended" as const, revision: email.revision };',
  },
  /** Claims last for ever: what a dead worker had claimed is never delivered. */
  "no-lease": {
    file: "src/reactors/worker/expiredLeases.ts",
    from: "return hasEnded || now - since >= claim.leaseMs;",
    to: "return false;",
  },
  /** Claims last for no time at all: whoever sees one takes it over, while its worker may be sending. */
  "ignored-lease": {
    file: "src/reactors/worker/expiredLeases.ts",
    from: "return hasEnded || now - since >= claim.leaseMs;",
    to: "return true;",
  },
  /** SIGTERM ends the process with mail under way: it goes out again later. */
  "no-drain": {
    file: "src/reactors/email/mailDeliveryWorker.ts",
    from: "await settleWithin<unknown>(graceMs, ended, () => this.abandoned.abort());",
    to: "void ended;",
  },
} as const satisfies Record<string, Plant>;

export type PlantName = keyof typeof PLANTS;

/** The faults by which an embedded log is not waited for. */
export const UNFLUSHED: Readonly<Record<Exclude<WritingThreads, "caller">, PlantName>> = {
  own: "synchronous-off",
  flushedAside: "no-flush",
};

/** Faults in the delivery of webhooks. */
export const WEBHOOK_PLANTS = {
  /** Workers call without saying so first. */
  "no-claim": {
    file: "src/commands/webhookDelivery/webhookAttempts.ts",
    from: "const result = await store.append(stream, toNewEvents(events, context), expected);",
    to: 'const result = { outcome: "appended" as const, revision: 0, expected, context };',
  },
  /** One endpoint of each workspace is never owed anything. */
  "deaf-fan-out": {
    file: "projections/webhookDeliveries/fanOut.ts",
    from: 'FROM endpoints WHERE workspace_id = ?";',
    to: 'FROM endpoints WHERE workspace_id = ? ORDER BY active DESC, id LIMIT -1 OFFSET 1";',
  },
  /** What an endpoint did not ask for goes to it all the same. */
  "no-filter": {
    file: "projections/webhookDeliveries/fanOut.ts",
    from: "if (types !== null && !types.includes(type)) continue;",
    to: "",
  },
  /** Claims last for ever: what a dead worker had claimed is never told. */
  "no-lease": PLANTS["no-lease"],
  /** Claims last for no time at all. */
  "ignored-lease": PLANTS["ignored-lease"],
  /** Now and then a call is recorded that was never made. */
  unsaid: {
    file: "src/adapters/https/webhookTransport.ts",
    from: 'if (signal.aborted) return { kind: "notSent", reason: "stopping", durationMs: 0 };',
    to: 'if (Math.random() < 0.1) return { kind: "answered", statusCode: 200, body: "", retryAfterSeconds: null, durationMs: 0 };',
  },
  /** An endpoint that is younger than what is remembered counts as deleted. */
  "hasty-skip": {
    file: "src/reactors/webhookDelivery/deliverWebhook.ts",
    from: "const endpoint = await endpointOf(deps, row);",
    to: "const endpoint = Math.random() < 0.1 ? undefined : await endpointOf(deps, row);",
  },
} as const satisfies Record<string, Plant>;

export type WebhookPlantName = keyof typeof WEBHOOK_PLANTS;

export function isWebhookPlant(name: string): name is WebhookPlantName {
  return Object.hasOwn(WEBHOOK_PLANTS, name);
}

/** As {@link plant}, for webhooks. */
export function plantWebhookFault(name: WebhookPlantName): Promise<string> {
  return plantFault(name, WEBHOOK_PLANTS[name]);
}

export function isPlant(name: string): name is PlantName {
  return Object.hasOwn(PLANTS, name);
}

/** Makes a copy of the program with this fault in it and answers where. Throws when the fault finds no place. */
export function plant(name: PlantName): Promise<string> {
  return plantFault(name, PLANTS[name]);
}

/** As {@link plant}, with a fault of the caller's. */
export function plantFault(name: string, fault: Plant): Promise<string> {
  return changedProgram(name, [fault]);
}

/** Makes a copy of the program with these changes in it and answers where. Throws when one finds no place. */
export async function changedProgram(name: string, changes: readonly Plant[]): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), `postledger-${name}-`));
  await mkdir(join(root, "src"));
  for (const part of ["src", "projections", "package.json"]) {
    await cp(join(ROOT, part), join(root, part), { recursive: true });
  }
  await symlink(join(ROOT, "node_modules"), join(root, "node_modules"));
  for (const { file, from, to } of changes) {
    const path = join(root, file);
    const source = await readFile(path, "utf8");
    if (source.split(from).length !== 2)
      throw new Error(`${file} no longer contains exactly once what ${name} replaces: ${from}`);
    await writeFile(
      path,
      source.replace(from, () => to),
    );
  }
  return root;
}
