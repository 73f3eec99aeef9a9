/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";
import { mailOwnerId } from "../../../kernel/mail/mailOwnerId.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";
import { LinkButton } from "./button.tsx";
import { SHOWN_FIELD } from "./csvStream.ts";
import { type Filter, withFilter } from "./list.tsx";

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
