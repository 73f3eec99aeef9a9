/** @jsxImportSource hono/jsx */
import type { Child, FC } from "hono/jsx";
import { mailOwnerId } from "../../../kernel/liveOrTestOwner.ts";
import type { Page } from "../../lists/cursorPaging.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { cursorForLink } from "../frame/listPaging.ts";
import { LinkButton } from "./button.tsx";
import { SHOWN_FIELD } from "./csvStream.ts";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Child;
  /** Right-aligns digits. */
  readonly isNumber?: boolean;
  /** Hidden when there is no room for it. */
  readonly isMinor?: boolean;
}

interface RowTableProps<Row> {
  /** What the rows are, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Not needed if rows have no pages and are never reloaded. */
  readonly idOf?: (row: Row) => string;
  /** The page of a row, which its first cell links to. */
  readonly linkOf?: ((row: Row) => string) | undefined;
}

/** A table of rows, each with its own page: J and K move through them, Enter opens one. */
export function RowTable<Row>({ label, columns, rows, idOf, linkOf }: RowTableProps<Row>) {
  // Figures are compared with those above them, so they stay a table even on narrow screens.
  const isOfFigures = linkOf === undefined && columns.some(({ isNumber }) => isNumber);
  return (
    <div {...(isOfFigures ? scrolledCounts(label) : { class: "table rows" })}>
      <table>
        <caption class="unseen">{label}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={cellClass(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr id={idOf && `row-${idOf(row)}`}>
              {columns.map((column, index) => (
                <td class={cellClass(column)}>
                  {index === 0 && linkOf !== undefined ? (
                    <a href={linkOf(row)} data-row={idOf?.(row)}>
                      {column.cell(row)}
                    </a>
                  ) : (
                    column.cell(row)
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What surrounds a table of figures: it is scrolled sideways where it does not fit, with the keyboard too. */
export function scrolledCounts(label: string) {
  return { class: "table counts", role: "region", "aria-label": label, tabindex: 0 } as const;
}

function cellClass({ isNumber, isMinor }: Pick<Column<never>, "isNumber" | "isMinor">): string | undefined {
  const names = [...(isNumber ? ["number"] : []), ...(isMinor ? ["minor"] : [])];
  return names.length === 0 ? undefined : names.join(" ");
}

interface PagerProps {
  readonly context: Pick<PageContext, "to" | "query" | "workspaceId">;
  /** The path of the list, below the dashboard's. */
  readonly path: string;
  /** The cursor of the page after this one; null on the last one. */
  readonly nextCursor: string | null;
  readonly filter?: Filter;
}

type Filter = Readonly<Record<string, string | null | undefined>>;

/** A path with its list's filter; empty values are left out. */
export function withFilter(path: string, filter: Filter): string {
  const given = Object.entries(filter).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

interface CsvButtonProps {
  readonly context: PageContext;
  /** The path of the file, below the dashboard's. */
  readonly path: string;
  readonly filter: Filter;
}

/** A button that downloads a list. Its address says whose list that is: see `csvResponse`. */
export const CsvButton: FC<CsvButtonProps> = ({ context, path, filter }) => (
  <LinkButton
    href={context.to(withFilter(path, { ...filter, [SHOWN_FIELD]: mailOwnerId(context.principal) }))}
    label="Download CSV"
  />
);

/** Links to the next page of a list and back to the first. Pages are not counted: there may be a million rows. */
export const Pager: FC<PagerProps> = ({ context, path, nextCursor, filter = {} }) => {
  const isFirst = !context.query.has("cursor");
  const linkTo = (place: string) => {
    const cursor = cursorForLink({ workspaceId: context.workspaceId, path }, place);
    return context.to(withFilter(path, { ...filter, cursor }));
  };
  return nextCursor === null && isFirst ? null : (
    <nav class="pager" aria-label="Pages of the list">
      {isFirst ? null : (
        <a class="button" href={context.to(withFilter(path, filter))}>
          Newest
        </a>
      )}
      {nextCursor === null ? (
        <span class="soft">The end of the list</span>
      ) : (
        <a class="button" href={linkTo(nextCursor)} rel="next">
          Older
        </a>
      )}
    </nav>
  );
};

interface RowListProps<Row extends { readonly id: string }>
  extends Omit<PagerProps, "nextCursor">,
    Pick<RowTableProps<Row>, "label" | "columns"> {
  readonly page: Page<Row>;
  readonly context: PagerProps["context"] & Pick<PageContext, "readModelBuild">;
  /** Shown instead of an empty list. */
  readonly empty: Child;
  /** Where rows have their pages; by default below the list's path. Null: they have none. */
  readonly rowsBelow?: string | null;
}

/** One page of a list of things with ids: its rows and the way to more, or why there are none. */
export function RowList<Row extends { readonly id: string }>(props: RowListProps<Row>) {
  const { context, label, columns, page, empty, path, filter = {}, rowsBelow = path } = props;
  const { shown: rows, nextCursor } = page;
  return (
    <>
      {rows.length > 0 ? (
        <RowTable
          label={label}
          columns={columns}
          rows={rows}
          idOf={({ id }) => id}
          linkOf={rowsBelow === null ? undefined : ({ id }) => context.to(`${rowsBelow}/${id}`)}
        />
      ) : (
        <NoRows isBuilding={context.readModelBuild !== null} nextCursor={nextCursor} empty={empty} />
      )}
      <Pager context={context} path={path} nextCursor={nextCursor} filter={filter} />
    </>
  );
}

interface NoRowsProps extends Pick<PagerProps, "nextCursor"> {
  /** Whether the list is still being built. */
  readonly isBuilding: boolean;
  readonly empty: Child;
}

/** Why a list page has no rows: they are not built yet, come on a later page, or do not exist. */
export const NoRows: FC<NoRowsProps> = ({ isBuilding, nextCursor, empty }) => {
  if (isBuilding)
    return (
      <Empty title="The list is being built">
        <p>The missing rows are in the log, and appear as it is read.</p>
      </Empty>
    );
  if (nextCursor === null) return <>{empty}</>;
  return (
    <Empty title="Nothing found so far">
      <p>Older rows have not been searched yet: continue with the next page.</p>
    </Empty>
  );
};

interface EmptyProps {
  readonly title: string;
  /** What to do. */
  readonly children: Child;
}

/** Shown where there is nothing yet, and says what to do about it. */
export const Empty: FC<EmptyProps> = ({ title, children }) => (
  <section class="empty">
    <h2>{title}</h2>
    {children}
  </section>
);

/** A name with its value, null if there is none, and what the API calls it where that differs. */
export type Fact = readonly [name: string, value: Child | null, apiName?: string];

/** Names and values of one thing, one below the other. Leaves out names without a value. */
export const Facts: FC<{ readonly facts: readonly Fact[] }> = ({ facts }) => (
  <dl class="facts">
    {facts.map(([name, value, apiName]) =>
      value === null ? null : (
        <div>
          <dt>
            {name}
            {apiName === undefined ? null : <code>{apiName}</code>}
          </dt>
          <dd>{value}</dd>
        </div>
      ),
    )}
  </dl>
);

/** A text to copy unchanged. */
export const Copyable: FC<{ readonly text: string; readonly label: string }> = ({ text, label }) => (
  <span class="copyable">
    <code>{text}</code>
    <button type="button" class="plain" data-copy={text} aria-label={`Copy ${label}`} hidden>
      Copy
    </button>
  </span>
);
