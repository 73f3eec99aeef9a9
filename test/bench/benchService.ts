import { readFileSync } from "node:fs";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import type { BenchStore, FreshStore } from "./benchStores.ts";

/** What tests do without and a service as it is delivered has. */
const MEASURED_TOO = { AUDIT_SEAL_INTERVAL_MS: "600000" };

/** Work on an empty store, which goes away with it, however that ends. */
export async function onFresh(store: BenchStore, work: (fresh: FreshStore) => Promise<void>): Promise<void> {
  const fresh = await store.fresh();
  try {
    await work(fresh);
  } finally {
    await fresh.remove();
  }
}

/** A service of its own on a store; ends with the work, however that ends. */
export async function serveOn(
  { env }: FreshStore,
  settings: Readonly<Record<string, string>>,
  work: (service: TestProcess) => Promise<void>,
): Promise<void> {
  const service = await startTestProcess({
    dataDir: env.DATA_DIR as string,
    env: { ...env, ...MEASURED_TOO, ...settings },
  });
  try {
    await work(service);
  } finally {
    await service.kill("SIGTERM");
  }
}

/** A service of its own on an empty store. */
export function onService(
  store: BenchStore,
  settings: Readonly<Record<string, string>>,
  work: (service: TestProcess) => Promise<void>,
): Promise<void> {
  return onFresh(store, (fresh) => serveOn(fresh, settings, work));
}

function statusMb(pid: number, line: RegExp): number {
  return Number(line.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
}

/** The memory that a process has now. */
export function rssMb(pid: number): number {
  return statusMb(pid, /VmRSS:\s+(\d+)/);
}

/** The most memory that the process ever had. */
export function peakRssMb(pid: number): number {
  return statusMb(pid, /VmHWM:\s+(\d+)/);
}
