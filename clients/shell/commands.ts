// The commands of the shell: what the help says of each, and the file that declares it.

import type { Declare } from "./command.ts";

export interface Entry {
  readonly about: string;
  /** Called only if the command is named, so that each command loads only its own file. */
  readonly load: () => Promise<Declare>;
}

export const SHELL_COMMANDS: Readonly<Record<string, Entry>> = {
  run: {
    about: "run a command while holding a lock",
    load: async () => (await import("./run.ts")).run,
  },
  capture: {
    about: "take locks that are free and due, and run a command under one",
    load: async () => (await import("./capture.ts")).capture,
  },
  ls: { about: "list locks", load: async () => (await import("./show.ts")).ls },
  show: {
    about: "show one lock: its limit, its holders, its waiters, its record",
    load: async () => (await import("./show.ts")).show,
  },
  watch: {
    about: "watch a lock, or all locks with a prefix, as they change",
    load: async () => (await import("./watch.ts")).watch,
  },
  limit: { about: "show a limit, or set it", load: async () => (await import("./limit.ts")).limit },
  update: {
    about: "change a lock's record: its status, its attempts, when it is due",
    load: async () => (await import("./records.ts")).update,
  },
  delete: {
    about: "delete a lock's record",
    load: async () => (await import("./records.ts")).deleteRecord,
  },
  acquire: {
    about: "take a lock in a script, and keep it after this command",
    load: async () => (await import("./leases.ts")).acquire,
  },
  renew: { about: "extend a lease", load: async () => (await import("./leases.ts")).renew },
  release: {
    about: "release a lease, or end the leases of others by force",
    load: async () => (await import("./leases.ts")).release,
  },
  completion: {
    about: "print a script that completes commands, flags and names of locks in bash, zsh or fish",
    load: async () => (await import("./completion.ts")).completion,
  },
};
