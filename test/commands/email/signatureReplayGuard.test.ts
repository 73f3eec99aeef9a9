import { expect, test } from "bun:test";
import { signatureReplayGuard } from "../../../src/commands/email/feedback/signatureReplayGuard.ts";

const call = { token: "token", digest: "a digest", workspaceId: crypto.randomUUID() };

test("a repeat that comes while the first works is not taken for done, as the first may fail", async () => {
  const use = signatureReplayGuard();
  const first = Promise.withResolvers<void>();
  let done = 0;
  const failing = use(call, () => first.promise);
  const repeat = use(call, async () => {
    done += 1;
  });
  first.reject(new Error("the store is unavailable"));
  await expect(failing).rejects.toThrow("unavailable");
  expect(await repeat).toBe("taken");
  expect(done).toBe(1);
  expect(await use(call, () => first.promise)).toBe("repeated");
  expect(await use({ ...call, digest: "another one" }, () => first.promise)).toBe("reused");
});
