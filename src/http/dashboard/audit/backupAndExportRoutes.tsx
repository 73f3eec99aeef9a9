/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import type { Copy } from "../../../domain/instance/state.ts";
import { POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import { rfc3339 } from "../../../kernel/time.ts";
import { Heading } from "../components/heading.tsx";
import { Copyable, Empty, RowTable } from "../components/list.tsx";
import { Time } from "../components/time.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext } from "../frame/dashboardRoute.ts";
import { isOperator } from "../maintenance/requireOperator.ts";
import { AuditTabs } from "./auditTabs.tsx";

const PATH = "/audit/copies";

/** The copies of the log that were taken: backups and exports. */
export function backupAndExportRoutes({ deps }: Pick<DashboardOptions, "deps">): readonly DashboardRoute[] {
  return [
    get(PATH, "workspace:manage", async (context): Promise<Page> => {
      const { instance } = await deps.instanceStatus.get();
      const copies = (instance?.copies ?? []).toReversed();
      const shown = copies.map(({ place, ...copy }) => ({
        ...copy,
        place: isOperator(context) ? place : null,
      }));
      return { title: "Backups and exports", body: <Copies context={context} copies={shown} /> };
    }),
  ];
}

function kindText({ kind, following }: Copy): string {
  if (following) return "Copy that follows";
  return kind === "backup" ? "Backup" : "Export";
}

const Copies: FC<{ readonly context: PageContext; readonly copies: readonly Copy[] }> = ({
  context,
  copies,
}) => (
  <>
    <Heading title="Backups and exports" />
    <AuditTabs context={context} path={PATH} />
    {copies.length === 0 ? (
      <Empty title="No copy of the log was taken yet">
        <p>Both commands work beside the running service, on its machine:</p>
        <Commands />
      </Empty>
    ) : (
      <>
        <RowTable
          label="Copies of the log, newest first"
          rows={copies}
          idOf={({ at, kind }) => `${kind}-${at}`}
          columns={[
            { title: "Kind", cell: kindText },
            { title: "Taken", cell: ({ at }) => <Time at={rfc3339(at)} /> },
            { title: "Where", cell: ({ place }) => place ?? <span class="soft">not shown</span> },
          ]}
        />
        <Commands />
        <p class="soft">
          Mail in these copies is not encrypted, and what is erased later is still in them: delete them in
          time. A copy that follows loses it within ten minutes. The newest 200 are listed, also when their
          files are gone.
        </p>
      </>
    )}
    <section class="section">
      <h2>Files of this workspace alone</h2>
      <ul class="links">
        <li>
          <a href={context.to("/audit/log.csv")}>The audit log as CSV</a>
        </li>
        {context.may("email:status") ? (
          <li>
            <a href={context.to("/messages.csv")}>All messages as CSV</a>
          </li>
        ) : null}
      </ul>
    </section>
  </>
);

const Commands: FC = () => (
  <>
    <p>
      <Copyable text={`${POSTLEDGER} backup create --out backup-1`} label="the command for a backup" />
    </p>
    <p>
      <Copyable text={`${POSTLEDGER} log export --out log.zst`} label="the command for an export" />
    </p>
  </>
);
