import type { EmailQuery } from "../../../../projections/emails/queries.ts";
import { principalOfKey } from "../../../commands/apiKey/authenticate.ts";
import type { ListSource } from "../../lists/caughtUpReads.ts";
import { decodeCursor } from "../../lists/cursorPaging.ts";
import { type CsvColumns, csvStream } from "../components/csvStream.ts";
import { loadEmailRows, type MessageRow } from "./loadEmailRows.ts";

/** Rows that are in memory at once. */
const ROWS_AT_ONCE = 100;

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

/** All messages that a search is for; ends early when the key is revoked. */
export function emailCsv(
  source: ListSource,
  query: Omit<EmailQuery, "limit">,
  { keyId, onEnd }: { readonly keyId: string; readonly onEnd: () => void },
): ReadableStream<Uint8Array> {
  return csvStream({
    columns: COLUMNS,
    onEnd,
    isAllowed: async () => (await principalOfKey(source.deps, keyId)) !== null,
    page: (cursor) => {
      const after = cursor === null ? {} : { after: decodeCursor(cursor) };
      return loadEmailRows(source, { ...query, ...after, limit: ROWS_AT_ONCE });
    },
  });
}
