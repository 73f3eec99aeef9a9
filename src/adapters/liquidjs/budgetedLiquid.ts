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
import { boundRanges } from "./boundedRanges.ts";
import { BudgetedEmitter, budgetOf } from "./budgetedContext.ts";
import { speedUpTokenPositions } from "./speedUpTokenPositions.ts";
import { budgetedFilter, FILTERS, type FilterHandler } from "./templateFilters.ts";
import { checkWrittenZones } from "./timeZones.ts";

boundRanges();
checkWrittenZones();
speedUpTokenPositions();

type TagImplementation = Parameters<Liquid["registerTag"]>[1];

/** These tags read files, which templates do not have. */
const FILE_TAGS = ["include", "render", "layout", "block"];

/** The comparison operators, which pay before they look at their operands. */
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

/** Applies the output's limit to captured text too, which is not written anywhere yet. */
class BoundedCaptureTag extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    const emitter = new BudgetedEmitter(budgetOf(context));
    const text = yield this.liquid.renderer.renderTemplates(this.templates, context, emitter);
    (context.bottom() as Record<string, unknown>)[this.variable] = text;
  }
}

/** Compares with our operator, so that each comparison is paid for: one tag may have thousands of values. */
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

/** Pays for the name of the cycle, which is converted to text. */
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
 * Liquid for untrusted authors: no files, own properties only, a fixed list of filters, and everything that can become
 * large is paid for from the render's budget. `html` escapes the output of variables.
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
