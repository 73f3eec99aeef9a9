/** A template's source that was found sound, ready to be rendered any number of times. */
export interface CompiledTemplate {
  /** About how much memory it takes: caches are bounded by it. */
  readonly bytes: number;
  /**
   * The output. Bounded in time and size: past a bound it is `failed`, with a reason for the template's author.
   * Sees own properties of `variables` only.
   */
  render(variables: Readonly<Record<string, unknown>>): RenderResult;
  /** What it reads that it does not make itself, as a loop makes its item: each name once, where it is read first. */
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
  /** `reason` names the line and what is wrong, for the template's author. */
  | { readonly kind: "invalid"; readonly reason: string };

/** Turns the source of a template into something that renders. */
export interface TemplateEngine {
  /** `html`: output of variables is escaped by default; `text`: it is not. */
  compile(source: string, kind: "html" | "text"): CompileResult;
}
