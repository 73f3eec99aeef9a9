/** An object type in which members that may be undefined become optional. */
type WithoutUndefined<Given> = {
  [Name in keyof Given as undefined extends Given[Name] ? never : Name]: Given[Name];
} & {
  [Name in keyof Given as undefined extends Given[Name] ? Name : never]?: Exclude<Given[Name], undefined>;
};

/** The object without its undefined members. */
export function omitUndefined<Given extends object>(given: Given): WithoutUndefined<Given> {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as WithoutUndefined<Given>;
}
