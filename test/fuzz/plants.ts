import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { plantFault } from "../faults/crash/plants.ts";
import { ROOT } from "../support/root.ts";
import type { Kind } from "./judge.ts";

interface Plant {
  /** What the fuzzer must call it, and nothing else. */
  readonly finds: Kind;
  /** By how many requests it is found for sure; most often it takes far fewer. */
  readonly requests: number;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** Faults that the fuzzer must find: one of each kind that it looks for. */
export const FUZZ_PLANTS = {
  /** Everybody's list shows the endpoints of others too. */
  "shared-list": {
    finds: "leak",
    requests: 4_000,
    file: "projections/webhookEndpoints.ts",
    from: 'table: "webhook_endpoints", of: "workspace_id"',
    to: 'table: "webhook_endpoints", of: "workspace_id > \'\' OR id"',
  },
  /** Everybody reads everybody's messages by their ids. */
  "no-owner": {
    finds: "leak",
    requests: 4_000,
    file: "src/commands/email/readEmail.ts",
    from: "if (history.state === null || !isOwnEmail(history.state, owner)) return null;",
    to: "if (history.state === null) return null;",
  },
  /** Whoever has an endpoint reads everybody's deliveries under it. */
  "any-delivery": {
    finds: "leak",
    requests: 20_000,
    file: "projections/webhookDeliveries/queries.ts",
    from: "FROM deliveries WHERE endpoint_id = ? AND id = ?",
    to: "FROM deliveries WHERE (endpoint_id = ? OR true) AND id = ?",
  },
  /** A member of an answer that is not documented. */
  "extra-member": {
    finds: "schema violation",
    requests: 4_000,
    file: "src/http/email/emailResource.ts",
    from: "status, created_at: acceptedAt",
    to: "status, created_at: acceptedAt, worker: null",
  },
  /** A cursor that is not ours is an error of ours. */
  "no-catch": {
    finds: "server error",
    requests: 20_000,
    file: "src/http/lists/cursorPaging.ts",
    from: "  } catch {",
    to: "  } catch (error) {\n    throw error;",
  },
} as const satisfies Record<string, Plant>;

export type FuzzPlant = keyof typeof FUZZ_PLANTS;

export function isFuzzPlant(name: string): name is FuzzPlant {
  return Object.hasOwn(FUZZ_PLANTS, name);
}

/** Runs the fuzzer on a copy of the program with this fault in it; gives its exit status, and its output if that is piped. */
export async function runPlanted(
  name: FuzzPlant,
  words: readonly string[],
  output: "inherit" | "pipe",
): Promise<{ readonly status: number; readonly out: string }> {
  const root = await plantFault(name, FUZZ_PLANTS[name]);
  await cp(join(ROOT, "test"), join(root, "test"), { recursive: true });
  await cp(join(ROOT, "tsconfig.json"), join(root, "tsconfig.json"));
  const at = words.indexOf("--plant");
  const others = at < 0 ? words.filter((word) => !word.startsWith("--plant=")) : words.toSpliced(at, 2);
  const child = Bun.spawn([process.execPath, join(root, "test/fuzz/main.ts"), ...others], {
    cwd: root,
    stdin: "ignore",
    stdout: output,
    stderr: "inherit",
  });
  const out = child.stdout ? await new Response(child.stdout).text() : "";
  const status = await child.exited;
  await rm(root, { recursive: true, force: true });
  return { status, out };
}
