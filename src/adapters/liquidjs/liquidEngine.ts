import { AssertionError, type Liquid, LiquidError, type Template, toValueSync } from "liquidjs";
import { excerpt } from "../../kernel/text/textLength.ts";
import type { CompileResult, RenderResult, TemplateEngine } from "../../ports/templateEngine.ts";
import { BoundedParser } from "./boundedParser.ts";
import { BudgetedContext, BudgetedEmitter } from "./budgetedContext.ts";
import { budgetedLiquid } from "./budgetedLiquid.ts";
import { BudgetError } from "./renderBudget.ts";
import { resetWrittenZones } from "./timeZones.ts";
import { usedVariables } from "./usedVariables.ts";

/** The longest source, in UTF-16 units. */
const SOURCE_UNITS_MAX = 256 * 1_024;
/** The memory for a character of a tag (measured: 40 to 165 bytes), and for one of plain text. */
const TAG_UNIT_BYTES = 160;
const TEXT_UNIT_BYTES = 2;
const REASON_UNITS_MAX = 200;

/** How outputs in Mustache and Handlebars begin, after two braces, and what to write in Liquid. */
const FOREIGN_SYNTAX: readonly (readonly [RegExp, string])[] = [
  [/^\{?\s*@content\b/, "there are no layouts: a version holds all of its HTML"],
  [
    /^\{/,
    "three braces are not Liquid: write {{ name }}, or {{ name | raw }} where HTML must not be escaped",
  ],
  [/^\s*(?:\^|#unless\b)/, "{{^name}} is not Liquid: write {% unless name %} … {% endunless %}"],
  [
    /^\s*[#/]/,
    "{{#name}} is not Liquid: write {% for item in name %} … {% endfor %}, or {% if name %} … {% endif %}",
  ],
];

/** Templates in Liquid (Shopify's dialect, by liquidjs), for untrusted authors. */
export function liquidEngine(): TemplateEngine {
  const liquids = { html: budgetedLiquid("html"), text: budgetedLiquid("text") };
  return { compile: (source, kind) => compile(liquids[kind], source) };
}

function compile(liquid: Liquid, source: string): CompileResult {
  if (source.length > SOURCE_UNITS_MAX) {
    return { kind: "invalid", reason: `is longer than ${SOURCE_UNITS_MAX} characters` };
  }
  resetWrittenZones();
  const parser = new BoundedParser(liquid);
  let templates: Template[];
  try {
    templates = parser.parse(source);
  } catch (error) {
    const reason = reasonOf(error);
    return { kind: "invalid", reason: reason + foreignSyntaxHint(reason) };
  }
  const template = {
    bytes: source.length * TEXT_UNIT_BYTES + parser.tagUnits * TAG_UNIT_BYTES,
    render: (variables: Readonly<Record<string, unknown>>) => render(liquid, templates, variables),
    variables: () => usedVariables(templates),
  };
  return { kind: "compiled", template };
}

/** What to write instead of what a reason quotes: an output, with its two braces or without. */
function foreignSyntaxHint(reason: string): string {
  const [, quoted = ""] = /"(?:\{\{)?(.*)/s.exec(reason) ?? [];
  const [, hint] = FOREIGN_SYNTAX.find(([pattern]) => pattern.test(quoted)) ?? [];
  return hint === undefined ? "" : `; ${hint}`;
}

function render(
  liquid: Liquid,
  templates: Template[],
  variables: Readonly<Record<string, unknown>>,
): RenderResult {
  // A copy, because `increment` writes into it; without a prototype, because `in` would find inherited members.
  const scope = Object.assign(Object.create(null), variables);
  try {
    const context = new BudgetedContext(liquid, scope);
    const emitter = new BudgetedEmitter(context.budget);
    toValueSync(liquid.renderer.renderTemplates(templates, context, emitter));
    // Filters can split a surrogate pair, and lone halves can be neither stored nor sent.
    return { kind: "rendered", output: emitter.buffer.toWellFormed() };
  } catch (error) {
    return { kind: "failed", reason: reasonOf(error) };
  }
}

/** What is wrong and where, for the author. For errors that liquidjs did not raise on purpose, only the place. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "cannot be understood";
  const { originalError, token } = error as { originalError?: unknown; token?: LiquidError["token"] };
  const cause = originalError ?? error;
  const isMeant =
    cause instanceof AssertionError || cause instanceof BudgetError || cause instanceof LiquidError;
  if (isMeant || isPlainRefusal(cause)) return excerpt(error.message, REASON_UNITS_MAX);
  const place = token === undefined ? "" : ` in line ${token.getPosition()[0]}`;
  return cause instanceof RangeError
    ? `is nested too deeply or grows too long${place}`
    : `cannot be understood${place}`;
}

/** liquidjs refuses some tags with a plain Error. */
function isPlainRefusal(cause: unknown): boolean {
  return cause instanceof Error && cause.name === "Error";
}
