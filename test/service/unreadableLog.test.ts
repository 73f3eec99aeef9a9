import { expect, test } from "bun:test";
import { InstanceMismatchError } from "../../src/commands/instance/instanceMismatchError.ts";
import { FrozenLogError } from "../../src/commands/instance/openInstance.ts";
import { StoreError } from "../../src/ports/eventStore.ts";
import { ConfigError } from "../../src/service/config/configError.ts";
import { MAKE_ROOM } from "../../src/service/faults/isDiskFull.ts";
import { unreadableLog } from "../../src/service/status/checks/log/logChecks.ts";

const CONFIG = { storeUrl: "file:/nowhere" };
const OTHERWISE = "check STORE_URL";

test.each([
  ["wrong settings", new ConfigError(["CONTENT_URL is wrong: set it"])],
  ["another log's settings", new InstanceMismatchError("the content store is another one: set CONTENT_URL")],
  ["a freeze", new FrozenLogError("the log was frozen: `log unfreeze`")],
])("a log that is not opened for %s has no other remedy than the error's own", (_, error) => {
  expect(unreadableLog(error, CONFIG, OTHERWISE)).toMatchObject({ detail: error.message, action: null });
});

test("a full disk is told from the text that the thread that writes the log passes on", () => {
  const full = new StoreError("unavailable", "the embedded store: database or disk is full");
  expect(unreadableLog(full, CONFIG, OTHERWISE).action).toBe(MAKE_ROOM);
  expect(unreadableLog(new StoreError("unavailable", "no answer"), CONFIG, OTHERWISE).action).toBe(OTHERWISE);
});
