// The artifacts for Maven, with sources and javadoc, made as by the release command but without signatures, into a
// folder. They are put into an empty local repository, and the first program and a program for each framework use them.

import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ProcessStage, processStage } from "../../process/stage.ts";
import { INSTALLING_MS, needed, pasted, runsFirstProgram } from "../../support/pasted.ts";

const root = join(import.meta.dirname, "../../..");
const [, version = ""] =
  /<version>(.+)<\/version>/.exec(readFileSync(join(root, "clients/java/pom.xml"), "utf8")) ?? [];
const PROJECTS = ["java", "java-frameworks"];
/** What only those who work on the clients have. */
const BUILT = /\/target(\/|$)/;
const ARTIFACTS = ["rowlock-client", "rowlock-locks", "rowlock-shedlock", "rowlock-spring-boot-starter"];
const MAVEN = "mvn -q -B -Dstyle.color=never";
const stage = processStage();

/** A local repository that has all of the usual one but Rowlock. What is downloaded goes to the usual one. */
function localRepository(stage: ProcessStage, usual: string): string {
  const folder = join(stage.folder(), "repository");
  const linked = (path: string, besides: string) => {
    mkdirSync(join(folder, path), { recursive: true });
    const from = join(usual, path);
    for (const name of existsSync(from) ? readdirSync(from) : [])
      if (name !== besides) symlinkSync(join(from, name), join(folder, path, name));
  };
  linked("", "io");
  linked("io", "rowlock");
  return folder;
}

test("each has its jars, and serves programs", { timeout: 2 * INSTALLING_MS }, async (context) => {
  await needed(stage, "mvn --version && javac --version", context);
  const usual = await pasted(
    stage,
    `${MAVEN} help:evaluate -Dexpression=settings.localRepository -DforceStdout`,
    stage.folder(),
  );
  expect(usual.code, usual.said).toBe(0);
  const builders = localRepository(stage, usual.said.trim());
  const packed = join(stage.folder(), "packed");
  const checkout = stage.folder();
  for (const project of PROJECTS) {
    const copy = { recursive: true, filter: (path: string) => !BUILT.test(path) };
    cpSync(join(root, "clients", project), join(checkout, project), copy);
    const deploy = `${MAVEN} -Dmaven.repo.local=${builders} -Dmaven.test.skip deploy -DaltDeploymentRepository=packed::file://${packed}`;
    const { code, said } = await pasted(stage, deploy, join(checkout, project));
    expect(code, said).toBe(0);
  }
  const KINDS = [".pom", ".jar", "-sources.jar", "-javadoc.jar"];
  for (const artifact of ARTIFACTS)
    expect(globSync(`io/rowlock/${artifact}/${version}/*`, { cwd: packed })).toEqual(
      expect.arrayContaining(
        KINDS.map((kind) => `io/rowlock/${artifact}/${version}/${artifact}-${version}${kind}`),
      ),
    );

  const users = localRepository(stage, usual.said.trim());
  cpSync(join(packed, "io/rowlock"), join(users, "io/rowlock"), { recursive: true });
  const maven = `${MAVEN} -Dmaven.repo.local=${users}`;
  await runsFirstProgram(stage, ["pom.xml", "src"], `${maven} compile exec:java`);

  const program = stage.folder();
  cpSync(join(root, "examples/first/pom.xml"), join(program, "pom.xml"));
  const pom = readFileSync(join(program, "pom.xml"), "utf8");
  const dependency = (artifact: string) =>
    `<dependency><groupId>io.rowlock</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  const dependencies = `<dependencies>${ARTIFACTS.map(dependency).join("")}`;
  writeFileSync(join(program, "pom.xml"), pom.replace("<dependencies>", dependencies));
  mkdirSync(join(program, "src/main/java"), { recursive: true });
  const classes = ["locks.RowlockLock", "shedlock.RowlockLockProvider", "spring.WithLock"];
  const uses = `class Uses { Object[] all = { ${classes.map((name) => `io.rowlock.${name}.class`).join(", ")} }; }\n`;
  writeFileSync(join(program, "src/main/java/Uses.java"), uses);
  const { code, said } = await pasted(stage, `${maven} compile`, program);
  expect(code, said).toBe(0);
});
