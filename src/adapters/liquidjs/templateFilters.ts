import { type FilterImplOptions, filters } from "liquidjs";
import { budgetOf } from "./budgetedContext.ts";
import { dateFilter } from "./dateFilter.ts";

export type FilterHandler = Extract<FilterImplOptions, (...args: never[]) => unknown>;

/** Shopify's filters, as far as they are pure. What evaluates a text as Liquid, rolls dice or hashes is left out. */
export const FILTERS: readonly string[] =
  `abs append at_least at_most base64_decode base64_encode capitalize ceil compact concat date default
  divided_by downcase escape escape_once find find_index first floor has join json last lstrip map minus modulo
  newline_to_br plus prepend raw reject remove remove_first remove_last replace replace_first replace_last reverse
  round rstrip size slice sort sort_natural split squish strip strip_html strip_newlines sum times truncate
  truncatewords uniq upcase url_decode url_encode where`.split(/\s+/);

const OWN_FILTERS: Readonly<Record<string, FilterHandler>> = { date: dateFilter };

/** These look for their first argument, or follow it as a path, in each place of what they are given. */
const SEARCHING = new Set(
  `find find_index has map reject remove remove_first remove_last replace replace_first replace_last sort
  sort_natural split sum where`.split(/\s+/),
);

/** Their output is safe as it is: escaping it again would show `&amp;amp;`. */
const ESCAPING = new Set(["escape", "escape_once"]);

/** A filter of that name that pays from the budget of the render before it works. */
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
