// Proves that the import rules in biome.jsonc hold: it plants one violation of each in a scratch copy of the
// house and fails unless Biome refuses exactly those lines. The imports each folder is entitled to stand beside
// them, so that a rule that refuses everything does not pass for one that works.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** What one file may and may not say; each entry is one line of it. */
interface Planted {
  readonly file: string;
  readonly allowed: readonly string[];
  readonly refused: readonly string[];
}

const from = (module: string) => `import "${module}";`;
const imports = (...modules: string[]) => modules.map(from);

/** Packages that belong to one folder each, and the process, which belongs to server/main.ts. */
const drivers = ["mysql2", "mysql2/promise", "knex", "node:sqlite"];
const grpcPackages = ["@grpc/grpc-js", "@grpc/reflection", "grpc-health-check"];
const theProcess = ["process.exitCode = 1;", "globalThis.process.exitCode = 1;", ...imports("node:process")];

const planted: readonly Planted[] = [
  {
    file: "server/core/planted.ts",
    allowed: imports("./fits.ts"),
    refused: [
      ...imports("node:crypto", "zod", "pino", "../app.ts", "../engine/lanes.ts", "../storage/store.ts"),
      ...imports("./../storage/store.ts", "prom-client", "#proto/rowlock/v1/lock_pb.js", "../core/../app.ts"),
      ...imports(...drivers, ...grpcPackages),
      ...theProcess,
      "export const now = Date.now();",
      "setTimeout(() => {}, 1);",
      "export const id = crypto.randomUUID();",
      'export type Store = import("../storage/store.ts").Store;',
      'export const late = import("../storage/store.ts");',
      'export type { Store as Seam } from "../storage/store.ts";',
    ],
  },
  {
    file: "server/engine/planted.ts",
    allowed: imports("./lanes.ts", "../core/decide.ts", "../storage/store.ts", "../wakeup/wakeup.ts"),
    refused: [
      ...imports(
        "../storage/mysql.ts",
        "../storage/sqlite.ts",
        "../grpc/lock-service.ts",
        "../metrics/metrics.ts",
      ),
      ...imports("../cli/serve.ts", "../app.ts", "../config/config.ts", "../core/../app.ts", "./../app.ts"),
      ...imports(...drivers, ...grpcPackages, "prom-client", "#proto/rowlock/v1/lock_pb.js", "zod"),
      ...theProcess,
    ],
  },
  {
    file: "server/storage/planted.ts",
    allowed: imports("./store.ts", "../core/claim.ts", ...drivers),
    refused: [
      ...imports(
        "../engine/lanes.ts",
        "../wakeup/wakeup.ts",
        "../grpc/lock-service.ts",
        "../metrics/metrics.ts",
      ),
      ...imports("../app.ts", "../config/config.ts", "../cli/serve.ts", "prom-client", ...grpcPackages),
      ...theProcess,
    ],
  },
  {
    file: "server/wakeup/planted.ts",
    allowed: imports("./wakeup.ts", "../core/claim.ts", "../storage/store.ts"),
    refused: [
      ...imports("../storage/mysql.ts", "../engine/lanes.ts", "../grpc/lock-service.ts", "../app.ts"),
      ...imports(...drivers, ...grpcPackages, "prom-client"),
      ...theProcess,
    ],
  },
  {
    file: "server/metrics/planted.ts",
    allowed: imports("./http.ts", "../core/claim.ts", "prom-client"),
    refused: [
      ...imports("../engine/lanes.ts", "../storage/store.ts", "../grpc/lock-service.ts", "../app.ts"),
      ...imports(...drivers, ...grpcPackages),
      ...theProcess,
    ],
  },
  {
    file: "server/grpc/planted.ts",
    allowed: imports(
      "./status.ts",
      "../core/claim.ts",
      "../engine/lanes.ts",
      "#proto/rowlock/v1/lock_pb.js",
      "@bufbuild/protobuf",
      ...grpcPackages,
    ),
    refused: [
      ...imports(
        "../storage/store.ts",
        "../wakeup/wakeup.ts",
        "../metrics/metrics.ts",
        "../app.ts",
        "../cli/serve.ts",
      ),
      ...imports(...drivers, "prom-client"),
      ...theProcess,
    ],
  },
  {
    file: "server/cli/planted.ts",
    allowed: imports(
      "./serve.ts",
      "../app.ts",
      "../config/config.ts",
      "../storage/store.ts",
      "../core/claim.ts",
      "commander",
    ),
    refused: [
      ...imports("../grpc/lock-service.ts", "../engine/lanes.ts", "../main.ts"),
      ...imports(...drivers, ...grpcPackages, "prom-client"),
      ...theProcess,
    ],
  },
  {
    file: "server/config/planted.ts",
    allowed: imports("./settings.ts", "../core/bounds.ts", "zod", "node:fs"),
    refused: [
      ...imports("../app.ts", "../engine/lanes.ts", "../grpc/lock-service.ts", "../storage/store.ts"),
      ...imports("../log/log.ts", "../cli/serve.ts", "../metrics/metrics.ts", "./../app.ts", "pino"),
      ...imports(...drivers, ...grpcPackages, "prom-client"),
      ...theProcess,
    ],
  },
  {
    file: "server/log/planted.ts",
    allowed: imports("./log.ts", "../core/claim.ts", "pino"),
    refused: [
      ...imports("../app.ts", "../engine/lanes.ts", "../grpc/lock-service.ts", "../storage/store.ts"),
      ...imports("../config/config.ts", "../cli/serve.ts", "../metrics/metrics.ts", "./../app.ts", "zod"),
      ...imports(...drivers, ...grpcPackages, "prom-client"),
      ...theProcess,
    ],
  },
  {
    file: "server/planted.ts",
    allowed: [],
    refused: [
      ...imports("./app.ts", "./core/claim.ts", "./engine/lanes.ts", "node:fs", "zod"),
      ...imports(...drivers, ...grpcPackages, "prom-client"),
      ...theProcess,
    ],
  },
  {
    file: "server/app.ts",
    allowed: imports(
      "./config/config.ts",
      "./engine/lanes.ts",
      "./grpc/server.ts",
      "./metrics/metrics.ts",
      "./storage/mysql.ts",
    ),
    refused: [...imports(...drivers, ...grpcPackages, "prom-client"), ...theProcess],
  },
  {
    file: "server/main.ts",
    allowed: [
      "process.exitCode = 0;",
      ...imports("node:process", "./app.ts", "./cli/serve.ts", "./config/config.ts"),
    ],
    refused: imports(...drivers, ...grpcPackages, "prom-client"),
  },
];

/** Rules whose refusal counts; the rest of Biome's opinion of these lines is beside the point. */
const rules = new Set(["lint/style/noRestrictedImports", "lint/style/noRestrictedGlobals", "plugin"]);

interface Report {
  readonly diagnostics: readonly {
    readonly category: string;
    readonly location: { readonly path: string; readonly start: { readonly line: number } };
  }[];
}

/** The lines Biome refuses under the rules above, as `file:line`. */
function refusedBy(scratch: string): Set<string> {
  const require = createRequire(import.meta.url);
  const biome = require.resolve("@biomejs/biome/bin/biome");
  const args = [biome, "lint", "--reporter=json", "--max-diagnostics=none", "server"];
  let output: string;
  try {
    output = execFileSync(process.execPath, args, {
      cwd: scratch,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  } catch (error) {
    // Biome exits 1 when it has found something, which is what is wanted here; anything else says so below.
    output = (error as { stdout?: string }).stdout ?? "";
    if (!output.startsWith("{")) throw error;
  }
  const report = JSON.parse(output) as Report;
  return new Set(
    report.diagnostics
      .filter((found) => rules.has(found.category))
      .map((found) => `${found.location.path.replaceAll("\\", "/")}:${found.location.start.line}`),
  );
}

const house = join(import.meta.dirname, "..");
const scratch = mkdtempSync(join(tmpdir(), "rowlock-import-rules-"));
const wrong: string[] = [];
let refusedCount = 0;
try {
  for (const name of ["biome.jsonc", ".gitignore", "scripts/lint"]) {
    cpSync(join(house, name), join(scratch, name), { recursive: true });
  }
  for (const { file, allowed, refused } of planted) {
    mkdirSync(dirname(join(scratch, file)), { recursive: true });
    writeFileSync(join(scratch, file), `${[...allowed, ...refused].join("\n")}\n`);
  }
  const found = refusedBy(scratch);
  for (const { file, allowed, refused } of planted) {
    for (const [index, code] of readFileSync(join(scratch, file), "utf8").trimEnd().split("\n").entries()) {
      const isRefused = found.has(`${file}:${index + 1}`);
      const mustBeRefused = index >= allowed.length;
      if (isRefused !== mustBeRefused) {
        wrong.push(`${file}: ${mustBeRefused ? "slips through" : "is refused but allowed"}: ${code}`);
      }
    }
    refusedCount += refused.length;
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

if (wrong.length > 0) {
  console.error(`The import rules in biome.jsonc do not hold:\n  ${wrong.join("\n  ")}`);
  process.exitCode = 1;
} else {
  console.log(`import rules: ${refusedCount} planted violations, each of them refused`);
}
