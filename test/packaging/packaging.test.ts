import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import manifest from "../../package.json";
import { ENGINE_SETTINGS } from "../../src/service/restartWithEngineSettings.ts";
import { COMMAND_LINE, sourceCommandLine } from "../support/process/program.ts";
import { runProcess } from "../support/process/runProcess.ts";
import { startOnTerminal } from "../support/process/terminal.ts";
import { ROOT } from "../support/root.ts";
import { type ProcessOptions, startTestApp, startTestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";

const START_MS = 120_000;

describe("`bun start` in a fresh clone", () => {
  let clone: string;
  beforeAll(async () => {
    clone = await mkdtemp(join(tmpdir(), "postledger-clone-"));
    for (const name of ["package.json", "bun.lock", "bunfig.toml", "tsconfig.json", "src", "projections"])
      await cp(join(ROOT, name), join(clone, name), { recursive: true });
  });
  afterAll(() => rm(clone, { recursive: true }));

  test(
    "installs what it runs on, nothing of what it is made with, and serves",
    async () => {
      const env = { HOST: "127.0.0.1", PORT: "0" };
      const terminal = startOnTerminal([process.execPath, "start"], { cwd: clone, env });
      await until(() => terminal.screen().includes("listens on"), "the greeting", START_MS);
      terminal.type("\u0003");
      expect(await terminal.exited).toBe(0);
      const installed = new Set(await readdir(join(clone, "node_modules")));
      for (const name of Object.keys(manifest.dependencies))
        expect(installed).toContain(name.replace(/\/.*/, ""));
      const tools = Object.keys(manifest.devDependencies).filter((name) => !name.startsWith("@"));
      for (const name of tools) expect(installed).not.toContain(name);
    },
    START_MS,
  );
});

describe("`bun start` without its dependencies", () => {
  let clone: string;
  beforeAll(async () => {
    clone = await mkdtemp(join(tmpdir(), "postledger-clone-"));
    for (const name of ["package.json", "bun.lock", "bunfig.toml", "src"])
      await cp(join(ROOT, name), join(clone, name), { recursive: true });
  });
  afterAll(() => rm(clone, { recursive: true }));

  const failure = async () => {
    const env = {
      ...(process.env as Record<string, string>),
      BUN_CONFIG_REGISTRY: "http://127.0.0.1:9/",
      BUN_INSTALL_CACHE_DIR: join(clone, "empty-cache"),
    };
    const { exitCode, err } = await runProcess([process.execPath, "start"], { cwd: clone, env });
    expect(exitCode).toBe(1);
    return err;
  };
  const change = async (name: string, before: string, after: string) => {
    const text = await readFile(join(clone, name), "utf8");
    expect(text).toContain(before);
    await writeFile(join(clone, name), text.replace(before, after));
  };

  test(
    "says why they cannot be installed, and which Bun is needed",
    async () => {
      const unreachable = await failure();
      expect(unreachable).toMatch(/^error: ConnectionRefused/);
      expect(unreachable).toContain("postledger: the dependencies could not be installed: see above");
      expect(unreachable).toContain(`This is Bun ${Bun.version}, the one that is needed`);
      // As for a Bun that is older than the lock file.
      await change("bun.lock", '"lockfileVersion": 2', '"lockfileVersion": 99');
      await change("package.json", manifest.packageManager, "bun@99.0.0");
      const outdated = await failure();
      expect(outdated).toContain("lockfile version 99");
      expect(outdated).toContain(`This is Bun ${Bun.version}, but Bun 99.0.0 is needed`);
    },
    START_MS,
  );

  test("is what every script that installs says", () => {
    for (const script of Object.values(manifest.scripts))
      expect(script).toMatch(
        /^bun install (.+) --silent \|\| bun src\/cli\/service\/installFailed\.ts \1 && (exec )?bun /,
      );
    expect(manifest.engines.bun).toBe(manifest.packageManager.replace("bun@", ">="));
  });
});

interface ComposeService {
  readonly image?: string;
  /** The directory of the Dockerfile, from that of the file. */
  readonly build?: string;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly read_only?: boolean;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
}

/** The environment or the arguments that a process was started with, or replaced itself with. */
async function startOf(pid: number, what: "environ" | "cmdline"): Promise<readonly string[]> {
  return (await readFile(`/proc/${pid}/${what}`, "utf8")).split("\0");
}

describe("a service sets up Bun's engine", () => {
  const names = [...Object.keys(ENGINE_SETTINGS), "BUN_OPTIONS"];
  const unset = Object.fromEntries(names.map((name) => [name, undefined]));
  let args: readonly string[] = [];
  /** The settings of a service that is started like this, once it listens; `args` are its arguments. */
  const settingsOf = async (env: Record<string, string>, options: Partial<ProcessOptions> = {}) => {
    const service = await startTestProcess({
      program: sourceCommandLine(ROOT),
      ...options,
      env: { ...unset, ...env } as Record<string, string>,
    });
    const environment = await startOf(service.pid, "environ");
    args = await startOf(service.pid, "cmdline");
    expect(await service.kill("SIGTERM")).toBe(0);
    return environment.filter((line) => names.includes(line.slice(0, line.indexOf("="))));
  };
  const withSettings = (more: Record<string, string> = {}) =>
    expect.arrayContaining(Object.entries({ ...ENGINE_SETTINGS, ...more }).map((entry) => entry.join("=")));

  test(
    "however it is started, but for what its caller has set",
    async () => {
      const chosen = { BUN_JSC_forceRAMSize: "402653184" };
      expect(await settingsOf({})).toEqual(withSettings());
      expect(await settingsOf(chosen)).toEqual(withSettings(chosen));
      expect(await settingsOf({}, { program: COMMAND_LINE })).toEqual(withSettings());
    },
    START_MS,
  );

  test(
    "and keeps the options of Bun",
    async () => {
      const [bun = "", main = ""] = sourceCommandLine(ROOT);
      const program = [bun, "--smol", `--cwd=${relative("/", ROOT)}`, main];
      expect(await settingsOf({}, { program })).toEqual(withSettings());
      expect(args.slice(1)).toEqual(["--smol", main, "serve", ""]);
      const settings = await settingsOf({ BUN_OPTIONS: "--smol" });
      expect(settings).toEqual(withSettings());
      expect(settings.filter((line) => line.startsWith("BUN_OPTIONS="))).toEqual([]);
      expect(args.slice(1)).toEqual(["--smol", main, "serve", ""]);
      // A compiled program reads them by itself.
      expect(await settingsOf({ BUN_OPTIONS: "--smol" }, { program: COMMAND_LINE })).toEqual(withSettings());
    },
    START_MS,
  );

  test(
    "but not if that would close a file which it is to read",
    async () => {
      const directory = await mkdtemp(join(tmpdir(), "postledger-test-"));
      const file = join(directory, "url");
      await writeFile(file, "smtp://127.0.0.1:1");
      const wrapper = ["bash", "-c", 'exec "$@" 3<"$0"', file];
      expect(await settingsOf({ SMTP_URL_FILE: "/dev/fd/3" }, { wrapper })).toEqual([]);
      await rm(directory, { recursive: true });
    },
    START_MS,
  );
});

describe("the containers", () => {
  const files = ["docker-compose.yml", "examples/docker-compose.sqlite.yml"];
  const servicesIn = async (file: string) => {
    const text = await readFile(join(ROOT, file), "utf8");
    return Object.entries((Bun.YAML.parse(text) as { services: Record<string, ComposeService> }).services);
  };
  const services = async () => (await Promise.all(files.map(servicesIn))).flat();

  test("have no capabilities and gain no rights", async () => {
    for (const [name, { cap_drop: dropped, security_opt: options }] of await services())
      expect({ name, dropped, options }).toEqual({
        name,
        dropped: ["ALL"],
        options: ["no-new-privileges:true"],
      });
  });

  test("come from images with a tag that is exact", async () => {
    const images = (await services()).flatMap(([, { image }]) => (image === undefined ? [] : [image]));
    const [, base = ""] = /^FROM (\S+)$/m.exec(await readFile(join(ROOT, "Dockerfile"), "utf8")) ?? [];
    expect(images.length).toBeGreaterThan(1);
    for (const image of [...images, base])
      expect(image).toMatch(/:v?\d+\.\d+\.\d+(-[a-z]+)?(@sha256:[0-9a-f]{64})?$/);
  });

  test("are reached from this machine alone", async () => {
    for (const [, { ports = [] }] of await services())
      for (const port of ports) expect(port).toStartWith("127.0.0.1:");
  });

  const healthy = "are healthy while the service at path %p runs, even if it is not ready";
  test.each(["", "/mail", "/mail/"])(
    healthy,
    async (path) => {
      const dockerfile = await readFile(join(ROOT, "Dockerfile"), "utf8");
      const [, command = "[]"] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(dockerfile) ?? [];
      const [program, ...args]: string[] = JSON.parse(command);
      expect(program).toBe("bun");
      const BASE_URL = `http://127.0.0.1${path}`;
      const service = await startTestApp({ env: { BASE_URL, DISK_FREE_BYTES_MIN: String(2 ** 50) } });
      const env = { ...process.env, PORT: service.app.url.port, BASE_URL };
      const check = () => Bun.spawn([process.execPath, ...args], { env, stderr: "ignore" }).exited;
      await until(async () => (await check()) === 0, "the container to be healthy", START_MS);
      expect((await service.call("GET", "/health/ready")).status).toBe(503);
      await service.remove();
      expect(await check()).toBe(1);
    },
    START_MS,
  );

  test("hold the service read-only, of the runtime that it is tested with, without tools and secrets", async () => {
    for (const file of files) {
      const service = Object.fromEntries(await servicesIn(file)).postledger;
      expect(service).toMatchObject({ read_only: true, restart: "unless-stopped" });
      expect(join(ROOT, dirname(file), service?.build ?? "")).toBe(join(ROOT, "."));
      expect(service?.volumes).toEqual(["postledger-data:/data"]);
    }
    const dockerfile = await readFile(join(ROOT, "Dockerfile"), "utf8");
    expect(dockerfile).toContain(`FROM oven/bun:${manifest.packageManager.replace("bun@", "")}-slim`);
    expect(dockerfile).toContain("bun install --frozen-lockfile --production");
    expect(dockerfile).toContain("USER bun");
    const ignored = (await readFile(join(ROOT, ".dockerignore"), "utf8")).split("\n");
    expect(ignored).toContain("*");
    const copied = [...dockerfile.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, names = ""]) =>
      names.split(" "),
    );
    expect(copied.map((name) => `!${name}`).sort()).toEqual(
      ignored.filter((line) => line.startsWith("!")).sort(),
    );
  });
});
