/** An object type whose members that may be undefined are optional. */
type DefinedMembers<Given> = {
  [Name in keyof Given as undefined extends Given[Name] ? never : Name]: Given[Name];
} & {
  [Name in keyof Given as undefined extends Given[Name] ? Name : never]?: Exclude<Given[Name], undefined>;
};

/** The members that are not undefined: an optional member is either there or left out. */
export function definedMembers<Given extends object>(given: Given): DefinedMembers<Given> {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as DefinedMembers<Given>;
}
