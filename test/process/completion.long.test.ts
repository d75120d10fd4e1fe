// Completion as a user meets it on pressing the key: in bash, and in zsh and fish if they are installed.

import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { HAS_PTY, Pty } from "./pty.ts";
import { processStage, type ServingServer } from "./stage.ts";

const stage = processStage("after all");
const house = join(import.meta.dirname, "../..");
const folder = stage.folder();

let server: ServingServer;
let env: Record<string, string>;
beforeAll(async () => {
  server = await stage.serving(await stage.database(freshSqlite));
  for (const name of ["etl/load", "etl/transform", "odd:name"]) await server.client.lease({ name });
  const program = join(folder, "rowlock");
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${house}/server/main.ts' "$@"\n`);
  chmodSync(program, 0o755);
  env = {
    PATH: `${folder}${delimiter}${process.env.PATH}`,
    HOME: folder,
    // A dumb terminal, so that the test need not wait while the shell redraws its line.
    TERM: "dumb",
    ROWLOCK_ADDR: server.grpcAddress,
  };
  for (const shell of ["bash", "zsh", "fish"])
    writeFileSync(join(folder, shell), execFileSync(program, ["completion", shell], { env }));
});

const isThere = (shell: string) =>
  (process.env.PATH ?? "").split(delimiter).some((path) => existsSync(join(path, shell)));

/** The line, and the words that can complete it. */
const CASES: readonly [line: string, words: readonly string[]][] = [
  ["rowlock wa", ["watch"]],
  ["rowlock show et", ["etl/load", "etl/transform"]],
  ["rowlock show --addr SERVER etl/l", ["etl/load"]],
  ["rowlock watch --give-up-after 1s etl/t", ["etl/transform"]],
  ["rowlock release --force etl/l", ["etl/load"]],
  ["rowlock release etl/l", []],
  ["rowlock run --no", ["--no-wait"]],
  ["rowlock run etl/load --exc", ["--exclusive"]],
  ["rowlock cap", ["capture"]],
  ["rowlock capture etl/ --status-d", ["--status-done"]],
  ["rowlock update etl/l", ["etl/load"]],
  ["rowlock update etl/load --att", ["--attempts"]],
  ["rowlock ls --order l", ["longest-wait"]],
  ["rowlock ls etl/load et", []],
  ["rowlock migrate st", ["status"]],
  ["rowlock help lim", ["limit"]],
  ["rowlock completion f", ["fish"]],
  ["rowlock show --addr 127.0.0.1:9 et", []],
];

describe("bash", () => {
  const offered = (line: string): string[] => {
    // Does what bash itself does before it calls the function.
    const script = `source ${folder}/bash; COMP_LINE=$1 COMP_POINT=\${#1}; _rowlock; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const out = execFileSync("bash", ["--norc", "-c", script, "bash", line], { env, encoding: "utf8" });
    return out.split("\n").filter((word) => word !== "");
  };

  test.each(CASES)("%s", (line, words) => {
    const pressed = () => offered(line.replace("SERVER", server.grpcAddress)).sort();
    let offers = pressed();
    // On a busy machine the server may not answer within the second that the key allows; then no name is offered.
    // Press it again.
    for (let again = 0; offers.length === 0 && words.length > 0 && again < 9; again++) offers = pressed();
    expect(offers).toEqual(words);
  });

  test("completes files and commands where these belong", () => {
    expect(offered("rowlock run etl/load -- ech")).toContain("echo");
    expect(offered("rowlock run etl/load ech")).toContain("echo");
    expect(offered("rowlock capture etl/ -- ech")).toContain("echo");
    expect(offered(`rowlock ls --ca ${folder}/fi`)).toEqual([`${folder}/fish`]);
    for (const dashes of ["-- ", ""])
      expect(offered(`rowlock run etl/load ${dashes}cat ${folder}/fi`)).toEqual([`${folder}/fish`]);
  });

  test.skipIf(!HAS_PTY)("works with the key, at a prompt", async () => {
    const pty = new Pty("exec bash --norc -i", env);
    stage.afterwards(() => pty.destroy());
    pty.press(`source ${folder}/bash; echo rea''dy\r`);
    await pty.shows(/ready\r/);
    pty.press("rowlock wat\t");
    await pty.shows(/rowlock watch /);
    // Completion starts anew after the colon.
    pty.press("odd:n\t");
    await pty.shows(/rowlock watch odd:name /);
  });
});

describe.skipIf(!isThere("fish"))("fish", () => {
  const offered = (line: string): string[] => {
    const script = `source ${folder}/fish; complete -C '${line}'`;
    const out = execFileSync("fish", ["--no-config", "-c", script], { env, encoding: "utf8" });
    const words = out.split("\n").filter((word) => word !== "");
    return words.map((word) => word.split("\t")[0] as string);
  };

  test.each(CASES)("%s", (line, words) => {
    expect(offered(line.replace("SERVER", server.grpcAddress)).sort()).toEqual(words);
  });

  test.each(["-- ", ""])("completes the command under the lock after %j", (dashes) => {
    expect(offered(`rowlock run etl/load ${dashes}ech`)).toContain("echo");
    expect(offered(`rowlock run etl/load ${dashes}cat ${folder}/fi`)).toEqual([`${folder}/fish`]);
  });
});

describe.skipIf(!isThere("zsh") || !HAS_PTY)("zsh", () => {
  test("works with the key, at a prompt", async () => {
    const pty = new Pty("exec zsh -f -i", env);
    stage.afterwards(() => pty.destroy());
    pty.press(`autoload -U compinit; compinit -u -D; source ${folder}/zsh; echo rea''dy\r`);
    await pty.shows(/ready\r/);
    for (const [typed, whole] of [
      ["rowlock wa", "rowlock watch "],
      ["rowlock show --addr SERVER etl/l", "etl/load "],
      ["rowlock show odd", "odd:name "],
      ["rowlock release --force etl/t", "etl/transform "],
      ["rowlock run etl/load --exc", "--exclusive "],
      ["rowlock run etl/load -- cat README.m", "README.md "],
      ["rowlock run etl/load cat README.m", "README.md "],
      ["rowlock ls --order lon", "longest-wait "],
      ["rowlock migrate st", "status "],
    ] as const) {
      const from = pty.screen.length;
      pty.press(`${typed.replace("SERVER", server.grpcAddress)}\t`);
      // The shell echoes typed text letter by letter, and then the rest of the word.
      const rest = whole.slice(typed.split(" ").at(-1)?.length);
      await pty.shows(new RegExp(`${rest.trim()} `), from);
      pty.press("\x15");
    }
  });
});
