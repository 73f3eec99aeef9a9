/** Files of these folders keep to what they have made, so that several of them may have one process. */
const FOLDERS = [
  "adapters",
  "browser",
  "cli",
  "commands",
  "contract",
  "domain",
  "events",
  "examples",
  "http",
  "kernel",
  "projections",
  "readModels",
  "reactors",
  "security",
  "service",
  "smtp",
] as const;
/** What changes the process for the files after it. */
const CHANGES_PROCESS =
  /\bmock\.module\(|\bsetSystemTime\(|\bspyOn\(|\bglobalThis\b|\bchdir\(|\bumask\(|process\.env(\.\w+|\[[^\]]+\])\s*=[^=]|memoryUsage|Object\.assign\(process\.env|delete process\.env|\bheapStats\b|process\.on\(/;

/** Files that run one after the other in one process. */
export type TestGroup = readonly string[];

/** What decides which files may have one process. */
export interface GroupingOptions {
  /** The text of a file. */
  readonly textOf: (file: string) => string;
  /** Whether a file gets a process of its own whatever its text says. */
  readonly isSingle: (file: string) => boolean;
  /** Whether a file asks for the server that test files share. */
  readonly isOnServer: (file: string) => boolean;
  /** How many files of a group there may be at most, by whether they are on the server. */
  readonly filesMax: { readonly onServer: number; readonly others: number };
}

/** The files in groups: small ones of one folder together, since loading the program takes each process half a second. */
export function groupTestFiles(files: readonly string[], options: GroupingOptions): readonly TestGroup[] {
  const { textOf, isSingle, isOnServer, filesMax } = options;
  const open = new Map<string, string[]>();
  const groups: string[][] = [];
  for (const file of files) {
    const folder = FOLDERS.find((name) => file.startsWith(`test/${name}/`));
    if (folder === undefined || isSingle(file) || CHANGES_PROCESS.test(textOf(file))) {
      groups.push([file]);
      continue;
    }
    const key = `${folder} ${isOnServer(file)}`;
    const max = isOnServer(file) ? filesMax.onServer : filesMax.others;
    let group = open.get(key);
    if (group === undefined || group.length >= max) {
      group = [];
      open.set(key, group);
      groups.push(group);
    }
    group.push(file);
  }
  return groups;
}
