type Members = Readonly<Record<string, unknown>>;

/** Every object in a value, outermost first. */
export function objectsIn(value: unknown): readonly Members[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? inner : [value as Members, ...inner];
}
