import {
  CaptureTag,
  CaseTag,
  type Context,
  CycleTag,
  defaultOperators,
  type Emitter,
  evalToken,
  Liquid,
  type Operators,
  toValue,
} from "liquidjs";
import { BudgetedEmitter, budgetOf } from "./budgetedContext.ts";
import { budgetedFilter, FILTERS, type FilterHandler } from "./templateFilters.ts";

type TagImplementation = Parameters<Liquid["registerTag"]>[1];

/** Files are read by these, and a template has none. */
const FILE_TAGS = ["include", "render", "layout", "block"];

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
  const escapeHtml = budgetedFilter("escape") as { readonly handler: FilterHandler };
  const liquid = new Liquid({
    // An empty map of templates replaces the file system.
    templates: {},
    ownPropertyOnly: true,
    strictFilters: true,
    operators: boundedOperators(),
    ...(kind === "html" ? { outputEscape: escapeHtml.handler as (value: unknown) => string } : {}),
  });
  for (const name of Object.keys(liquid.filters)) liquid.unregisterFilter(name);
  for (const name of FILTERS) liquid.registerFilter(name, budgetedFilter(name));
  for (const name of FILE_TAGS) delete liquid.tags[name];
  for (const [name, tag] of Object.entries(BOUNDED_TAGS)) liquid.registerTag(name, tag);
  return liquid;
}
