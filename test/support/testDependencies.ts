import { threadedHtmlToText } from "../../src/adapters/htmlToText/threadedHtmlToText.ts";
import { liquidEngine } from "../../src/adapters/liquidjs/liquidEngine.ts";
import { createDependencies } from "../../src/commands/createDependencies.ts";
import type { Dependencies } from "../../src/commands/dependencies.ts";
import { instanceKeys, newDataKey } from "../../src/kernel/crypto/instanceKeys.ts";
import { openAttachmentInspector } from "../../src/service/adapters/openAttachmentInspector.ts";
import { readConfig } from "../../src/service/config/config.ts";
import { memoryContentStore } from "./stores/memoryContentStore.ts";

type Parts = Parameters<typeof createDependencies>[0];

/** Dependencies for commands on a log and a clock: content in memory, free disk space, and nobody suppressed. */
export function testDependencies(parts: Pick<Parts, "store" | "clock"> & Partial<Parts>): Dependencies {
  return createDependencies({
    content: memoryContentStore(),
    keys: instanceKeys(newDataKey()),
    suppressions: { isSuppressed: () => false, holds: async () => false },
    inspector: openAttachmentInspector({ clamavUrl: null }),
    templateEngine: liquidEngine(),
    htmlToText: threadedHtmlToText(),
    disk: { freeBytes: () => 1 },
    diskFreeBytesMin: 0,
    limitsDefault: readConfig({}).limitsDefault,
    recentEmails: null,
    ...parts,
  });
}
