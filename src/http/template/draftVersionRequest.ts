import { type Static, Type } from "@sinclair/typebox";
import {
  type CompiledVersion,
  compileVersion,
  type TemplateTools,
} from "../../commands/template/compiledTemplateCache.ts";
import type { NewVersion } from "../../commands/template/manageTemplates.ts";
import type { StepOwner } from "../../commands/template/templateScheduler.ts";
import { VARIABLES_MAX, VERSION_BYTES_MAX } from "../../domain/template/templateLimits.ts";
import { typeFault, VARIABLE_TYPES, type VariableDefinition } from "../../domain/template/variables.ts";
import {
  fault,
  headerTextFaults,
  memberRules,
  NO_FAULTS,
  type UncheckedMembers,
} from "../body/commonFaults.ts";
import { Closed, Nullable, Text } from "../body/commonSchemas.ts";
import { withAdvice, withRules } from "../body/validation.ts";
import { type ProblemDetail, refusedFor } from "../server/problem.ts";
import { liquidFaults } from "./liquidFaults.ts";
import { fallback, variableFields } from "./templateResource.ts";

const SOURCE_CHARACTERS_MAX = 256 * 1_024;

/** Members of other services' requests that ours does not have. */
const ADVICE = { HtmlBody: "did you mean html?", TextBody: "did you mean text?" };

export const DraftVersionBody = withRules(
  withAdvice(
    ADVICE,
    Closed(
      {
        subject: Text({ minLength: 1, maxLength: 2_000, description: "Liquid; nothing is escaped." }),
        html: Type.Optional(
          Nullable(Text({ maxLength: SOURCE_CHARACTERS_MAX, description: "Liquid; output is escaped." })),
        ),
        text: Type.Optional(
          Nullable(Text({ maxLength: SOURCE_CHARACTERS_MAX, description: "Liquid; nothing is escaped." })),
        ),
        variables: Type.Optional(
          Type.Array(
            Closed({
              ...variableFields,
              required: Type.Optional(
                Type.Boolean({ description: "Whether a send must give it; by default it need not." }),
              ),
              default: fallback,
            }),
            { maxItems: VARIABLES_MAX },
          ),
        ),
      },
      {
        examples: [
          {
            subject: "Your order {{ order }}",
            html: "<p>Hello {{ name }}, your order {{ order }} is on its way.</p>",
            text: "Hello {{ name }}, your order {{ order }} is on its way.",
            variables: [
              { name: "name", type: "string", default: "there" },
              { name: "order", type: "number", required: true },
            ],
          },
        ],
      },
    ),
  ),
  memberRules((body) => [...partFaults(body), ...definitionFaults(body.variables)]),
  { areCheckedLater: true },
);
export type DraftVersionBody = Static<typeof DraftVersionBody>;

/** Words of Liquid: a variable with such a name could not be referenced. */
const RESERVED = new Set(
  "and blank contains empty false forloop in nil not null or tablerowloop true".split(" "),
);

/** A draft's parts, valid and within their limits. */
interface ValidDraft {
  readonly draft: NewVersion;
  readonly compiled: CompiledVersion;
}

/**
 * Checks a draft. Throws a problem that names all faults; those of the Liquid only if its size is right. Throws as
 * `TemplateScheduler` does.
 */
export async function draftRequest(
  tools: TemplateTools,
  body: DraftVersionBody,
  owner: StepOwner,
): Promise<ValidDraft> {
  // "" counts as absent, as it does in a send.
  const parts = { subject: body.subject, html: body.html || null, text: body.text || null };
  const source = { ...parts, variables: definitionsOf(body.variables ?? []) };
  const bytes = bytesOf(source);
  const tooLarge = sizeFaults(bytes);
  const errors = [...partFaults(parts), ...definitionFaults(body.variables), ...tooLarge];
  if (tooLarge.length > 0) throw refusedFor("INVALID_REQUEST", errors);
  const compiled = await compileVersion(tools, source, owner);
  errors.push(...(await liquidFaults(tools, compiled, owner)));
  if (errors.length > 0) throw refusedFor("INVALID_REQUEST", errors);
  return { draft: { ...source, bytes: sum(bytes) }, compiled };
}

type Source = Omit<NewVersion, "bytes">;

function partFaults({ subject, html, text }: UncheckedMembers): readonly ProblemDetail[] {
  return [
    ...headerTextFaults("/subject", subject),
    ...(!html && !text ? fault("/html", "is required, unless text is given") : NO_FAULTS),
  ];
}

function definitionsOf(given: NonNullable<DraftVersionBody["variables"]>): VariableDefinition[] {
  return given.map(({ name, type, required = false, default: fallback }) => {
    return { name, type, required, ...(fallback === undefined ? {} : { default: fallback }) };
  });
}

/** Faults between definitions, and faults of each that its schema cannot express. */
function definitionFaults(variables: unknown): readonly ProblemDetail[] {
  if (!Array.isArray(variables)) return NO_FAULTS;
  const names = new Set<unknown>();
  return variables.slice(0, VARIABLES_MAX).flatMap((definition: UncheckedMembers | null, index) => {
    if (typeof definition !== "object" || definition === null) return NO_FAULTS;
    const { name } = definition;
    const isRepeated = typeof name === "string" && names.has(name);
    const isReserved = typeof name === "string" && RESERVED.has(name);
    names.add(name);
    const at = `/variables/${index}`;
    return [
      ...(isRepeated ? fault(`${at}/name`, "is the name of another variable") : NO_FAULTS),
      ...(isReserved ? fault(`${at}/name`, "is a word of Liquid") : NO_FAULTS),
      ...defaultFaults(`${at}/default`, definition),
    ];
  });
}

function defaultFaults(pointer: string, { type, required, default: fallback }: UncheckedMembers) {
  if (fallback === undefined) return NO_FAULTS;
  const known = VARIABLE_TYPES.find((one) => one === type);
  const faultOfType = known === undefined ? null : typeFault(known, fallback);
  return [
    ...(required === true ? fault(pointer, "is never used, because the variable is required") : NO_FAULTS),
    ...(faultOfType === null ? NO_FAULTS : fault(pointer, faultOfType)),
  ];
}

type Sizes = readonly (readonly [part: string, bytes: number])[];

function bytesOf(source: Source): Sizes {
  return Object.entries(source).map(([part, value]) => [part, Buffer.byteLength(JSON.stringify(value))]);
}

function sum(sizes: Sizes): number {
  return sizes.reduce((total, [, bytes]) => total + bytes, 0);
}

/** Names the largest part. */
function sizeFaults(sizes: Sizes): readonly ProblemDetail[] {
  if (sum(sizes) <= VERSION_BYTES_MAX) return [];
  const [largest = ""] = sizes.toSorted(([, one], [, other]) => other - one)[0] ?? [];
  const message = `takes the version over ${VERSION_BYTES_MAX} bytes when encoded`;
  return [{ pointer: `/${largest}`, message }];
}
