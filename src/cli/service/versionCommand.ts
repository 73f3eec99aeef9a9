import { version } from "../../../package.json";
import type { Command } from "../program/command.ts";

/** `postledger version`. */
export const versionCommand: Command = {
  name: "version",
  summary: "Print the version",
  dataDirectory: "unused",
  examples: ["postledger version"],
  async run({ print }) {
    print({ version }, [version]);
    return undefined;
  },
};
