import type { EmailQuery } from "../../../../projections/emails.ts";
import { principalOfKey } from "../../../commands/apiKey/authenticate.ts";
import { decodeCursor } from "../../lists/cursorPaging.ts";
import { type MessageRow, type MessageSource, messagePage } from "./findMessages.ts";

/** Rows that are in memory at once. */
const ROWS_AT_ONCE = 100;

const COLUMNS = {
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
} as const satisfies Readonly<Record<string, (row: MessageRow) => string | null>>;

/**
 * A value as one cell (RFC 4180). What a spreadsheet would take for a formula begins with an apostrophe: a subject is
 * what anybody may have sent.
 */
export function csvCell(value: string | null): string {
  const text = value ?? "";
  const safe = /^[\s]*[=+\-@\t\r|]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function csvLine(cells: readonly (string | null)[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/** All messages that a search is for, page by page as the client takes them; ends early when the key is revoked. */
export function messageCsv(
  source: MessageSource,
  query: Omit<EmailQuery, "limit">,
  keyId: string,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let cursor: string | null = null;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(csvLine(Object.keys(COLUMNS))));
    },
    async pull(controller) {
      if ((await principalOfKey(source.deps, keyId)) === null) {
        controller.error(new Error("the key was revoked"));
        return;
      }
      const after = cursor === null ? {} : { after: decodeCursor(cursor) };
      const page = await messagePage(source, { ...query, ...after, limit: ROWS_AT_ONCE });
      const lines = page.rows.map((row) => csvLine(Object.values(COLUMNS).map((cell) => cell(row))));
      if (lines.length > 0) controller.enqueue(encoder.encode(lines.join("")));
      cursor = page.nextCursor;
      if (cursor === null) controller.close();
    },
  });
}
