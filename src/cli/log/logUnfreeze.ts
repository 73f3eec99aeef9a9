import { unfreezeLog } from "../../commands/instance/freezeLog.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import type { Command } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";

export const logUnfreeze: Command = {
  name: "log unfreeze",
  summary: "Let a frozen log go on here after all",
  description:
    "Only while it goes on nowhere else. Start running instances again afterwards. Exit status 1 when the log is not frozen.",
  examples: ["postledger log unfreeze"],
  async run({ config, print }) {
    const outcome = await withLog(config, ({ log }) => unfreezeLog(log, systemCommandContext("cli")), {
      writes: true,
    });
    print({ outcome }, [
      outcome === "unfrozen"
        ? "the log goes on here: restart the service, even if it has kept running"
        : "the log is not frozen",
    ]);
    return outcome === "unfrozen" ? 0 : 1;
  },
};
