import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdir, readFile, utimes } from "node:fs/promises";
import { join } from "node:path";
import PostalMime from "postal-mime";
import { directoryContentStore } from "../../../src/adapters/directory/directoryContentStore.ts";
import { s3ContentStore } from "../../../src/adapters/s3/s3ContentStore.ts";
import { filePath } from "../../../src/kernel/contentPath.ts";
import { CONTENT_SWEEP_AGE_MS } from "../../../src/reactors/content/orphanedContentSweeper.ts";
import { runJsonCommand } from "../../support/process/jsonCommand.ts";
import { runCommand } from "../../support/process/runCommand.ts";
import { type S3Server, startS3Server } from "../../support/stores/s3Server.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { message, newKey, startService, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** More than an event holds. */
const LARGE = "Grüße für Ägypten. ".repeat(24_000);

/** The settings of a service whose content is on this server. */
function settingsFor(server: S3Server): Readonly<Record<string, string>> {
  return {
    CONTENT_URL: `s3://${server.bucket}/mail`,
    S3_ENDPOINT: server.endpoint,
    S3_ACCESS_KEY_ID: server.accessKeyId,
    S3_SECRET_ACCESS_KEY: server.secretAccessKey,
  };
}

/** Waits until the bucket was listed so often anew. */
async function waitForSweeps(server: S3Server, count: number): Promise<void> {
  let lists = 0;
  server.intercept = (method, url) => {
    if (method === "GET" && url.includes("list-type=2")) lists += 1;
    return null;
  };
  await until(() => lists > count, "the sweeps to finish");
  server.intercept = () => null;
}

// On a log of its own alone: a log remembers the content store that it was begun with.
describe("a service with its content on S3", () => {
  let server: S3Server;
  let service: TestService;
  beforeAll(async () => {
    server = await startS3Server();
    const env = { ...settingsFor(server), DELIVERY: "on", CONTENT_SWEEP_INTERVAL_MS: "20" };
    service = await startService({ name: "SQLite", env: {}, isShared: false }, env);
  }, 60_000);
  afterAll(async () => {
    await service.remove();
    await server.stop();
  });

  test("accepts, shows and delivers a message that is too large for an event", async () => {
    const tenant = await service.tenant();
    const key = newKey();
    const answer = await tenant.send(key, message({ html: LARGE }));
    expect(answer.status).toBe(202);
    const { id } = answer.json;
    const objects = (await server.keys()).filter((path) => path.includes(id));
    expect(objects).toHaveLength(1);
    expect(objects[0]).toStartWith(`mail/${tenant.workspaceId}/${id}/`);

    expect((await tenant.call("GET", `/api/v1/emails/${id}`)).json.html).toBe(LARGE);
    expect((await tenant.send(key, message({ html: LARGE }))).headers.get("idempotent-replayed")).toBe(
      "true",
    );
    const status = async () => (await tenant.call("GET", `/api/v1/emails/${id}`)).json.status;
    await until(async () => (await status()) === "sent", "the delivery to be made");
    const outbox = join(service.app.dataDir, "outbox");
    const name = (await readdir(outbox)).find((file) => file.includes(id)) ?? "none";
    const mail = await PostalMime.parse(await readFile(join(outbox, name)));
    expect(mail.html?.trim()).toBe(LARGE.trim());
  });

  test("answers 503 while S3 is in trouble, small mail is accepted, and the retry goes through", async () => {
    const tenant = await service.tenant();
    const key = newKey();
    server.intercept = () => ({ status: 500, code: "InternalError" });
    const answer = await tenant.send(key, message({ html: LARGE }));
    expect(answer).toMatchObject({ status: 503, json: { code: "INTERNAL_ERROR" } });
    expect(answer.text).not.toContain("S3");
    expect((await tenant.send(newKey(), message())).status).toBe(202);
    server.intercept = () => null;
    expect((await tenant.send(key, message({ html: LARGE }))).status).toBe(202);
  }, 60_000);

  test("never shows what came back damaged", async () => {
    const tenant = await service.tenant();
    const { json } = await tenant.send(newKey(), message({ html: LARGE, to: "bo@example.com" }));
    const [object = ""] = (await server.keys()).filter((path) => path.includes(json.id));
    await Bun.write(server.pathOf(object), "other bytes");
    expect((await tenant.call("GET", `/api/v1/emails/${json.id}`)).status).toBe(503);
  });

  test("takes out of the bucket what nothing names, once it is old", async () => {
    const tenant = await service.tenant();
    const { json } = await tenant.send(newKey(), message({ html: LARGE }));
    const [named = ""] = (await server.keys()).filter((path) => path.includes(json.id));
    const folder = { workspaceId: tenant.workspaceId, ownerId: json.id, folderId: crypto.randomUUID() };
    const putOrphan = async (text: string) =>
      `mail/${filePath(folder, await service.log.content.put(folder, Buffer.from(text)))}`;
    const old = await putOrphan("nobody's");
    const oldEnough = new Date(Date.now() - CONTENT_SWEEP_AGE_MS - 60_000);
    for (const key of [named, old]) await utimes(server.pathOf(key), oldEnough, oldEnough);
    await until(async () => !(await server.keys()).includes(old), "the sweep to finish");
    const tooYoung = { ...folder, folderId: crypto.randomUUID() };
    await service.log.content.put(tooYoung, Buffer.from("nobody's yet"));
    await waitForSweeps(server, 2);
    const folderIn = (path: string) => path.split("/")[3];
    const remaining = (await server.keys()).filter((path) => path.includes(json.id)).map(folderIn);
    expect(remaining.sort()).toEqual([folderIn(named), tooYoung.folderId].sort());
    expect((await tenant.call("GET", `/api/v1/emails/${json.id}`)).json.html).toBe(LARGE);
  });

  test("can be copied there from a directory as it is, file by file", async () => {
    const root = temporaryFolder();
    const from = directoryContentStore(root);
    await from.create();
    const ids = () => crypto.randomUUID();
    const folder = { workspaceId: ids(), ownerId: ids(), folderId: ids() };
    const sha256 = await from.put(folder, Buffer.from("moved"));
    await from.claim("the-log");
    const credentials = { accessKeyId: server.accessKeyId, secretAccessKey: server.secretAccessKey };
    const location = {
      endpoint: server.endpoint,
      bucket: server.bucket,
      region: "us-east-1",
      ...credentials,
    };
    for (const path of await readdir(root, { recursive: true })) {
      const file = Bun.file(join(root, path));
      if (await file.exists()) await new Bun.S3Client(location).write(`moved/${path}`, file);
    }
    const to = s3ContentStore({ ...location, prefix: "moved/", timeoutMs: 10_000 });
    expect([await to.identity(), await to.claimedBy()]).toEqual([await from.identity(), "the-log"]);
    expect(Buffer.from((await to.get(folder, sha256)) ?? []).toString()).toBe("moved");
  });

  test("is reported by doctor with the place of its content, and what is wrong there", async () => {
    const dataDir = temporaryFolder();
    const own = { CONTENT_URL: `s3://${server.bucket}/doctor`, DATA_DIR: dataDir };
    const settings = { ...settingsFor(server), ...own };
    expect(await runJsonCommand(settings, "workspace", "create", "Acme")).toMatchObject({
      exitCode: 0,
      err: "",
    });
    const doctor = async (env: Readonly<Record<string, string>>) => {
      const { out } = await runCommand(["doctor"], dataDir, { ...settings, ...env });
      return out.split("\n").find((line) => line.includes("content (")) ?? out;
    };
    const location = `content (S3 bucket ${server.bucket} at ${new URL(server.endpoint).host})`;
    expect(await doctor({})).toStartWith(`ok       ${location}: answering`);
    const denied = await doctor({ S3_ACCESS_KEY_ID: "stranger" });
    expect(denied).toBe(
      `failed   ${location}: CONTENT_URL ${own.CONTENT_URL} cannot be used: the S3 server answered 403 InvalidAccessKeyId. Check CONTENT_URL, S3_ENDPOINT, S3_REGION and the access key`,
    );
  }, 60_000);
});
