import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { commandGroups } from "../../src/cli/program/commandGroups.ts";
import { ROOT } from "../support/root.ts";
import { type Block, type Page, parsePage, proseOf } from "./markdownPage.ts";

/** Blocks of other languages would be shown and never looked at. */
const LANGUAGES = ["sh", "json", "text", "ts", "js", "python", "nginx", "ini"];
/** What a line of a shell begins with: in a block of another language it would not be run. */
const COMMAND_LINE = /^\s*(\$ |curl |bun |npx |docker |export |[A-Z_]+=\S+ bun |postledger )/m;
const LINK = /!?\[[^\]]*\]\(([^)\s]+)\)/g;
const INLINE_CODE = /`([^`]+)`/g;
const CALL = /^(?:[A-Z_]+=\S* )*(?:bun run )?postledger ((?:[a-z][a-z-]* ?)+)/;

/** The page that a link leads to, and its anchor. */
function linkFault(page: Page, target: string): string | null {
  if (/^(https?|mailto):/.test(target)) return null;
  const [file = "", anchor] = target.split("#");
  if (file === "") return page.anchors.has(anchor ?? "") ? null : `it has no such heading as ${target}`;
  const path = normalize(join(dirname(page.path), file));
  const whole = join(ROOT, path);
  if (!existsSync(whole)) return `it links to ${target}: there is no ${path}`;
  if (anchor === undefined) return null;
  const { anchors } = parsePage(path, readFileSync(whole, "utf8"));
  return anchors.has(anchor) ? null : `it links to ${target}: ${path} has no such heading`;
}

function blockFaults({ language, text, line, notRun }: Block): readonly string[] {
  const faults: string[] = [];
  if (!LANGUAGES.includes(language)) faults.push(`the language ${JSON.stringify(language)} is none of ours`);
  if (language !== "sh" && COMMAND_LINE.test(text) && notRun === null)
    faults.push("it holds a command that is not run");
  // Some shells take a remark for words of the command.
  if (language === "sh" && /(^|\s)#/m.test(text)) faults.push("its remarks belong into the text");
  return faults.map((fault) => `line ${line}: ${fault}`);
}

/** JSON and text that nothing prints would be taken for output. */
function orphanFaults(blocks: readonly Block[]): readonly string[] {
  const orphans = blocks.filter(({ language, notRun }, index) => {
    const before = blocks[index - 1];
    return language === "json" && notRun === null && before?.language !== "sh";
  });
  return orphans.map(({ line }) => `line ${line}: no command prints this`);
}

const COMMANDS = commandGroups.flatMap(({ commands }) => commands.map(({ name }) => name));

/** Whether the words begin with a command or a group of commands. */
function isCommand(words: string): boolean {
  const given = words.trim();
  if (["", "help"].includes(given.split(" ")[0] ?? "")) return true;
  return COMMANDS.some(
    (name) => given === name || given.startsWith(`${name} `) || name.startsWith(`${given} `),
  );
}

function callFaults(prose: string): readonly string[] {
  return [...prose.matchAll(INLINE_CODE)].flatMap(([, code = ""]) => {
    const [, words] = CALL.exec(code) ?? [];
    return words === undefined || isCommand(words) ? [] : [`there is no command \`${code}\``];
  });
}

const SOURCE_PATH = /^(?:src|projections|test|docs|examples|\.ci)(?:\/[\w.-]+)*\/?$/;

/** Files and folders of the repository that the text names and that are not there. */
function pathFaults(prose: string): readonly string[] {
  const paths = [...prose.matchAll(INLINE_CODE)].flatMap(([, code = ""]) =>
    SOURCE_PATH.test(code) ? [code] : [],
  );
  return paths.flatMap((path) =>
    existsSync(join(ROOT, path)) ? [] : [`it names ${path}, which is not there`],
  );
}

const SENT_KEY = /idempotency[-_]?key['"]?: *['"]?([\w-]+)/gi;

/**
 * The Idempotency-Keys that the examples of several pages send under: to a reader who follows one page after the other,
 * the second answers with a conflict.
 */
export function sharedKeyFaults(pages: readonly Page[]): readonly string[] {
  const keys = pages.flatMap(({ path, blocks }) => {
    const sent = blocks.flatMap(({ text }) => [...text.matchAll(SENT_KEY)].map(([, key = ""]) => key));
    return [...new Set(sent)].map((key) => ({ key, path }));
  });
  const sharing = Map.groupBy(keys, ({ key }) => key);
  return [...sharing].flatMap(([key, uses]) =>
    uses.length === 1 ? [] : [`${uses.map(({ path }) => path).join(" and ")} send under the key ${key}`],
  );
}

/** What is wrong with a page that nothing has to be run for: its links, its languages, the commands it names. */
export function pageFaults(page: Page): readonly string[] {
  const prose = proseOf(page.text);
  const links = [...prose.matchAll(LINK)].flatMap(([, target = ""]) => linkFault(page, target) ?? []);
  const faults = [
    ...links,
    ...page.blocks.flatMap(blockFaults),
    ...orphanFaults(page.blocks),
    ...callFaults(prose),
    ...pathFaults(prose),
  ];
  return faults.map((fault) => `${page.path}: ${fault}`);
}
