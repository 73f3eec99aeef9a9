import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { growLog } from "../bench/growthLog.ts";
import { startTestApp, type TestApp } from "./service.ts";
import { openLog } from "./tenants.ts";

const CALLERS = 32;

/**
 * Makes a log of that many messages without read models, as after a restore. Returns its directory and a key.
 * `before` is called with a service on the log while it is empty.
 */
export async function unprojectedLog(
  messages: number,
  before: (app: TestApp) => Promise<void> = async () => {},
): Promise<{ readonly dataDir: string; readonly apiKey: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), "postledger-test-"));
  const app = await startTestApp({ dataDir, env: { DELIVERY: "off" } });
  const { json: workspace } = await app.call("GET", "/api/v1/workspace");
  const { json: senders } = await app.call("GET", "/api/v1/senders");
  const { apiKey } = app;
  await before(app);
  await app.remove();
  const log = await openLog({ DATA_DIR: dataDir });
  const senderIds = senders.data.map(({ id }: { readonly id: string }) => id);
  await growLog(log.store, CALLERS, { workspaceId: workspace.id, senderIds }, messages);
  await log.store.close();
  await rm(join(dataDir, "projections"), { recursive: true });
  return { dataDir, apiKey };
}
