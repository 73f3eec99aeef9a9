import type { EmailQuery } from "../../../../projections/emails/queries.ts";
import { rfc3339, utcDay } from "../../../kernel/time.ts";
import type { ListSource } from "../../lists/caughtUpReads.ts";
import { type CsvColumns, csvResponse } from "../components/csvStream.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { loadEmailRows, type MessageRow } from "./loadEmailRows.ts";

/** Streams the messages that a search finds as a CSV file. */
export function emailCsv(
  source: ListSource,
  context: PageContext,
  query: Omit<EmailQuery, "limit">,
): Response {
  const day = utcDay(rfc3339(source.deps.clock.now()));
  return csvResponse(source.deps, context, `messages-${day}.csv`, {
    page: "/messages",
    columns: COLUMNS,
    list: (asked) => loadEmailRows(source, context.principal, { ...query, ...asked }),
  });
}

const COLUMNS: CsvColumns<MessageRow> = {
  id: (row) => row.id,
  status: (row) => row.status,
  created_at: (row) => row.createdAt,
  updated_at: (row) => row.updatedAt,
  from: (row) => row.from,
  to: (row) => row.to,
  subject: (row) => row.subject,
  template_id: (row) => row.templateId,
  attempts: (row) => String(row.attempts),
  reason: (row) => row.reason,
};
