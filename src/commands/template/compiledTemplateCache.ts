import { LRUCache } from "lru-cache";
import { type TemplateEvent, templateCodec, templateStream } from "../../domain/template/events.ts";
import type { TemplateVersion } from "../../domain/template/state.ts";
import type { VariableDefinition } from "../../domain/template/variables.ts";
import { invariant } from "../../kernel/assert.ts";
import { InFlightMap } from "../../kernel/shortLivedCollections.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import type { CompileResult, TemplateEngine } from "../../ports/templateEngine.ts";
import type { StepOwner, TemplateScheduler } from "./templateScheduler.ts";

/** How much memory all compiled versions together may take. */
const CACHE_BYTES_MAX = 64 * 1_024 * 1_024;
/** The size of an entry beside its parts. */
const ENTRY_BYTES = 1_024;

/** Everything that a version consists of, as it was drafted. */
export type VersionSource = Extract<TemplateEvent, { type: "TemplateVersionDrafted" }>["data"];

/** A version ready to render. A part that an older engine accepted may be invalid now: rendering it then fails. */
export interface CompiledVersion {
  readonly variables: readonly VariableDefinition[];
  readonly subject: CompileResult;
  readonly html: CompileResult | null;
  readonly text: CompileResult | null;
}

/**
 * A cache of compiled versions by their ids. An entry is never stale, because a version never changes. Concurrent callers
 * share one compilation, which is abandoned only when all of them are.
 */
export interface CompiledVersions {
  /**
   * Null if the template was deleted since. Throws `StoreError` if it has to be read and cannot be, and as
   * `compileVersion` does.
   */
  get(templateId: string, version: TemplateVersion, owner: StepOwner): Promise<CompiledVersion | null>;
}

/** The source of a version, which is one event; null if the template was deleted since. Throws `StoreError`. */
export async function readVersionSource(
  store: EventStore,
  templateId: string,
  { id, revision }: TemplateVersion,
): Promise<VersionSource | null> {
  const [recorded] = await store.read(templateStream(templateId), revision, 1);
  if (recorded === undefined || recorded.revision > revision) return null;
  const event = templateCodec.decode(recorded);
  invariant(
    event.type === "TemplateVersionDrafted" && event.data.versionId === id,
    "a version is where it was",
  );
  return event.data;
}

/** What compiles and renders templates. */
export interface TemplateTools {
  readonly templateEngine: TemplateEngine;
  readonly templateScheduler: TemplateScheduler;
}

/** Compiles each part when it is its turn. Throws as `TemplateScheduler` does. */
export async function compileVersion(
  { templateEngine, templateScheduler }: TemplateTools,
  { subject, html, text, variables }: Pick<VersionSource, "subject" | "html" | "text" | "variables">,
  owner: StepOwner,
): Promise<CompiledVersion> {
  const compile = (source: string, kind: "html" | "text") =>
    templateScheduler.run(owner, () => templateEngine.compile(source, kind));
  return {
    variables,
    subject: await compile(subject, "text"),
    html: html === null ? null : await compile(html, "html"),
    text: text === null ? null : await compile(text, "text"),
  };
}

function bytesOf(part: CompileResult | null): number {
  return part?.kind === "compiled" ? part.template.bytes : 0;
}

/** A version that is being compiled, and all who wait for it. They are of one workspace, as the version is. */
interface Compiling {
  readonly owners: StepOwner[];
  readonly compiled: Promise<CompiledVersion | null>;
}

export function compiledVersions(store: EventStore, tools: TemplateTools): CompiledVersions {
  const entries = new LRUCache<string, CompiledVersion>({
    maxSize: CACHE_BYTES_MAX,
    sizeCalculation: ({ subject, html, text }) =>
      ENTRY_BYTES + bytesOf(subject) + bytesOf(html) + bytesOf(text),
  });
  const inFlight = new InFlightMap<Compiling>();
  const compile = async (templateId: string, version: TemplateVersion, owner: StepOwner) => {
    try {
      const source = await readVersionSource(store, templateId, version);
      if (source === null) return null;
      const compiled = await compileVersion(tools, source, owner);
      entries.set(version.id, compiled);
      return compiled;
    } finally {
      inFlight.delete(version.id);
    }
  };
  const begin = (templateId: string, version: TemplateVersion, { workspaceId }: StepOwner): Compiling => {
    const owners: StepOwner[] = [];
    const isAbandoned = () => owners.every((owner) => owner.isAbandoned?.() === true);
    const compiling = { owners, compiled: compile(templateId, version, { workspaceId, isAbandoned }) };
    inFlight.set(version.id, compiling);
    return compiling;
  };
  return {
    async get(templateId, version, owner) {
      const known = entries.get(version.id);
      if (known !== undefined) return known;
      const compiling = inFlight.get(version.id) ?? begin(templateId, version, owner);
      compiling.owners.push(owner);
      return compiling.compiled;
    },
  };
}
