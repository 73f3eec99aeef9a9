import { readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** Names the built program that tests start as a process; without it they start the source. */
export const PROGRAM_VARIABLE = "TEST_PROGRAM";

/** A module finds the files beside it by where it is. In a build it would be somewhere else. */
const OWN_FOLDER = "import.meta.dir";
const OWN_URL = "import.meta.url";
const SOURCE = /\/(src|projections)\/.+\.tsx?$/;
const THREAD = /new URL\("\.\/(\w+\.ts)", import\.meta\.url\)/g;

/** The modules that threads begin with, which no module imports. */
async function threadModules(root: string): Promise<readonly string[]> {
  const files = [...new Bun.Glob("src/**/*.ts").scanSync({ cwd: root })].sort();
  const found = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(root, file), "utf8");
      return [...text.matchAll(THREAD)].map(([, name = ""]) => join(root, dirname(file), name));
    }),
  );
  return [...new Set(found.flat())];
}

/** A plugin by which modules find what is beside them; in `withUrl` threads, too, that they start. */
function keepsItsPlace({ withUrl }: { readonly withUrl: boolean }): Bun.BunPlugin {
  return {
    name: "keeps its place",
    setup(build) {
      build.onLoad({ filter: SOURCE }, async ({ path, loader }) => {
        const text = (await readFile(path, "utf8")).replaceAll(OWN_FOLDER, JSON.stringify(dirname(path)));
        const url = JSON.stringify(pathToFileURL(path).href);
        return { contents: withUrl ? text.replaceAll(OWN_URL, url) : text, loader };
      });
    },
  };
}

/**
 * Builds the program of `root` into one executable file in `directory`, with its byte code, and answers its path. A start
 * takes less than half the processor time of one from the source, and tests make some six hundred. It reads the
 * dashboard's files where they are, so it is for this machine only. Throws an AggregateError when it cannot be built.
 */
export async function buildProgram(root: string, directory: string): Promise<string> {
  const program = join(directory, "postledger");
  await Bun.build({
    entrypoints: [join(root, "src/main.ts"), ...(await threadModules(root))],
    target: "bun",
    format: "esm",
    bytecode: true,
    // What is imported only when it is needed (the client of EventStoreDB, say) is loaded only then.
    splitting: true,
    sourcemap: "linked",
    // All of them in one folder, where each finds the threads by the same relative path as in the source.
    naming: { entry: "[name].[ext]" },
    compile: { outfile: program },
    plugins: [keepsItsPlace({ withUrl: false })],
  });
  return program;
}

/**
 * Builds the threads of the program of `root` into files in `directory`, and answers the path of their list, for
 * {@link THREADS_VARIABLE}. A thread from it takes half the processor time to load, and the services that tests start in
 * their own processes have one each. Throws an AggregateError when one cannot be built.
 */
export async function buildThreads(root: string, directory: string): Promise<string> {
  const modules = await threadModules(root);
  await Bun.build({
    entrypoints: [...modules],
    target: "bun",
    format: "esm",
    // Only cjs has its byte code beside it, which gains nothing here, and it cannot be split.
    splitting: true,
    sourcemap: "linked",
    naming: { entry: "[name].[ext]" },
    outdir: directory,
    plugins: [keepsItsPlace({ withUrl: true })],
  });
  const built = (module: string) => join(directory, `${basename(module, ".ts")}.js`);
  const list = join(directory, "threads.json");
  const entries = modules.map((module) => [pathToFileURL(module).href, built(module)]);
  await writeFile(list, JSON.stringify(Object.fromEntries(entries)));
  return list;
}
