import { expect, test } from "bun:test";
import { tellingWhileSlow } from "../../src/service/logLines/slowStepLog.ts";
import { until } from "../support/until.ts";

test("a step of the start that takes long is told of until it ends, and its result or fault is passed on", async () => {
  const lines: string[] = [];
  const logger = { info: (line: unknown) => void lines.push(String(line)) };
  const step = Promise.withResolvers<string>();
  const told = tellingWhileSlow(logger, "the log", step.promise, 1);
  await until(() => lines.length >= 2, "two lines");
  step.resolve("opened");
  expect(await told).toBe("opened");
  expect(new Set(lines)).toEqual(new Set(["still starting: waiting for the log"]));

  const failing = tellingWhileSlow(logger, "the log", Promise.reject(new Error("refused")));
  await expect(failing).rejects.toThrow("refused");
});
