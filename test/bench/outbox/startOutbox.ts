import { join } from "node:path";
import { cpuUsOf, cpuUsWithChildren } from "../processTime.ts";
import type { OutboxOptions } from "./outboxService.ts";
import { postgresPrograms, startPostgres } from "./postgresCluster.ts";

/** A hand-written outbox on PostgreSQL, in processes of its own: what the service is compared with. */
export interface Outbox {
  readonly url: string;
  readonly apiKey: string;
  /** Processor time so far of its service and of the whole database, in µs. */
  cpuUs(): number;
  stop(): Promise<void>;
}

/** Null where PostgreSQL is not installed. */
export async function startOutbox(): Promise<Outbox | null> {
  const programs = postgresPrograms();
  if (programs === null) return null;
  const database = await startPostgres(programs);
  const options: OutboxOptions = { databaseUrl: database.url, apiKey: `ob_${crypto.randomUUID()}` };
  const program = join(import.meta.dir, "outboxService.ts");
  const service = Bun.spawn([process.execPath, program, JSON.stringify(options)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const stop = async () => {
    service.kill("SIGTERM");
    await service.exited;
    await database.stop();
  };
  const { value } = await service.stdout.getReader().read();
  if (value === undefined) {
    await stop();
    throw new Error("the outbox did not start");
  }
  return {
    url: new TextDecoder().decode(value).replace(/\/$/, ""),
    apiKey: options.apiKey,
    cpuUs: () => cpuUsOf(service.pid) + cpuUsWithChildren(database.pid),
    stop,
  };
}
