import { describe, expect, test } from "bun:test";
import { emailId } from "../../src/domain/email/idempotency.ts";
import { isUuid, newId, newRequestId } from "../../src/kernel/ids.ts";

describe("ids", () => {
  test("are uuids, and one key has one", () => {
    const workspace = newId();
    for (const id of [workspace, emailId({ workspaceId: workspace, isTest: false }, "order-1001")])
      expect(isUuid(id)).toBe(true);
    expect(isUuid(workspace.toUpperCase())).toBe(true);
    expect(emailId({ workspaceId: workspace, isTest: false }, "order-1001")).toBe(
      emailId({ workspaceId: workspace, isTest: false }, "order-1001"),
    );
    expect(emailId({ workspaceId: workspace, isTest: false }, "order-1001")).not.toBe(
      emailId({ workspaceId: workspace, isTest: false }, "Order-1001"),
    );
    expect(emailId({ workspaceId: workspace, isTest: false }, "order-1001")).not.toBe(
      emailId({ workspaceId: newId(), isTest: false }, "order-1001"),
    );
    expect(
      emailId({ workspaceId: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", isTest: false }, "www.example.com"),
    ).toBe("2ed6657d-e927-568b-95e1-2665a8aea6a2");
    expect(newRequestId()).toMatch(/^[0-9a-z]{20}$/);
  });

  test.each(["", "x", `${newId()}0`, newId().slice(1), newId().replaceAll("-", "")])(
    "%j is no uuid",
    (text) => {
      expect(isUuid(text)).toBe(false);
    },
  );
});
