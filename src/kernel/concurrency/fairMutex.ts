import { RoundRobinQueue } from "./roundRobinQueue.ts";

/** Runs one piece of work at a time, because several at once would slow everybody down. */
export function fairMutex() {
  const waiting = new RoundRobinQueue<() => Promise<void>>();
  let isBusy = false;
  const runAll = async () => {
    if (isBusy) return;
    isBusy = true;
    for (let work = waiting.next(); work !== undefined; work = waiting.next()) await work();
    isBusy = false;
  };
  return {
    /** Runs `work` when it is its turn, and settles as it does. Owners take turns. */
    run<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
      return new Promise((resolve, reject) => {
        waiting.add(owner, () => work().then(resolve, reject));
        void runAll();
      });
    },
  };
}
