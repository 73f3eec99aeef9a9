import { styleText } from "node:util";

export type Colour = "bold" | "green" | "yellow" | "red";

/** Whether a stream shows colours: a terminal does, unless NO_COLOR is set or it is dumb. */
export function hasColours(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== "dumb";
}

/** The text in a colour if standard output shows colours, else unchanged. */
export function coloured(colour: Colour, text: string): string {
  return hasColours(process.stdout) ? styleText(colour, text, { validateStream: false }) : text;
}
