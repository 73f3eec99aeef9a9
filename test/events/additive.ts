import { isDeepStrictEqual } from "node:util";

/** A schema as JSON: what TypeBox makes is that already, but for its symbols. */
export type Definition = Readonly<Record<string, unknown>>;

type Properties = Readonly<Record<string, Definition>>;

export function isDefinition(value: unknown): value is Definition {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectFaults(before: Definition, now: Definition, path: string): readonly string[] {
  const { properties: old = {}, required: oldRequired = [], ...oldRest } = before;
  const { properties: own = {}, required: ownRequired = [], ...ownRest } = now;
  const required = new Set(ownRequired as readonly string[]);
  const requiredBefore = new Set(oldRequired as readonly string[]);
  const faults: string[] = [];
  if (!isDeepStrictEqual(oldRest, ownRest)) faults.push(`${path || "/"} takes other fields than before`);
  for (const [name, definition] of Object.entries(old as Properties)) {
    const place = `${path}/${name}`;
    const kept = (own as Properties)[name];
    if (!kept) faults.push(`${place} is gone`);
    else faults.push(...additiveFaults(definition, kept, place));
    if (kept && required.has(name) && !requiredBefore.has(name))
      faults.push(`${place} must be there now, and older events may lack it`);
    if (kept && !required.has(name) && requiredBefore.has(name))
      faults.push(`${place} may be absent now, and older releases need it`);
  }
  for (const name of Object.keys(own as Properties)) {
    const isNew = !Object.hasOwn(old as Properties, name);
    if (isNew && required.has(name)) faults.push(`${path}/${name} is new and not optional`);
  }
  return faults;
}

/**
 * In what a schema is more than the one before with optional fields added, each as `<path> <what>`. Such a change
 * needs a version of its own: either older events are no longer read, or older releases cannot read newer ones.
 */
export function additiveFaults(before: unknown, now: unknown, path = ""): readonly string[] {
  if (!isDefinition(before) || !isDefinition(now)) return [`${path} is of another kind`];
  const isObject = isDefinition(before.properties) && isDefinition(now.properties);
  if (isObject) return objectFaults(before, now, path);
  if (before.type === "array" && now.type === "array")
    return additiveFaults(before.items, now.items, `${path}/*`);
  if (Array.isArray(before.anyOf) && Array.isArray(now.anyOf) && before.anyOf.length === now.anyOf.length) {
    const { anyOf } = now;
    return before.anyOf.flatMap((one, index) => additiveFaults(one, anyOf[index], path));
  }
  return isDeepStrictEqual(before, now) ? [] : [`${path} is of another kind`];
}
