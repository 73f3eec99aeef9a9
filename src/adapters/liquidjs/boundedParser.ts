import {
  type Context,
  type Emitter,
  Output,
  ParseError,
  Parser,
  type TopLevelToken,
  TypeGuards,
  toValueSync,
} from "liquidjs";
import { BudgetError } from "./renderBudget.ts";

/** Keeps compiled templates small: a tag of five characters takes a thousand bytes. */
const TAGS_MAX = 5_000;
/** Bounds the time that parsing takes: one tag may hold thousands of conditions, values or filters. */
const TAG_UNITS_MAX = 100_000;

type Remaining = Parameters<Parser["parseToken"]>[1];

/**
 * Evaluates an output with a plain path, as nearly all have, without the dozen generators that liquidjs creates to wait
 * for promises; none of our values is one. A typical template renders in half the time.
 */
class DirectOutput extends Output {
  readonly #path = plainPath(this.value.initial.postfix);

  override render(context: Context, emitter: Emitter): IterableIterator<unknown> {
    if (this.#path === null) return super.render(context, emitter);
    let value: unknown = context.getSync([...this.#path]);
    for (const filter of this.value.filters) value = toValueSync(filter.render(value, context));
    emitter.write(value);
    // Nothing is left to iterate over. liquidjs accepts that from tags, but the type of an output does not say so.
    return undefined as never;
  }
}

/** The names of a path without anything to evaluate; null for any other expression. */
function plainPath([token, ...others]: readonly unknown[]): readonly (string | number)[] | null {
  if (others.length > 0 || !TypeGuards.isPropertyAccessToken(token) || token.variable !== undefined)
    return null;
  const path = token.props.map((prop) => ("content" in prop ? prop.content : undefined));
  return path.every((name) => typeof name === "string" || typeof name === "number") ? path : null;
}

/** Parses one source as liquidjs does, except for outputs, and refuses one with too much in its tags. */
export class BoundedParser extends Parser {
  readonly #liquid: ConstructorParameters<typeof Parser>[0];
  #tags = 0;
  #tagUnits = 0;

  constructor(liquid: ConstructorParameters<typeof Parser>[0]) {
    super(liquid);
    this.#liquid = liquid;
  }

  /** How long all tags and outputs are together, in UTF-16 units; what a `liquid` tag holds counts twice. */
  get tagUnits(): number {
    return this.#tagUnits;
  }

  /**
   * liquidjs calls this for the source, and again for the statements of each `liquid` tag. These count too, because
   * `liquid liquid liquid …` is read again at each level.
   */
  override parseTokens(tokens: TopLevelToken[]) {
    const tags = tokens.filter((token) => !TypeGuards.isHTMLToken(token));
    this.#tags += tags.length;
    if (this.#tags > TAGS_MAX) throw new BudgetError(`has more than ${TAGS_MAX} tags and outputs`);
    this.#tagUnits += tags.reduce((sum, { begin, end }) => sum + end - begin, 0);
    if (this.#tagUnits > TAG_UNITS_MAX)
      throw new BudgetError(`has more than ${TAG_UNITS_MAX} characters in tags and outputs`);
    return super.parseTokens(tokens);
  }

  override parseToken(token: Parameters<Parser["parseToken"]>[0], remaining: Remaining) {
    if (!TypeGuards.isOutputToken(token)) return super.parseToken(token, remaining);
    try {
      return new DirectOutput(token, this.#liquid);
    } catch (error) {
      if (error instanceof Error && !("token" in error)) throw new ParseError(error, token);
      throw error;
    }
  }
}
