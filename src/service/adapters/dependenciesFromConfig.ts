import { threadedHtmlToText } from "../../adapters/htmlToText/threadedHtmlToText.ts";
import { liquidEngine } from "../../adapters/liquidjs/liquidEngine.ts";
import { diskSpaceOf } from "../../adapters/system/diskSpace.ts";
import { systemClock } from "../../adapters/system/systemClock.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { Config } from "../config/config.ts";
import { openAttachmentInspector } from "./openAttachmentInspector.ts";

/** What commands need besides a log: clock, disk, limits, and what reads files, templates and html. */
export function dependenciesFromConfig(config: Config) {
  return {
    clock: systemClock,
    inspector: openAttachmentInspector(config),
    templateEngine: liquidEngine(),
    htmlToText: threadedHtmlToText(),
    disk: diskSpaceOf(config.dataDir),
    diskFreeBytesMin: config.diskFreeBytesMin,
    limitsDefault: config.limitsDefault,
  } satisfies Partial<Dependencies>;
}
