/** An object type in which members that may be undefined become optional. */
type DefinedMembers<Given> = {
  [Name in keyof Given as undefined extends Given[Name] ? never : Name]: Given[Name];
} & {
  [Name in keyof Given as undefined extends Given[Name] ? Name : never]?: Exclude<Given[Name], undefined>;
};

/** The object without its undefined members. */
export function definedMembers<Given extends object>(given: Given): DefinedMembers<Given> {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as DefinedMembers<Given>;
}
