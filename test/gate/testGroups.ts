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
  "faults",
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
  /\bmock\.module\(|\bglobalThis\b|\bchdir\(|\bumask\(|process\.env(\.\w+|\[[^\]]+\])\s*=[^=]|memoryUsage|Object\.assign\(process\.env|delete process\.env|\bheapStats\b|process\.on\(/;
/** What changes it until it is taken back, and how that is done. */
const CHANGES_FOR_A_WHILE = [
  { change: /\bsetSystemTime\(/, takenBack: /\bsetSystemTime\(\)/ },
  { change: /\bspyOn\(/, takenBack: /\bmockRestore\(\)|\bmock\.restore\(\)/ },
] as const;

function leavesChanges(text: string): boolean {
  const isLeft = CHANGES_FOR_A_WHILE.some(
    ({ change, takenBack }) => change.test(text) && !takenBack.test(text),
  );
  return isLeft || CHANGES_PROCESS.test(text);
}

/** Files that run one after the other in one process. */
export type TestGroup = readonly string[];

/** What decides which files may have one process. */
export interface GroupingOptions {
  /** The text of a file. */
  readonly textOf: (file: string) => string;
  /** Whether a file takes long. Such files share a process with one another only. */
  readonly isSlow: (file: string) => boolean;
  /** Whether a file asks for the server that test files share. */
  readonly isOnServer: (file: string) => boolean;
  /** How many files of a group there may be at most: of slow ones, of others on the server, and of those on none. */
  readonly filesMax: { readonly slow: number; readonly onServer: number; readonly others: number };
}

/** The files in groups of one folder, since loading the program takes each process half a second. */
export function groupTestFiles(files: readonly string[], options: GroupingOptions): readonly TestGroup[] {
  const { textOf, isSlow, isOnServer, filesMax } = options;
  const open = new Map<string, string[]>();
  const groups: string[][] = [];
  for (const file of files) {
    const folder = FOLDERS.find((name) => file.startsWith(`test/${name}/`));
    if (folder === undefined || leavesChanges(textOf(file))) {
      groups.push([file]);
      continue;
    }
    const key = `${folder} ${isOnServer(file)} ${isSlow(file)}`;
    const most = isOnServer(file) ? filesMax.onServer : filesMax.others;
    const max = isSlow(file) ? filesMax.slow : most;
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
