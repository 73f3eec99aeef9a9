import { dirname, join, normalize } from "node:path";
import type { SourceFile } from "./layers.ts";
import { moduleReferences } from "./sourceText.ts";

/** What one walk of Tarjan's algorithm has met. */
interface Walk {
  readonly imports: ReadonlyMap<string, readonly string[]>;
  /** The order in which files were met, from 0. */
  readonly order: Map<string, number>;
  /** The first file that can be reached from each, by its order. */
  readonly first: Map<string, number>;
  readonly stack: string[];
  readonly circles: string[][];
}

/** What each file imports of the others, types included. */
function importsOf(files: readonly SourceFile[]): Map<string, readonly string[]> {
  const paths = new Set(files.map(({ path }) => path));
  const targetsOf = ({ path, text }: SourceFile) =>
    moduleReferences(text)
      .filter(({ kind, specifier }) => kind !== "url" && specifier?.startsWith("."))
      .map(({ specifier }) => normalize(join(dirname(path), specifier ?? "")))
      .filter((target) => paths.has(target));
  return new Map(files.map((file) => [file.path, targetsOf(file)]));
}

function visit(walk: Walk, path: string): void {
  const { imports, order, first, stack, circles } = walk;
  const at = order.size;
  order.set(path, at);
  first.set(path, at);
  stack.push(path);
  const reach = (met: number) => first.set(path, Math.min(first.get(path) ?? at, met));
  for (const target of imports.get(path) ?? []) {
    const met = order.get(target);
    if (met === undefined) {
      visit(walk, target);
      reach(first.get(target) ?? at);
    } else if (stack.includes(target)) reach(met);
  }
  if (first.get(path) !== at) return;
  const circle = stack.splice(stack.indexOf(path));
  if (circle.length > 1 || imports.get(path)?.includes(path)) circles.push(circle.sort());
}

/**
 * Groups of files that reach one another by imports, types included: Biome's rule looks past `import type`. A thread
 * that a file starts by its URL is none of its imports.
 */
export function importCircles(files: readonly SourceFile[]): readonly (readonly string[])[] {
  const walk: Walk = {
    imports: importsOf(files),
    order: new Map(),
    first: new Map(),
    stack: [],
    circles: [],
  };
  for (const { path } of files) if (!walk.order.has(path)) visit(walk, path);
  return walk.circles;
}
