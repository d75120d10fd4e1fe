// ARCHITECTURE.md lists the rooms of server/, the shell and the page, and what each may import. Every file follows that table, and no files
// import each other in a circle. What is not in the table is refused. Nothing imports the tools of bench/ and proof/.

import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { parseAst } from "vitest/node";

const root = join(import.meta.dirname, "..");
const SHELL = "clients/shell";
const PAGE = "clients/page/src";
/** What measures, and what drives servers through faults: each may import those before it. */
const TOOLS = ["bench", "proof"];
/** Rooms that are not below server/. */
const APART = [SHELL, PAGE];
/** Whoever may import node has to name these. */
const RESERVED = ["node/process", "node/sqlite"];
const PROCESS = ["process", "globalThis"];
/** What would let time, chance and I/O into the core. */
const IMPURE = ["Date", "Promise", "console", "crypto", "fetch", "performance", "queueMicrotask"].concat([
  "setImmediate",
  "setInterval",
  "setTimeout",
]);

/** Rooms in the order of the table, each with what it may import; a folder below a room has the room's name. */
const rooms = new Map<string, readonly string[]>();
for (const [, room = "", cell = ""] of readFileSync(join(root, "ARCHITECTURE.md"), "utf8").matchAll(
  /^\| `([\w./-]+)` \| [^|]+ \| ?([^|]*)\|$/gm,
)) {
  const named = [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => withoutSlash(name as string));
  rooms.set(withoutSlash(room), cell.startsWith("as ") ? (rooms.get(named[0] as string) ?? []) : named);
}

function withoutSlash(path: string): string {
  return path.replace(/\/$/, "").replace(":", "/");
}

/** Sources by their paths below server/, and those of the shell and the page from clients/ on. */
const sources = new Map(
  ["server", ...APART].flatMap((folder) =>
    globSync("**/*.{ts,tsx}", { cwd: join(root, folder) }).map((file): [string, string] => {
      const path = file.replaceAll("\\", "/");
      const isApart = APART.includes(folder);
      return [isApart ? `${folder}/${path}` : path, readFileSync(join(root, folder, file), "utf8")];
    }),
  ),
);

/** The room of a file: the folder that it is in, or the file itself. */
function roomOf(file: string): string {
  const folder = dirname(file);
  return folder === "." ? file : folder;
}

/** The room apart from server/ in which a path lies; undefined: it lies in server/. */
function apart(path: string): string | undefined {
  return APART.find((folder) => path === folder || path.startsWith(`${folder}/`));
}

/** The part of ESTree that matters here. */
interface Node {
  readonly type: string;
  readonly name?: string;
  readonly computed?: boolean;
  readonly source?: { readonly value?: string } | null;
}

/** All nodes but names of properties. */
function* nodes(value: unknown): Generator<Node> {
  if (typeof value !== "object" || value === null) return;
  const node = value as Node;
  if (typeof node.type === "string") yield node;
  for (const [key, child] of Object.entries(node)) {
    if (node.computed === false && (key === "property" || key === "key")) continue;
    yield* nodes(child);
  }
}

const parsed = new Map<string, readonly Node[]>();

/** The nodes of a source; parsed once, as two tests look at them. */
function nodesOf(source: string): readonly Node[] {
  const found = parsed.get(source) ?? [
    ...nodes(parseAst(source, { lang: source.includes("</") || source.includes("/>") ? "tsx" : "ts" })),
  ];
  parsed.set(source, found);
  return found;
}

/** What a file imports: files by their paths, packages by their names. null: it computes what it imports. */
function importsOf(file: string, source: string): (string | null)[] {
  const folder = posix.join(apart(file) ? "" : "server", file, "..");
  const modules = nodesOf(source).flatMap((node) => (node.source ? [node.source.value ?? null] : []));
  return modules.map((module) => {
    // One folder up from server/ are the migrations and the clients alone.
    if (module?.startsWith(".")) return posix.join(folder, module).replace(/^server\//, "");
    // A package must not pass for the room that it shares its name with.
    return module !== null && rooms.has(module.split("/", 1)[0] as string) ? `package ${module}` : module;
  });
}

/** What is wrong with a file. */
function breaches(file: string, source: string): string[] {
  const room = roomOf(file);
  const may = rooms.get(room);
  if (!may) return [`${room} is not in the table`];
  const globals = [...(room === "main.ts" ? [] : PROCESS), ...(room === "core" ? IMPURE : [])];
  const used = nodesOf(source).filter(
    ({ type, name = "" }) => type === "Identifier" && globals.includes(name),
  );
  const imported = importsOf(file, source).filter((module) => module === null || !isAllowed(module));
  return [
    ...used.map(({ name }) => `${file} uses ${name}`),
    ...imported.map((module) => `${file} imports ${module ?? "what it computes"}`),
  ];

  function isAllowed(module: string): boolean {
    const path = module.replace(":", "/");
    if (RESERVED.includes(path)) return may?.includes(path) ?? false;
    const own = apart(room) ?? (room.split("/", 1)[0] as string);
    return [own, ...(may ?? [])].some((ours) => path === ours || path.startsWith(`${ours}/`));
  }
}

/** Circles of imports, of types too, each as a path that ends where it began. Finds one at least if there are any. */
function circles(files: ReadonlyMap<string, string>): string[] {
  const imports = new Map([...files].map(([file, source]) => [file, importsOf(file, source)]));
  const done = new Set<string>();
  const found: string[] = [];
  for (const file of imports.keys()) visit(file, []);
  return found;

  function visit(file: string, path: readonly string[]): void {
    const began = path.indexOf(file);
    if (began >= 0) found.push([...path.slice(began), file].join(" -> "));
    else if (!done.has(file))
      for (const next of imports.get(file) ?? [])
        if (next !== null && imports.has(next)) visit(next, [...path, file]);
    done.add(file);
  }
}

describe("the table", () => {
  test("has every folder of server/ and every file beside them, and nothing else", () => {
    expect([...rooms.keys()].sort()).toEqual([...new Set([...sources.keys()].map(roomOf))].sort());
  });

  test("has one direction: a room imports only rooms above it, so that there are no circles among them", () => {
    const names = [...rooms.keys()];
    for (const [room, may] of rooms) {
      const above = names.slice(0, names.indexOf(room));
      const others = names.filter((name) => may.some((path) => path === name || path.startsWith(`${name}/`)));
      expect(above, room).toEqual(expect.arrayContaining(others));
    }
  });
});

test("every file of server/, of the shell and of the page follows the table", () => {
  expect([...sources.keys()]).toEqual(expect.arrayContaining(["storage/store.ts", `${SHELL}/context.ts`]));
  expect([...sources].flatMap(([file, source]) => breaches(file, source))).toEqual([]);
});

test("the folders of engine/ are floors: each imports only those above it in the table", () => {
  const floors = [...rooms.keys()].filter((room) => room.startsWith("engine/"));
  const upwards = [...sources].flatMap(([file, source]) => {
    const own = floors.indexOf(roomOf(file));
    const imported = importsOf(file, source).filter((module) => module !== null);
    return imported
      .filter((module) => own >= 0 && floors.indexOf(roomOf(module)) > own)
      .map((to) => [file, to]);
  });
  expect(upwards).toEqual([]);
});

test("no files import each other in a circle", () => {
  expect(circles(sources)).toEqual([]);
});

/** Which tool of bench/ or proof/ a file imports although it may not, or which test. */
function toolBreaches(file: string, source: string): string[] {
  const own = TOOLS.indexOf(file.split("/", 1)[0] as string);
  // Most files name none, and need not be parsed.
  if (!/\b(bench|proof)\/|\.test\.ts"/.test(source)) return [];
  const modules = nodesOf(source).flatMap((node) => (node.source?.value ? [node.source.value] : []));
  const imported = modules.flatMap((path) => (path.startsWith(".") ? [posix.join(file, "..", path)] : []));
  const refused = imported.filter((path) => {
    const tool = TOOLS.indexOf(path.split("/", 1)[0] as string);
    return tool > own || (own >= 0 && path.endsWith(".test.ts"));
  });
  return refused.map((path) => `${file} imports ${path}`);
}

test("nothing imports the tools of bench/ and proof/, but proof/ those of bench/", () => {
  const exclude = ["**/node_modules/**", "**/dist/**", "**/target/**", "**/.venv/**"];
  const files = globSync("{bench,clients,examples,migrations,proof,scripts,server,test}/**/*.{ts,tsx}", {
    cwd: root,
    exclude,
  }).map((file) => file.replaceAll("\\", "/"));
  expect(files).toEqual(
    expect.arrayContaining(["bench/load.ts", "proof/faults/run.ts", "test/core/simulation.ts"]),
  );
  expect(files.flatMap((file) => toolBreaches(file, readFileSync(join(root, file), "utf8")))).toEqual([]);
});

test.each([
  ["test/core/planted.ts", 'import "../../bench/load.ts";'],
  ["server/core/planted.ts", 'export * from "../../proof/faults/play.ts";'],
  ["scripts/planted.ts", 'await import("../proof/faults/play.ts");'],
  ["bench/planted.ts", 'import { play } from "../proof/faults/play.ts";'],
  ["bench/planted.ts", 'import "../test/words.test.ts";'],
])("in %s, %s is refused, as it imports a tool or a test", (file, source) => {
  expect(toolBreaches(file, source)).toHaveLength(1);
});

test("a circle is found, also one of types alone", () => {
  const files = new Map([
    ["core/a.ts", 'import "./b.ts";'],
    ["core/b.ts", 'import "./c.ts"; export * from "../config/d.ts";'],
    ["core/c.ts", ""],
    ["config/d.ts", 'type A = import("../core/a.ts").A;'],
  ]);
  expect(circles(files)).toEqual(["core/a.ts -> core/b.ts -> config/d.ts -> core/a.ts"]);
  files.set("config/d.ts", "");
  expect(circles(files)).toEqual([]);
});

test.each([
  ["core/planted.ts", 'import "node:crypto";'],
  ["core/planted.ts", 'import "../core/../app.ts";'],
  ["core/planted.ts", 'export type { Store } from "../storage/store.ts";'],
  ["core/planted.ts", 'type Store = import("../storage/store.ts").Store;'],
  ["core/planted.ts", "const at = Date.now();"],
  ["engine/planted.ts", 'export * from "../storage/mysql.ts";'],
  ["engine/planted.ts", "await import(name);"],
  ["engine/planted.ts", 'await import("mysql2/promise");'],
  ["engine/planted.ts", 'import "./../app.ts";'],
  ["storage/rows/planted.ts", 'import "../../engine/lanes.ts";'],
  ["grpc/planted.ts", 'import "node:sqlite";'],
  ["grpc/planted.ts", 'import { env } from "node:process";'],
  ["grpc/planted.ts", "const { env } = process;"],
  ["grpc/planted.ts", "globalThis.process.exit();"],
  ["grpc/planted.ts", 'import "config/x.js";'],
  ["metrics/planted.ts", 'import "#proto/rowlock/v1/lock_pb.js";'],
  ["clients/shell/planted.ts", 'import "../typescript/src/rowlock.ts";'],
  ["clients/shell/planted.ts", 'import "../../server/config/settings.ts";'],
  ["clients/page/src/planted.ts", 'import "../../../server/core/decide.ts";'],
  ["clients/page/src/planted.tsx", 'import "node:util"; export const a = <b></b>;'],
  ["cli/planted.ts", 'import "../../clients/typescript/src/index.ts";'],
  ["app.ts", 'import "./main.ts";'],
  ["main.ts", 'import "prom-client";'],
  ["planted.ts", ""],
  ["planted/planted.ts", ""],
])("in %s, %s is refused", (file, source) => {
  expect(breaches(file, source)).toHaveLength(1);
});

test.each([
  ["core/planted.ts", 'import "./limit.ts"; const spent = { Date: 1 }.Date;'],
  [
    "storage/mysql/planted.ts",
    'import "../store.ts"; import "../../core/claim.ts"; import "mysql2/promise";',
  ],
  [
    "storage/sqlite/planted.ts",
    'import "../../../migrations/index.ts"; import "node:sqlite"; import "node:fs";',
  ],
  ["grpc/planted.ts", 'import "@grpc/grpc-js"; import type {} from "#proto/rowlock/v1/lock_pb.js";'],
  ["clients/shell/planted.ts", 'import "../typescript/src/index.ts"; import "commander";'],
  ["cli/planted.ts", 'import "../../clients/shell/context.ts"; import "../app.ts";'],
  ["main.ts", 'import "node:process"; process.exitCode = 0; await import("./cli/serve.ts");'],
])("in %s, %s is allowed", (file, source) => {
  expect(breaches(file, source)).toEqual([]);
});
