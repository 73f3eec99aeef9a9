import { describe, expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { diskSpaceOf } from "../../src/adapters/system/diskSpace.ts";
import type { Dependencies } from "../../src/commands/dependencies.ts";
import type { ReadDatabase } from "../../src/ports/readDatabase.ts";
import { readConfig } from "../../src/service/config/config.ts";
import { contentRoomChecks } from "../../src/service/status/checks/contentRoomChecks.ts";

/** More than other programs write or remove in the moment of a test. */
const MUCH_BYTES = 2 ** 40;

const free = diskSpaceOf(tmpdir()).freeBytes();
const places = { DATA_DIR: tmpdir(), CONTENT_URL: `file:${tmpdir()}` };
const env = { ...places, BASE_URL: "https://mail.example.com", SMTP_URL: "outbox:" };

/** What is found where mail owners have so much content, by id, under a limit. */
async function statusWith(
  content: Readonly<Record<string, number>>,
  limitBytes: number,
  settings: Readonly<Record<string, string>> = env,
) {
  const config = readConfig(settings);
  const rows = Object.entries(content).map(([ownerId, bytes]) => ({ ownerId, bytes }));
  const db = { all: () => rows } as unknown as ReadDatabase;
  const workspaces = { get: async () => null } as unknown as Dependencies["workspaces"];
  const limitsDefault = { ...config.limitsDefault, contentBytes: limitBytes };
  const [check] = await contentRoomChecks(config, { workspaces, limitsDefault }, db);
  return check && { status: check.status, names: check.detail.split(": ")[1] };
}

describe("the room for content", () => {
  test("is too small if a quota allows more than is free, less what is stored already", async () => {
    const limit = free + 2 * MUCH_BYTES;
    expect(await statusWith({ full: limit, over: 2 * limit, half: 3 * MUCH_BYTES }, limit)).toEqual({
      status: "warning",
      names: expect.stringMatching(/^any other [^,]*$/),
    });
    expect(await statusWith({ "test-a": MUCH_BYTES, full: limit }, limit)).toEqual({
      status: "warning",
      names: expect.stringMatching(/^a \(test mail\) [^,]*, any other [^,]*$/),
    });
  });

  test("is compared with the quota of any workspace, whether or not another has content", async () => {
    expect((await statusWith({}, free + MUCH_BYTES))?.names).toStartWith("any workspace ");
    expect((await statusWith({}, 0))?.status).toBe("ok");
  });

  test("is not looked at in a trial, nor where no content is on a disk of this machine", async () => {
    const huge = free + MUCH_BYTES;
    expect(await statusWith({}, huge, places)).toBeUndefined();
    const s3 = { CONTENT_URL: "s3://bucket", S3_ACCESS_KEY_ID: "id", S3_SECRET_ACCESS_KEY: "secret" };
    const elsewhere = {
      STORE_URL: "esdb://db.example:2113",
      MASTER_KEY: Buffer.alloc(32).toString("base64"),
    };
    expect(await statusWith({}, huge, { ...env, ...s3, ...elsewhere })).toBeUndefined();
    expect((await statusWith({}, huge, { ...env, ...elsewhere }))?.status).toBe("warning");
  });
});
