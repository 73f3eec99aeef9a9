import type { PageQuery } from "../../../../projections/keysetPagination.ts";
import { principalOfKey } from "../../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../../commands/dependencies.ts";
import { mailOwnerId } from "../../../kernel/liveOrTestOwner.ts";
import { csvField } from "../../../kernel/text/guardFormulas.ts";
import { decodeCursor, type Page } from "../../lists/cursorPaging.ts";
import { beginStream, requestContextOf } from "../../server/requestContext.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { shownMail } from "../frame/staleTab.ts";

/** The cells of a CSV file, by column name. */
export type CsvColumns<Row> = Readonly<Record<string, (row: Row) => string | null>>;

interface CsvSource<Row> {
  readonly columns: CsvColumns<Row>;
  /** The page after a cursor; null asks for the first one. Its cursor is null on the last. */
  readonly page: (cursor: string | null) => Promise<Page<Row>>;
  /** Whether the client may still have it. */
  readonly isAllowed: () => Promise<boolean>;
  /** Called when the stream ends or is abandoned; possibly more than once. */
  readonly onEnd: () => void;
}

/** The field of a file's address that says whose list the page with the link shows: {@link mailOwnerId}. */
export const SHOWN_FIELD = "shown";
/** Rows of a file in memory at once. */
const ROWS_AT_ONCE = 100;

function csvLine(cells: readonly (string | null)[]): string {
  return `${cells.map((cell) => csvField(cell ?? "")).join(",")}\r\n`;
}

/** A file of all rows, streamed page by page; breaks off when the client may no longer have them. */
export function csvStream<Row>(source: CsvSource<Row>): ReadableStream<Uint8Array> {
  const { columns, page, isAllowed, onEnd } = source;
  const encoder = new TextEncoder();
  let cursor: string | null = null;
  let isLeft = false;
  /** The lines of the next page. */
  const next = async () => {
    if (!(await isAllowed())) throw new Error("the key was revoked");
    const { shown, nextCursor } = await page(cursor);
    cursor = nextCursor;
    return shown.map((row) => csvLine(Object.values(columns).map((cell) => cell(row)))).join("");
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(encoder.encode(csvLine(Object.keys(columns))));
    },
    async pull(controller) {
      try {
        // A pull without data is not followed by another, so skip empty pages here.
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

interface CsvList<Row> {
  /** The path of the list's page, below the dashboard's. */
  readonly page: string;
  readonly columns: CsvColumns<Row>;
  readonly list: (asked: PageQuery) => Promise<Page<Row>>;
}

/**
 * Answers with a CSV download for as long as the session's key is valid; nothing in it is shown or run. If the link is
 * from a tab that shows another workspace or the other kind of mail, this leads to the list as it would be now.
 */
export function csvResponse<Row>(
  deps: Dependencies,
  context: PageContext,
  filename: string,
  { page: listPage, columns, list }: CsvList<Row>,
): Response {
  const { request, principal, query } = context;
  const shown = query.get(SHOWN_FIELD);
  if (shown !== null && shown !== mailOwnerId(principal)) {
    return context.seeOther(
      listPage,
      `Nothing was downloaded: the tab was out of date. This is the list of ${shownMail(context)}.`,
    );
  }
  requestContextOf(request).isStreamed = true;
  const page = (cursor: string | null) =>
    list({ limit: ROWS_AT_ONCE, ...(cursor === null ? {} : { after: decodeCursor(cursor) }) });
  const isAllowed = async () => (await principalOfKey(deps, principal.keyId)) !== null;
  const stream = csvStream({ columns, page, isAllowed, onEnd: beginStream(request) });
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
