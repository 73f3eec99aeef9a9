import { expect, test } from "bun:test";
import { auditLog } from "../../projections/auditLog/auditLog.ts";
import { pausedWorkspaces } from "../../projections/auditLog/pausedWorkspaces.ts";
import { rfc3339 } from "../../src/kernel/time.ts";
import { emptyReadModel } from "../support/emptyReadModel.ts";

const START = Date.parse("2030-01-01T12:00:00Z");
const at = (second: number) => rfc3339(START + second * 1_000);

test("workspaces are paused from their last pause until it ends, under the name that they have now", () => {
  const db = emptyReadModel(auditLog);
  const revisions = new Map<string, number>();
  let second = 0;
  const tell = (workspace: string, type: string, data: object = { at: at(second) }) => {
    const revision = revisions.get(workspace) ?? 0;
    revisions.set(workspace, revision + 1);
    const metadata = { at: at(second), actor: "cli", correlationId: "r", workspaceId: workspace };
    auditLog.apply(
      { id: `event-${second}`, stream: `workspace-${workspace}`, revision, type, data, metadata },
      db,
    );
    second += 1;
  };
  try {
    for (const id of ["a", "b", "c"]) tell(id, "WorkspaceCreated", { name: `name of ${id}` });
    expect(pausedWorkspaces(db, 10)).toEqual([]);
    const rate = { kind: "bounce", reported: 10, sent: 100, since: at(0) };
    for (const id of ["b", "a", "c"])
      tell(id, "SendingPaused", { at: at(second), ...(id === "a" ? { rate } : {}) });
    tell("c", "SendingResumed");
    tell("b", "SendingResumed");
    tell("b", "SendingPaused");
    tell("a", "WorkspaceRenamed", { name: "Acme" });
    expect(pausedWorkspaces(db, 10)).toEqual([
      { id: "a", name: "Acme", since: at(4), rate },
      { id: "b", name: "name of b", since: at(8), rate: null },
    ]);
    expect(pausedWorkspaces(db, 1).map(({ id }) => id)).toEqual(["a"]);
  } finally {
    db.close();
  }
});

test("pauses are found by their index, however long the audit log is", () => {
  const db = emptyReadModel(auditLog);
  const asked: string[] = [];
  const explained = {
    ...db,
    all: (sql: string, ...values: Parameters<typeof db.all>[1][]) => {
      asked.push(...db.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail)));
      return [];
    },
  };
  try {
    pausedWorkspaces(explained, 10);
    expect(asked).toContain("SCAN audit_log USING INDEX audit_log_of_pauses");
  } finally {
    db.close();
  }
});
