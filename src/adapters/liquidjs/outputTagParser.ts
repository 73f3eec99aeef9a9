import { type Context, type Emitter, Output, ParseError, Parser, TypeGuards, toValueSync } from "liquidjs";

type Remaining = Parameters<Parser["parseToken"]>[1];

/**
 * An output that follows a plain path, as nearly all do, without the dozen generators that liquidjs makes to be
 * able to wait for promises: no value of ours is one. Rendering a usual template takes half the time.
 */
class DirectOutput extends Output {
  readonly #path = plainPath(this.value.initial.postfix);

  override render(context: Context, emitter: Emitter): IterableIterator<unknown> {
    if (this.#path === null) return super.render(context, emitter);
    let value: unknown = context.getSync([...this.#path]);
    for (const filter of this.value.filters) value = toValueSync(filter.render(value, context));
    emitter.write(value);
    // Nothing is left to iterate over, which liquidjs takes from tags but leaves out of an output's type.
    return undefined as never;
  }
}

/** The names of a path that nothing has to be evaluated for; null for any other expression. */
function plainPath([token, ...others]: readonly unknown[]): readonly (string | number)[] | null {
  if (others.length > 0 || !TypeGuards.isPropertyAccessToken(token) || token.variable !== undefined)
    return null;
  const path = token.props.map((prop) => ("content" in prop ? prop.content : undefined));
  return path.every((name) => typeof name === "string" || typeof name === "number") ? path : null;
}

/** Parses as liquidjs does, but for its outputs. */
export class OutputTagParser extends Parser {
  readonly #liquid: ConstructorParameters<typeof Parser>[0];

  constructor(liquid: ConstructorParameters<typeof Parser>[0]) {
    super(liquid);
    this.#liquid = liquid;
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
