import { type Context, Expression, type RangeToken, Token, Tokenizer, TokenKind, TypeGuards } from "liquidjs";
import { budgetOf } from "./budgetedContext.ts";
import { BudgetError } from "./renderBudget.ts";

type BoundOfRange = RangeToken["lhs"];

/** Evaluates a bound of a range, and refuses one at which liquidjs would count for ever. */
class BoundExpression extends Expression {
  override *evaluate(context: Context, isLenient?: boolean): Generator<unknown, unknown, unknown> {
    const value = yield super.evaluate(context, isLenient);
    // A list becomes text before it becomes a number.
    budgetOf(context).pay(value);
    if (isCountable(value)) return value;
    throw new BudgetError(`has a range with a bound beyond ${Number.MAX_SAFE_INTEGER}`);
  }
}

/** A bound, in the form of a value with filters: only this form may bring an expression of its own. */
class BoundToken extends Token {
  readonly initial: Expression;
  readonly filters = [];

  constructor({ input, begin, end, file }: BoundOfRange, initial: Expression) {
    super(TokenKind.FilteredValue, input, begin, end, file);
    this.initial = initial;
  }
}

/** Adding 1 to a larger number can leave it as it is. */
function isCountable(bound: unknown): boolean {
  return !(Math.abs(Number(bound)) > Number.MAX_SAFE_INTEGER);
}

function bounded(bound: BoundOfRange): BoundOfRange {
  if (TypeGuards.isNumberToken(bound) && isCountable(bound.content)) return bound;
  return new BoundToken(bound, new BoundExpression([bound])) as unknown as BoundOfRange;
}

/**
 * Makes every range that is parsed from now on check its bounds. liquidjs lists a range by adding 1 until it is at the
 * upper bound, so `(9007199254740992..9007199254740993)` would never end, and pays only for the difference, so the
 * budget does not notice. It makes its tokenizers itself, so this replaces their method.
 */
export function boundRanges(): void {
  const { readGroupOrRange } = Tokenizer.prototype;
  Tokenizer.prototype.readGroupOrRange = function (this: Tokenizer) {
    const token = readGroupOrRange.call(this);
    if (!TypeGuards.isRangeToken(token)) return token;
    token.lhs = bounded(token.lhs);
    token.rhs = bounded(token.rhs);
    return token;
  };
}
