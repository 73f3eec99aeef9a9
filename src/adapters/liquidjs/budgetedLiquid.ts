import {
  CaptureTag,
  CaseTag,
  type Context,
  CycleTag,
  defaultOperators,
  type Emitter,
  evalToken,
  type FilterImplOptions,
  filters,
  Liquid,
  type Operators,
  toValue,
} from "liquidjs";
import { BudgetedEmitter, budgetOf } from "./budgetedContext.ts";
import { dateFilter } from "./dateFilter.ts";

type Handler = Extract<FilterImplOptions, (...args: never[]) => unknown>;
type TagImplementation = Parameters<Liquid["registerTag"]>[1];

/** Shopify's filters, as far as they are pure. What evaluates a text as Liquid, rolls dice or hashes is left out. */
const FILTERS =
  `abs append at_least at_most base64_decode base64_encode capitalize ceil compact concat date default
  divided_by downcase escape escape_once find find_index first floor has join json last lstrip map minus modulo
  newline_to_br plus prepend raw reject remove remove_first remove_last replace replace_first replace_last reverse
  round rstrip size slice sort sort_natural split squish strip strip_html strip_newlines sum times truncate
  truncatewords uniq upcase url_decode url_encode where`.split(/\s+/);

const OWN_FILTERS: Readonly<Record<string, Handler>> = { date: dateFilter };

/** These look for their first argument, or follow it as a path, in each place of what they are given. */
const SEARCHING = new Set(
  `find find_index has map reject remove remove_first remove_last replace replace_first replace_last sort
  sort_natural split sum where`.split(/\s+/),
);

/** Their output is safe as it is: escaping it again would show `&amp;amp;`. */
const ESCAPING = new Set(["escape", "escape_once"]);

/** Files are read by these, and a template has none. */
const FILE_TAGS = ["include", "render", "layout", "block"];

/** A filter that pays before it works. */
function boundedFilter(name: string): FilterImplOptions {
  const given = OWN_FILTERS[name] ?? (filters as Readonly<Record<string, FilterImplOptions>>)[name];
  if (given === undefined) throw new Error(`liquidjs has no filter ${name}`);
  const apply: Handler = typeof given === "function" ? given : given.handler;
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

/** The comparisons, paid for before they go over what they compare. */
function boundedOperators(): Operators {
  const { not, and, or, ...comparisons } = defaultOperators;
  const bounded = Object.entries(comparisons).map(([name, compare]) => {
    const paid = (left: unknown, right: unknown, context: Context) => {
      if (name === "contains") budgetOf(context).paySearch(left, right);
      else budgetOf(context).pay(left);
      budgetOf(context).pay(right);
      return compare(left, right, context);
    };
    return [name, paid] as const;
  });
  return { ...defaultOperators, ...Object.fromEntries(bounded) };
}

/** Captures within the bounds of output: what is captured is not yet written anywhere. */
class BoundedCaptureTag extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    const emitter = new BudgetedEmitter(budgetOf(context));
    const text = yield this.liquid.renderer.renderTemplates(this.templates, context, emitter);
    (context.bottom() as Record<string, unknown>)[this.variable] = text;
  }
}

/** Compares by the operator, because one tag may have thousands of values, and each comparison is paid for. */
class BoundedCaseTag extends CaseTag {
  override *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    const { renderer, options } = this.liquid;
    const target = toValue(yield this.value.value(context, false));
    let isHit = false;
    for (const { values, templates } of this.branches) {
      for (const token of values) {
        const value = yield evalToken(token, context);
        if (!(yield options.operators["=="]?.(target, value, context))) continue;
        isHit = true;
        yield renderer.renderTemplates(templates, context, emitter);
        break;
      }
    }
    if (!isHit) yield renderer.renderTemplates(this.elseTemplates, context, emitter);
  }
}

/** The name of a cycle is made into text, so it is paid for. */
class BoundedCycleTag extends CycleTag {
  override *render(context: Context, emitter: Emitter): Generator<unknown, unknown, unknown> {
    const { group } = this as unknown as { readonly group?: Parameters<typeof evalToken>[0] };
    budgetOf(context).pay(yield evalToken(group, context));
    return yield* super.render(context, emitter);
  }
}

const BOUNDED_TAGS: Readonly<Record<string, TagImplementation>> = {
  capture: BoundedCaptureTag,
  case: BoundedCaseTag,
  cycle: BoundedCycleTag,
};

/**
 * Liquid for people who are not trusted: no files, own properties only, a list of filters, and everything that
 * can be made large is paid for from the budget of the render. `html` escapes what variables give.
 */
export function budgetedLiquid(kind: "html" | "text"): Liquid {
  const escapeHtml = boundedFilter("escape") as { readonly handler: Handler };
  const liquid = new Liquid({
    // An empty map of templates replaces the file system.
    templates: {},
    ownPropertyOnly: true,
    strictFilters: true,
    operators: boundedOperators(),
    ...(kind === "html" ? { outputEscape: escapeHtml.handler as (value: unknown) => string } : {}),
  });
  for (const name of Object.keys(liquid.filters)) liquid.unregisterFilter(name);
  for (const name of FILTERS) liquid.registerFilter(name, boundedFilter(name));
  for (const name of FILE_TAGS) delete liquid.tags[name];
  for (const [name, tag] of Object.entries(BOUNDED_TAGS)) liquid.registerTag(name, tag);
  return liquid;
}
