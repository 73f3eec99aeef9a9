import { Context, Drop, type Emitter, type Liquid, toValue } from "liquidjs";
import { BudgetError, RenderBudget } from "./renderBudget.ts";

/** In UTF-16 units: twice the longest permitted html, because a code point may take two. */
const OUTPUT_UNITS_MAX = 1_000_000;

/** The type of liquidjs's own limiters. It has a private member, so ours has to be cast to it. */
type Limiter = Context["memoryLimit"];

/** What one render sees: the given variables and their own properties, within its budget. */
export class BudgetedContext extends Context {
  constructor(
    liquid: Liquid,
    variables: object,
    readonly budget = new RenderBudget(),
  ) {
    const limiter = budget as unknown as Limiter;
    super(variables, liquid.options, { sync: true }, { memoryLimit: limiter, renderLimit: limiter, liquid });
  }

  /** The context for one element, for filters that look into it. */
  override spawn(scope: object = {}): Context {
    return new BudgetedContext(this.liquid as Liquid, scope, this.budget);
  }

  /** Pays for the key, which becomes text. Hides inherited properties that liquidjs's helpers don't mean to expose. */
  override readProperty(scope: Parameters<Context["readProperty"]>[0], key: string | number | Drop): unknown {
    const name: unknown = toValue(key);
    if (typeof name !== "number") this.budget.pay(name);
    if (scope instanceof Drop && isInherited(name)) return undefined;
    return super.readProperty(scope, key);
  }
}

function isInherited(name: unknown): boolean {
  return typeof name !== "string" || name in Object.prototype;
}

/** The budget of the render in which a filter, operator or tag runs. */
export function budgetOf(context: Context): RenderBudget {
  if (context instanceof BudgetedContext) return context.budget;
  throw new Error("every render has a budget");
}

/** Collects output within limits. Pays for each value before converting it to text. */
export class BudgetedEmitter implements Emitter {
  buffer = "";

  constructor(readonly budget: RenderBudget) {}

  write(value: unknown): void {
    this.budget.pay(value);
    const text = textOf(value);
    if (this.buffer.length + text.length > OUTPUT_UNITS_MAX) {
      throw new BudgetError(`gives more than ${OUTPUT_UNITS_MAX} characters`);
    }
    this.buffer += text;
  }
}

/** A value as Liquid prints it. */
function textOf(value: unknown): string {
  const plain: unknown = toValue(value);
  if (plain === null || plain === undefined) return "";
  return Array.isArray(plain) ? plain.map(textOf).join("") : String(plain);
}
