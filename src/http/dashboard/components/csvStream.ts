/** Cells of a file, by the names of their columns. */
export type CsvColumns<Row> = Readonly<Record<string, (row: Row) => string | null>>;

interface CsvSource<Row> {
  readonly columns: CsvColumns<Row>;
  /** The page after a cursor; null asks for the first one. Its cursor is null on the last. */
  readonly page: (cursor: string | null) => Promise<{
    readonly rows: readonly Row[];
    readonly nextCursor: string | null;
  }>;
  /** Whether whoever takes it still may. */
  readonly isAllowed: () => Promise<boolean>;
}

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

/** A file of all rows, page by page as the client takes them; breaks off when the client may no longer have them. */
export function csvStream<Row>({ columns, page, isAllowed }: CsvSource<Row>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let cursor: string | null = null;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(csvLine(Object.keys(columns))));
    },
    async pull(controller) {
      if (!(await isAllowed())) {
        controller.error(new Error("the key was revoked"));
        return;
      }
      const { rows, nextCursor } = await page(cursor);
      const lines = rows.map((row) => csvLine(Object.values(columns).map((cell) => cell(row))));
      if (lines.length > 0) controller.enqueue(encoder.encode(lines.join("")));
      cursor = nextCursor;
      if (cursor === null) controller.close();
    },
  });
}

/** A file to keep: nothing of it is shown or run. */
export function csvResponse(stream: ReadableStream<Uint8Array>, filename: string): Response {
  return new Response(stream, {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="${filename}"`,
      "content-security-policy": "sandbox; default-src 'none'",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
}
