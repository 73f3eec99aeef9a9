import type { MaintenanceProgress } from "../../http/dashboard/maintenance/maintenanceTasks.ts";
import type {
  FromMaintenanceThread,
  MaintenanceEnd,
  MaintenanceStart,
  ToMaintenanceThread,
} from "./maintenanceThread.ts";

/** How long a thread may take to remove what it has built. */
const STOP_MS_MAX = 5_000;

/** One task, on its own thread. */
export interface RunningMaintenance {
  readonly ended: Promise<MaintenanceEnd>;
  /** Cancels the task, and waits until it has ended. */
  stop(): Promise<void>;
}

/** Starts a task on its own thread. `ended` never rejects. */
export function startMaintenanceThread(
  start: MaintenanceStart,
  onProgress: (progress: MaintenanceProgress) => void = () => {},
): RunningMaintenance {
  const thread = new Worker(new URL("./maintenanceThread.ts", import.meta.url).href);
  const { promise, resolve } = Promise.withResolvers<MaintenanceEnd>();
  thread.onmessage = ({ data }: MessageEvent<FromMaintenanceThread>) => {
    if ("progress" in data) onProgress(data.progress);
    else resolve(data);
  };
  thread.onerror = (event) => resolve({ failed: event.message });
  const tell = (message: ToMaintenanceThread) => thread.postMessage(message);
  tell({ start });
  const ended = promise.finally(() => thread.terminate());
  return {
    ended,
    async stop() {
      tell({ stop: true });
      await Promise.race([ended, Bun.sleep(STOP_MS_MAX)]);
      resolve({ failed: "it was canceled" });
      thread.terminate();
    },
  };
}
