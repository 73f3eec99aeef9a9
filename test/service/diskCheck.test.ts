import { expect, test } from "bun:test";
import { diskCheck } from "../../src/service/status/checks/dependencyChecks.ts";

test.each([
  [10_000, "ok"],
  [9_999, "warning"],
  [1_000, "warning"],
  [999, "failed"],
] as const)("with %d bytes free of a minimum of 1,000 the disk is %s", (freeBytes, status) => {
  const { action, ...check } = diskCheck(freeBytes, { diskFreeBytesMin: 1_000 });
  expect(check).toMatchObject({ name: "disk", status });
  if (status !== "ok") expect(action).toContain("docs/operations.md, The disk fills up");
});
