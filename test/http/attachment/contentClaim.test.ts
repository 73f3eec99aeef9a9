import { expect, test } from "bun:test";
import { join } from "node:path";
import { startTestApp } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";

const base = temporaryFolder();

/** What a start says that is refused; empty when it is not. */
async function startOn(name: string, CONTENT_URL: string): Promise<string> {
  const env = { BOOTSTRAP: "off", DELIVERY: "off", CONTENT_URL };
  try {
    await (await startTestApp({ dataDir: join(base, name), env })).app.stop();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

// A sweep removes what its log does not name: two logs on one content store would remove each other's.
test("a content store is one log's alone, and a log that was refused can begin elsewhere", async () => {
  const [shared, other] = [`file:${join(base, "content")}`, `file:${join(base, "other")}`];
  expect(await startOn("first", shared)).toBe("");
  const refused = await startOn("second", shared);
  expect(refused).toContain("set CONTENT_URL to a place of this log's own");
  expect(refused).toContain("if it was lost, restore a backup");
  expect(await startOn("second", other)).toBe("");
  expect(await startOn("first", shared)).toBe("");
  expect(await startOn("second", shared)).toContain("CONTENT_URL");
});
