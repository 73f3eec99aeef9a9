import { principalOfKey } from "../../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../../commands/dependencies.ts";
import { beginStream, requestContextOf } from "../../server/requestContext.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

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
  /** Called when nothing more is taken or to be had; once or more. */
  readonly onEnd: () => void;
}

/** What a spreadsheet takes for the beginning of a formula, in full width too. */
const FORMULA = /^\s*[=+\-@\t\r|＝＋－＠]/;
/** Where further cells begin for one that divides at semicolons, as many are set to: quotes within a cell it ignores. */
const FORMULA_WITHIN = /([;\t\r\n]\s*)(?=[=+@|＝＋－＠]|-(?!\)))/g;

/**
 * A value as one cell (RFC 4180). What a spreadsheet would take for a formula begins with an apostrophe: a subject is
 * what anybody may have sent.
 */
export function csvCell(value: string | null): string {
  const text = value ?? "";
  const start = text.length - text.trimStart().length;
  const within = text.slice(0, start) + text.slice(start).replace(FORMULA_WITHIN, "$1'");
  const safe = FORMULA.test(text) ? `'${within}` : within;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function csvLine(cells: readonly (string | null)[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/** A file of all rows, page by page as the client takes them; breaks off when the client may no longer have them. */
export function csvStream<Row>(source: CsvSource<Row>): ReadableStream<Uint8Array> {
  const { columns, page, isAllowed, onEnd } = source;
  const encoder = new TextEncoder();
  let cursor: string | null = null;
  let isLeft = false;
  /** The lines of the next page. */
  const next = async () => {
    if (!(await isAllowed())) throw new Error("the key was revoked");
    const { rows, nextCursor } = await page(cursor);
    cursor = nextCursor;
    return rows.map((row) => csvLine(Object.values(columns).map((cell) => cell(row)))).join("");
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(csvLine(Object.keys(columns))));
    },
    async pull(controller) {
      try {
        // A pull that brings nothing is not followed by another one, so pages without rows are passed over here.
        for (let lines = ""; lines === ""; ) {
          lines = await next();
          if (isLeft) return;
          if (lines !== "") controller.enqueue(encoder.encode(lines));
          if (cursor !== null) continue;
          controller.close();
          onEnd();
          return;
        }
      } catch (error) {
        onEnd();
        throw error;
      }
    },
    cancel() {
      isLeft = true;
      onEnd();
    },
  });
}

/** A file to keep as an answer, for as long as the session's key opens anything: nothing of it is shown or run. */
export function csvResponse<Row>(
  deps: Dependencies,
  { request, principal }: Pick<PageContext, "request" | "principal">,
  filename: string,
  rows: Pick<CsvSource<Row>, "columns" | "page">,
): Response {
  requestContextOf(request).isStreamed = true;
  const isAllowed = async () => (await principalOfKey(deps, principal.keyId)) !== null;
  const stream = csvStream({ ...rows, isAllowed, onEnd: beginStream(request) });
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
