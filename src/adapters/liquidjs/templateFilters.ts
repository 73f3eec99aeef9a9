import { type FilterImplOptions, filters } from "liquidjs";
import { budgetOf } from "./budgetedContext.ts";
import { dateFilter } from "./dateFilter.ts";

export type FilterHandler = Extract<FilterImplOptions, (...args: never[]) => unknown>;

/** Shopify's pure filters, without those that evaluate text as Liquid, return random values or hash. */
export const FILTERS: readonly string[] =
  `abs append at_least at_most base64_decode base64_encode capitalize ceil compact concat date default
  divided_by downcase escape escape_once find find_index first floor has join json last lstrip map minus modulo
  newline_to_br plus prepend raw reject remove remove_first remove_last replace replace_first replace_last reverse
  round rstrip size slice sort sort_natural split squish strip strip_html strip_newlines sum times truncate
  truncatewords uniq upcase url_decode url_encode where`.split(/\s+/);

const OWN_FILTERS: Readonly<Record<string, FilterHandler>> = { date: dateFilter };

/** These search for their first argument, or follow it as a path, in every place of their input. */
const SEARCHING = new Set(
  `find find_index has map reject remove remove_first remove_last replace replace_first replace_last sort
  sort_natural split sum where`.split(/\s+/),
);

/** Their output is already safe; escaping it again would show `&amp;amp;`. */
const ESCAPING = new Set(["escape", "escape_once"]);

/** The filter with this name, which pays from the render's budget before it runs. */
export function budgetedFilter(name: string): FilterImplOptions {
  const given = OWN_FILTERS[name] ?? (filters as Readonly<Record<string, FilterImplOptions>>)[name];
  if (given === undefined) throw new Error(`liquidjs has no filter ${name}`);
  const apply: FilterHandler = typeof given === "function" ? given : given.handler;
  const isRaw = ESCAPING.has(name) || (typeof given !== "function" && given.raw);
  const isSearching = SEARCHING.has(name);
  return {
    raw: isRaw,
    handler(value: unknown, ...args: unknown[]): unknown {
      const budget = budgetOf(this.context);
      if (isSearching) budget.paySearch(value, args[0]);
      else budget.pay(value);
      for (const arg of args) budget.pay(arg);
      return apply.call(this, value, ...args);
    },
  };
}
