import { Argument, type CommanderError, Option as CommanderOption, Command as Parser } from "commander";
import { version } from "../../../package.json";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import type { Config } from "../../service/config/config.ts";
import { coloured, hasColours } from "../output/terminalColour.ts";
import { terminalText } from "../output/terminalText.ts";
import {
  type Command,
  type Invocation,
  LIST_VALUE,
  type Operand,
  type Option,
  UsageError,
} from "./command.ts";

const COLUMNS_MAX = 100;
const JSON_OPTION: Option = {
  name: "json",
  value: null,
  help: "print JSON instead of text; errors too, on standard error",
};

/** Commands about one thing, in the order in which they are shown. */
export interface CommandGroup {
  readonly noun: string;
  readonly summary: string;
  /** Its heading in the list of all commands. */
  readonly heading: string;
  readonly commands: readonly Command[];
}

/** The call names no command, or has wrong arguments. `parser` is the last one that read it. */
export class ParseError extends UsageError {
  constructor(
    readonly failure: CommanderError,
    readonly parser: Parser,
  ) {
    super(messageOf(failure, parser));
  }
}

/** Turns `error: unknown command 'a'\n(Did you mean b?)` into one line, and adds where it was looked for. */
function messageOf({ message, code }: CommanderError, parser: Parser): string {
  if (code === "commander.help")
    return parser.parent ? `${parser.name()} needs a command` : "a command is needed";
  const [what = "", suggestion] = message.replace(/^error: /, "").split("\n(");
  const where = code === "commander.unknownCommand" && parser.parent ? ` of ${parser.name()}` : "";
  const told = `${what}${where}`;
  const meant =
    suggestion?.slice(0, -1) ?? versionHint(what) ?? settingsHint(code, parser) ?? verbFirst(parser);
  return meant === null ? told : `${told.replace(/\.$/, "")}. ${meant}`;
}

/** Many programs have `-v` for their version, and as many for something else. */
function versionHint(what: string): string | null {
  return what === "unknown option '-v'" ? "Did you mean --version?" : null;
}

/** For a call like `serve --port 8080`: says where settings come from. */
function settingsHint(code: string, parser: Parser): string | null {
  if (code !== "commander.unknownOption" || (parser.parent !== null && parser.name() !== "serve"))
    return null;
  return `Settings come from the environment: PORT=8080 ${POSTLEDGER} serve`;
}

/** For a call like `list` or `create workspace`: suggests the commands with that verb. */
function verbFirst({ parent, args, commands }: Parser): string | null {
  const [verb, noun] = args;
  if (parent !== null || verb === undefined) return null;
  const having = commands.filter((group) => group.commands.some((one) => one.name() === verb));
  const named = having.filter((group) => group.name() === noun);
  const names = (named.length > 0 ? named : having).map((group) => `${group.name()} ${verb}`);
  return names.length === 0 ? null : `Did you mean ${names.join(", ")}?`;
}

/** `postledger workspace create`. */
function pathOf(parser: Parser): string {
  return parser.parent === null ? parser.name() : `${pathOf(parser.parent)} ${parser.name()}`;
}

export function usageLine(parser: Parser): string {
  return `Usage: ${pathOf(parser)} ${parser.usage()}`;
}

/** Makes a parser throw where it would exit, after printing help or version too. */
function throwing(parser: Parser): Parser {
  return parser.exitOverride((failure) => {
    throw new ParseError(failure, parser);
  });
}

function flagsOf({ name, value }: Option): string {
  return value === null ? `--${name}` : `--${name} ${value}`;
}

/** The value of a list option that is given again adds to the list. */
function joinRepeated(value: string, before: string | undefined): string {
  return before === undefined ? value : `${before},${value}`;
}

function addOptions(parser: Parser, options: readonly Option[]): void {
  for (const option of options) {
    const help = option.isRequired ? `${option.help} (required)` : option.help;
    const parsed = new CommanderOption(flagsOf(option), help);
    parser.addOption(option.value === LIST_VALUE ? parsed.argParser(joinRepeated) : parsed);
  }
  parser.helpOption("-h, --help", "show this help");
}

function shownOperand({ name, count }: Operand): string {
  if (count === "many") return `[${name}...]`;
  return count === "optional" ? `[${name}]` : `<${name}>`;
}

/** The value of an option, by the name that people know. */
function givenOption(parser: Parser, name: string): string | undefined {
  const found = parser.options.find((one) => one.name() === name);
  const value: unknown = found && parser.getOptionValue(found.attributeName());
  // Commander sets the opposite of a `--no-…`: it is true until that is given.
  if (found?.negate) return value === false ? "" : undefined;
  return value === undefined ? undefined : String(value);
}

/** Examples are written with `postledger` and shown with the command's name here. */
function exampleLines(examples: readonly string[]): string {
  const lines = examples.flatMap((example) => {
    const [words = "", remark] = example.split(" # ");
    const typed = words.replace(/\bpostledger\b/, POSTLEDGER);
    return [...(remark === undefined ? [] : [`  # ${remark}`]), `  ${typed}`];
  });
  return `${coloured("bold", "Examples:")}\n${lines.join("\n")}`;
}

/** Runs a call that was understood. `parser` holds its arguments. */
export type Act = (command: Command, parser: Parser) => Promise<void>;

/** The parser of one command, named by the last word of its name. */
function leaf(command: Command, act: Act): Parser {
  const { name, summary, description, options = [], operands = [], examples } = command;
  const parser = new Parser(name.slice(name.indexOf(" ") + 1));
  parser
    .summary(summary)
    .description(description === undefined ? `${summary}.` : `${summary}.\n${description}`);
  addOptions(parser, [...options, JSON_OPTION]);
  for (const operand of operands) parser.addArgument(new Argument(shownOperand(operand), operand.help));
  parser.addHelpText("after", `\n${exampleLines(examples)}`);
  const required = options.filter(({ isRequired }) => isRequired);
  parser.usage([...required.map(flagsOf), "[options]", ...operands.map(shownOperand)].join(" "));
  parser.action(() => {
    // Checked here, because the parser would complain about it before a misspelt option.
    const missing = required.find((option) => !givenOption(parser, option.name));
    if (missing !== undefined) parser.error(`error: missing option '${flagsOf(missing)}'`);
    return act(command, parser);
  });
  return parser;
}

export function invocationOf({ operands = [] }: Command, parser: Parser, settings: () => Config): Invocation {
  const json = parser.optsWithGlobals().json === true;
  const option = (name: string) => givenOption(parser, name);
  let config: Config | undefined;
  return {
    get config() {
      config ??= settings();
      return config;
    },
    args: parser.args,
    operand: (name) => parser.args[operands.findIndex((operand) => operand.name === name)] ?? "",
    option,
    required: (name) => option(name) ?? "",
    json,
    print(value, lines) {
      process.stdout.write(
        json ? `${JSON.stringify(value)}\n` : lines.map((line) => `${terminalText(line)}\n`).join(""),
      );
    },
  };
}

function configured(parser: Parser): Parser {
  return parser
    .configureOutput({
      // The caller reports errors.
      writeErr: () => {},
      getOutHasColors: () => hasColours(process.stdout),
      getOutHelpWidth: () => Math.min(process.stdout.columns ?? 80, COLUMNS_MAX),
    })
    .configureHelp({
      styleTitle: (title) => coloured("bold", title),
      // The list only helps to find a command; its own help shows its arguments.
      subcommandTerm: (parser) => parser.name(),
    });
}

/** Adds a sub-parser with the settings that all share. */
function addBelow(parent: Parser, child: Parser): void {
  child.copyInheritedSettings(parent);
  throwing(child);
  parent.addCommand(child);
}

function addGroup(program: Parser, { noun, summary, heading, commands }: CommandGroup, act: Act): void {
  const [only] = commands;
  if (only !== undefined && only.name === noun) {
    addBelow(program, leaf(only, act).helpGroup(heading));
    return;
  }
  const group = new Parser(noun)
    .summary(summary)
    .description(`${summary}.`)
    .helpGroup(heading)
    .helpCommand(false);
  addBelow(program, group);
  group.helpOption("-h, --help", "show this help").usage("<command> [options]");
  for (const command of commands) addBelow(group, leaf(command, act));
  const [example = ""] = commands.flatMap(({ examples }) => examples);
  group.addHelpText("after", `\n${exampleLines([example])}\n\nMore: ${POSTLEDGER} help ${noun} <command>`);
}

const ABOUT = `Postledger ${version}: transactional email and webhooks on your own machine.
Settings come from the environment; DATA_DIR says which installation is meant (default: ./data).`;
const AFTER = `
${exampleLines(["postledger serve", "postledger doctor", "postledger help workspace create"])}

Exit status: 0 ok, 1 something failed or was found, 2 wrong usage or settings.`;

/** The whole command line. Calls `act` with a call that was understood; throws {@link ParseError} otherwise. */
export function createProgram(groups: readonly CommandGroup[], act: Act): Parser {
  const program = throwing(configured(new Parser(POSTLEDGER)));
  program.description(ABOUT).usage("<command> [options]").helpCommand(false).addHelpText("after", AFTER);
  program.version(version, "-V, --version", "print the version");
  addOptions(program, [JSON_OPTION]);
  for (const group of groups) addGroup(program, group, act);
  const help = new Parser("help")
    .summary("Show what a command does and takes")
    .description("Show what a command does and takes.")
    .argument("[command...]", "`workspace`, `workspace create`; all of them by default")
    .addHelpText("after", `\n${exampleLines(["postledger help workspace create"])}`)
    .action((names: readonly string[]) => showHelp(program, names));
  const lastHeading = groups.at(-1)?.heading;
  addBelow(program, lastHeading === undefined ? help : help.helpGroup(lastHeading));
  return program;
}

/** Shows the help of what the words name, and throws as `--help` does; for an unknown word it throws an error. */
export async function showHelp(program: Parser, words: readonly string[]): Promise<void> {
  let parser = program;
  let taken = 0;
  for (const word of words) {
    const next = parser.commands.find((one) => one.name() === word);
    if (next === undefined) break;
    parser = next;
    taken += 1;
  }
  // Parsing an unknown command only reports it. Words after a complete command may be its operands.
  if (taken < words.length && parser.commands.length > 0)
    await program.parseAsync([...words], { from: "user" });
  parser.outputHelp();
}
