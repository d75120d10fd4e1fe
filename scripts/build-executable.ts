// Makes one file that runs without Node and without node_modules: `build/rowlock`, this machine's Node with the whole
// program in it. The commands that run servers, and the one for agents, are a part of their own, which the others do not load. What
// the program elsewhere reads from files beside it is put into the program here.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, join } from "node:path";
import protobuf from "protobufjs";
import { build, type Plugin } from "rolldown";
import { versionOf } from "../server/config/version.ts";
import { pageFiles } from "../server/page/assets.ts";

const root = join(import.meta.dirname, "..");
const folder = join(root, "build");
const parts = join(folder, "parts");
const program = join(folder, "rowlock");

const SERVER_PART = "rowlock:server-part";
/**
 * Loads the part of the servers' commands, which shares with this part what compares classes. It gets all five words that
 * Node gives to a CommonJS module, and only Node's own modules: packages beside the program are none of its business.
 */
const LOAD_SERVER_PART = `
  import * as commander from "commander";
  import { getAsset } from "node:sea";
  import { compileFunction } from "node:vm";
  let part;
  export async function serverPart(name) {
    if (!part) {
      const module = { exports: {} };
      const words = ["exports", "require", "module", "__filename", "__dirname"];
      const run = compileFunction(getAsset("server", "utf8"), words, { filename: "/server.cjs" });
      const required = (id) => {
        const found = id === "commander" ? commander : process.getBuiltinModule(id);
        if (found === undefined)
          throw Object.assign(new Error(id + " is not in this program"), { code: "MODULE_NOT_FOUND" });
        return found;
      };
      run(module.exports, required, module, "/server.cjs", "/");
      part = module.exports;
    }
    return part[name];
  }`;

/** What is replaced in modules; without a match the build fails. */
const REPLACED: readonly (readonly [module: RegExp, code: RegExp, instead: () => string])[] = [
  [
    /grpc-health-check\/build\/src\/health\.js$/,
    /loadSync\)\('health\/v1\/health\.proto'/,
    () => `fromJSON)(${described("grpc-health-check/proto/health/v1/health.proto", true)}`,
  ],
  ...["v1", "v1alpha"].map((version) => {
    const file = `@grpc/reflection/build/proto/grpc/reflection/${version}/reflection.proto`;
    return [
      new RegExp(`@grpc/reflection/.*/reflection-${version}\\.js$`),
      /path\.join\(__dirname, '[^']*\.proto'\);(\s+const pkgDefinition = protoLoader\.)loadSync/,
      () => `${described(file, false)};$1fromJSON`,
    ] as const;
  }),
  [
    /server\/config\/version\.ts$/,
    /^[\s\S]*$/,
    () => `export const versionOf = () => ${JSON.stringify(versionOf(join(root, "server")))};`,
  ],
  [
    /server\/page\/assets\.ts$/,
    /export function pageFiles[\s\S]*$/,
    () => `
      const files = ${JSON.stringify([...pageFiles()].map(([name, content]) => [name, content.toString("base64")]))};
      export const pageFiles = () => new Map(files.map(([name, text]) => [name, Buffer.from(text, "base64")]));`,
  ],
  [/server\/cli\/program\.ts$/, /import\("\.\/(\w+)\.ts"\)/g, () => 'serverPart("$1")'],
  [
    /server\/cli\/program\.ts$/,
    /import\("\.\.\/\.\.\/clients\/shell\/(mcp)\.ts"\)/,
    () => 'serverPart("$1")',
  ],
  [/server\/cli\/program\.ts$/, /^/, () => `import { serverPart } from "${SERVER_PART}";\n`],
];

/** As a module, this package asks a loader for what it needs; as CommonJS, it names that so that it comes along. */
const ALIASES = {
  "@opentelemetry/otlp-grpc-exporter-base": join(
    root,
    "node_modules/@opentelemetry/otlp-grpc-exporter-base/dist/index.cjs",
  ),
};

/** A file of a package, as the package itself reads it. */
function described(file: string, keepCase: boolean): string {
  const read = new protobuf.Root().loadSync(join(root, "node_modules", file), { keepCase });
  return JSON.stringify(read.toJSON());
}

const missing = new Set(REPLACED);
const replaced: Plugin = {
  name: "replaced",
  resolveId: (id) => (id === SERVER_PART ? id : null),
  load: (id) => (id === SERVER_PART ? LOAD_SERVER_PART : null),
  transform(code, id) {
    return REPLACED.filter(([module]) => module.test(id)).reduce((text, each) => {
      const [, pattern, instead] = each;
      if (text.search(pattern) >= 0) missing.delete(each);
      return text.replace(pattern, instead());
    }, code);
  },
};

/** Bundles a part into a file of the folder of parts. */
async function bundle(input: string, file: string, format: "esm" | "cjs", external: readonly string[]) {
  await build({
    input,
    cwd: root,
    platform: "node",
    external: [...external],
    plugins: [replaced],
    resolve: { alias: ALIASES },
    output: {
      file: join(parts, file),
      format,
      codeSplitting: false,
      // The part of the servers runs without a loader for `import()`; the other one must not need one, as it is cached.
      dynamicImportInCjs: false,
      minify: { mangle: false },
    },
    logLevel: "warn",
  });
  expectWhole(file, external);
}

/** Drivers of databases that Rowlock does not use. */
const UNUSED =
  "better-sqlite3 mariadb/callback mysql oracledb pg pg-native pg-query-stream sqlite3 tedious".split(" ");
/** What packages do without, or only name in messages. */
const OPTIONAL = ["bluebird", "cardinal", "mysql2/promise", "supports-color", /^ajv(-formats)?\/dist\//];

/** Throws if a part would look for a package or a loader when it runs: neither is there, and no start has to show it. */
function expectWhole(file: string, external: readonly string[]): void {
  const code = readFileSync(join(parts, file), "utf8");
  const wanted = code.matchAll(
    /\b(?:__)?require(?:\.resolve)?\(["'`]([^"'`$]+)["'`]\)|(?<![\w.$])(import)\(/g,
  );
  const absent = [...wanted]
    .map(([, name, loader]) => name ?? `${loader}()`)
    .filter((name) => !isBuiltin(name) && !external.includes(name))
    .filter(
      (name) => !OPTIONAL.some((known) => (known instanceof RegExp ? known.test(name) : known === name)),
    );
  if (absent.length > 0) throw new Error(`${file} would look for ${[...new Set(absent)].join(", ")}`);
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(parts, { recursive: true });
const servers = join(parts, "servers.ts");
const commands = ["server/cli/serve", "server/cli/database", "server/cli/access", "clients/shell/mcp"];
writeFileSync(
  servers,
  commands
    .map((path) => `export * as ${basename(path)} from ${JSON.stringify(join(root, `${path}.ts`))};\n`)
    .join(""),
);
await bundle(servers, "server.cjs", "cjs", ["commander", ...UNUSED]);
// grpc-js loads the loader only for a service that no client uses.
const start = join(parts, "start.ts");
const first = ["bin/inherited.mjs", "server/main.ts"];
writeFileSync(start, first.map((file) => `import ${JSON.stringify(join(root, file))};\n`).join(""));
await bundle(start, "main.mjs", "esm", ["@grpc/proto-loader"]);
if (missing.size > 0) throw new Error(`not found: ${[...missing].map(([, code]) => code).join(", ")}`);

const config = join(parts, "sea.json");
const sea = {
  main: join(parts, "main.mjs"),
  mainFormat: "module",
  output: program,
  assets: { server: join(parts, "server.cjs") },
  // A command starts sooner if nothing is compiled again.
  useCodeCache: true,
  disableExperimentalSEAWarning: true,
  // As in bin/rowlock.mjs: until JavaScript handles SIGUSR1, it can open Node's debugger nowhere.
  execArgv: ["--inspect-port=192.0.2.1:9229"],
};
writeFileSync(config, JSON.stringify(sea));
execFileSync(process.execPath, ["--build-sea", config], { stdio: ["ignore", "ignore", "inherit"] });
chmodSync(program, 0o755);
