// The command line accepts each line of the documents that begins with `rowlock`: its flags exist, and its arguments
// are in order. Each line runs until it looks for a server that does not exist.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ranInProcess } from "../cli/in-process.ts";

const root = join(import.meta.dirname, "../..");
/** Other commands run databases and servers. */
const COMMANDS =
  /^rowlock (run|ls|show|watch|why|history|top|limit|spend|pause|resume|acquire|renew|release|capture|update|delete|completion) /;
const SERVERS = JSON.stringify({ production: { addresses: "127.0.0.1:9" } });

/**
 * Finds lines in code blocks, in inline code and tables, and in shell substitutions; drops what follows the command.
 */
function linesOf(document: string): string[] {
  const text = readFileSync(join(root, document), "utf8");
  const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)^```/gm)]
    // Other tests run whole programs.
    .filter(([, block = ""]) => !block.startsWith("#!"))
    .flatMap(([, block = ""]) => block.split("\n"));
  const inline = [...text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/`([^`]+)`/g)].map(
    ([, code = ""]) => code,
  );
  return (
    [...blocks, ...inline]
      .map((line) => /(?:^|^\$ |\$\(|npx |\* {1,3})(rowlock .*)$/.exec(line.replaceAll("\n", " "))?.[1] ?? "")
      .map((line) => line.replace(/ # .*| +\|.*| \|\| .*|\)" \|\|.*| > .*/, "").trim())
      // Skip lines with placeholders in capitals.
      .filter((line) => COMMANDS.test(line) && !/\b[A-Z]{4,}\b(?!_)/.test(line.replace(/\$\w+/g, "")))
  );
}

const documents = globSync("{README.md,{docs,examples,clients}/**/*.md}", { cwd: root }).filter(
  // The lines about security need certificates: `test/process/security-tour.slow.test.ts` pastes them.
  (path) => !path.includes("node_modules") && path !== "docs/security.md",
);
const lines = documents.flatMap((document) => linesOf(document).map((line) => [document, line] as const));

test("the lines are found", () => {
  expect(lines.length).toBeGreaterThan(30);
  expect(new Set(lines.map(([, line]) => line.split(" ")[1])).size).toBe(18);
});

test.each(lines)("%s: %s", async (_, line) => {
  const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? "",
  );
  const [, command = "", ...rest] = words;
  const flags = command === "completion" ? [] : ["--give-up-after", "1ms"];
  const env = rest.includes("--addr") || rest.includes("--server") ? {} : { ROWLOCK_ADDR: "127.0.0.1:9" };
  const args = [command, ...flags, ...rest].map((word) => word.replace(/\blocks-\d:\d+/g, "127.0.0.1:9"));
  const { code, err } = await ranInProcess(args, env, () => SERVERS);
  expect([code, err]).toEqual(
    command === "completion" ? [0, ""] : [69, expect.stringContaining("No Rowlock server")],
  );
});
