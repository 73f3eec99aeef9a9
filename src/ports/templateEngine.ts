/** A valid template, ready to be rendered any number of times. */
interface CompiledTemplate {
  /** Roughly how much memory it takes, for caches with a limit. */
  readonly bytes: number;
  /**
   * Renders within limits on time and size. Beyond them the result is `failed`, with a reason for the author.
   * Sees only own properties of `variables`.
   */
  render(variables: Readonly<Record<string, unknown>>): RenderResult;
  /** The variables it reads but does not define itself (as a loop defines its item), each at its first use. */
  variables(): readonly UsedVariable[];
}

/** A variable as a template uses it. `line` counts from 1. */
export interface UsedVariable {
  readonly name: string;
  readonly line: number;
}

export type RenderResult =
  | { readonly kind: "rendered"; readonly output: string }
  | { readonly kind: "failed"; readonly reason: string };

export type CompileResult =
  | { readonly kind: "compiled"; readonly template: CompiledTemplate }
  /** `reason` tells the template's author the line and what is wrong. */
  | { readonly kind: "invalid"; readonly reason: string };

/** Compiles template sources. */
export interface TemplateEngine {
  /** `html` escapes the output of variables by default; `text` does not. */
  compile(source: string, kind: "html" | "text"): CompileResult;
}
