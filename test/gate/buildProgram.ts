import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Names the built program that tests start as a process; without it they start the source. */
export const PROGRAM_VARIABLE = "TEST_PROGRAM";

/** A module finds the files beside it by where it is. In a build it would be somewhere else. */
const OWN_FOLDER = "import.meta.dir";
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

const keepsItsFolder: Bun.BunPlugin = {
  name: "keeps its folder",
  setup(build) {
    build.onLoad({ filter: SOURCE }, async ({ path, loader }) => {
      const text = await readFile(path, "utf8");
      return { contents: text.replaceAll(OWN_FOLDER, JSON.stringify(dirname(path))), loader };
    });
  },
};

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
    sourcemap: "linked",
    // All of them in one folder, where each finds the threads by the same relative path as in the source.
    naming: { entry: "[name].[ext]" },
    compile: { outfile: program },
    plugins: [keepsItsFolder],
  });
  return program;
}
