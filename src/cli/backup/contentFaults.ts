import { counted, firstOf } from "../../kernel/text/readableNumbers.ts";

/** How many faults to keep, so that a directory that has lost everything fills no memory; the others are counted. */
const FAULTS_KEPT_MAX = 1_000;
/** How many of them to name to people. */
const FAULTS_SHOWN_MAX = 20;

const UNUSABLE_REMEDY =
  "  what cannot be replaced may keep erased content: remove it from the copy, and what a link leads to as well";

/** A file of content that should be there: it is missing, or has other bytes than its name says. */
interface ContentFault {
  /** Below the root of the content, with `/`. */
  readonly path: string;
  /** `unusable`: a file or folder of a copy that can be neither read nor replaced. */
  readonly what: "missing" | "damaged" | "unusable";
}

/** What is wrong with content. */
export class ContentFaults {
  readonly kept: ContentFault[] = [];
  count = 0;

  add(what: ContentFault["what"], paths: readonly string[]): void {
    this.count += paths.length;
    for (const path of paths.slice(0, FAULTS_KEPT_MAX - this.kept.length)) this.kept.push({ path, what });
  }

  /** What to print as JSON; nothing if there are none. */
  json(): object {
    return this.count === 0 ? {} : { faults: this.kept, fault_count: this.count };
  }

  /** What to tell people; nothing if there are none. `where` says which side lacks it, or has it damaged. */
  lines(where = ""): readonly string[] {
    if (this.count === 0) return [];
    const { shown, others } = firstOf(FAULTS_SHOWN_MAX, this.kept, this.count);
    return [
      `${counted(this.count, "file")} of content missing or damaged:`,
      ...shown.map(({ path, what }) =>
        what === "unusable"
          ? `  cannot be read or replaced in the copy: ${path}`
          : `  ${what}${where}: ${path}`,
      ),
      ...(others === null ? [] : [`  ${others}`]),
      ...(this.kept.some(({ what }) => what === "unusable") ? [UNUSABLE_REMEDY] : []),
    ];
  }
}
