import { OwnersInTurn } from "../../kernel/ownersInTurn.ts";

/** Does work that others would feel if more of it were under way at once. */
export interface FairMutex {
  /** Does the work when it is its turn: owners take turns. Settles as it does. */
  run<Result>(owner: string, work: () => Promise<Result>): Promise<Result>;
}

export function fairMutex(): FairMutex {
  const waiting = new OwnersInTurn<() => Promise<void>>();
  let isBusy = false;
  const goOn = async () => {
    if (isBusy) return;
    isBusy = true;
    for (let work = waiting.next(); work !== undefined; work = waiting.next()) await work();
    isBusy = false;
  };
  return {
    run(owner, work) {
      return new Promise((resolve, reject) => {
        waiting.add(owner, () => work().then(resolve, reject));
        void goOn();
      });
    },
  };
}
