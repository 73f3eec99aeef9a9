/** A program on its own pseudo-terminal, as an interactive user runs it. */
export interface TerminalProcess {
  readonly pid: number;
  /** Everything printed to the screen so far, without colours. */
  screen(): string;
  /** Types a text: `"\u0003"` is Ctrl-C. */
  type(text: string): void;
  /** Closes the terminal. */
  hangUp(): void;
  readonly exited: Promise<number>;
}

/** Wide enough that no line wraps. */
const COLUMNS = 400;
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control sequences.
const COLOURS = /\u001b\[[0-9;]*m/g;

export function startOnTerminal(
  command: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): TerminalProcess {
  const decoder = new TextDecoder();
  let text = "";
  const child = Bun.spawn([...command], {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, ...options.env },
    terminal: {
      cols: COLUMNS,
      rows: 50,
      data(_terminal, bytes) {
        text += decoder.decode(bytes, { stream: true });
      },
    },
  });
  return {
    pid: child.pid,
    screen: () => text.replace(COLOURS, "").replaceAll("\r\n", "\n"),
    type: (typed) => void child.terminal?.write(typed),
    hangUp: () => child.terminal?.close(),
    exited: child.exited,
  };
}
