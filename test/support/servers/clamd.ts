import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../stores/eventstoredb.ts";
import { until } from "../until.ts";

/** On Debian, daemons are not on an ordinary user's PATH. */
const PROGRAM = Bun.which("clamd") ?? Bun.which("/usr/sbin/clamd");

/** A harmless text that the test's own signature matches, and that no other file contains. */
export const MALWARE_TEXT = "postledger-test-signature-8f14e45fceea167a";
/** The name that the scanner reports; unofficial databases add the suffix. */
export const MALWARE_NAME = "Postledger.Test.UNOFFICIAL";

export interface Clamd {
  readonly tcpUrl: string;
  readonly unixUrl: string;
  /** The largest file that it accepts. */
  readonly streamBytesMax: number;
  stop(): Promise<void>;
}

/** Whether clamd is installed. If not, prints a line, so that nothing is skipped silently. */
export function hasClamd(): boolean {
  if (PROGRAM === null) console.warn("clamd is not installed (clamav-daemon): skipping its tests");
  return PROGRAM !== null;
}

/** Starts clamd for one test, in the foreground, with its own folder, sockets and signature. */
export async function startClamd(): Promise<Clamd> {
  if (PROGRAM === null) throw new Error("clamd is not installed");
  const folder = mkdtempSync(join(tmpdir(), "clamd-"));
  const socket = join(folder, "clamd.sock");
  const port = await freePort();
  const streamBytesMax = 6 * 1_024 * 1_024;
  mkdirSync(join(folder, "db"));
  const signature = Buffer.from(MALWARE_TEXT).toString("hex");
  writeFileSync(join(folder, "db", "test.ndb"), `Postledger.Test:0:*:${signature}\n`);
  const settings = [
    "Foreground yes",
    `DatabaseDirectory ${join(folder, "db")}`,
    `LocalSocket ${socket}`,
    `TCPSocket ${port}`,
    "TCPAddr 127.0.0.1",
    `StreamMaxLength ${streamBytesMax}`,
    `TemporaryDirectory ${folder}`,
  ];
  writeFileSync(join(folder, "clamd.conf"), `${settings.join("\n")}\n`);
  const child = spawn(PROGRAM, ["--config-file", join(folder, "clamd.conf")], { stdio: "ignore" });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const kill = (): void => {
    child.kill("SIGKILL");
  };
  process.once("exit", kill);
  await until(() => isListening(socket), "clamd to listen");
  return {
    tcpUrl: `tcp://127.0.0.1:${port}`,
    unixUrl: `unix:${socket}`,
    streamBytesMax,
    async stop() {
      process.off("exit", kill);
      kill();
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}

function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
