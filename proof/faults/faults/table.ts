import type { Acts } from "../house/database.ts";
import type { House } from "../house/house.ts";
import { CLUSTER_FAULTS } from "./clusters.ts";
import type { Fault, MachinePart } from "./fault.ts";
import { LINE_FAULTS } from "./lines.ts";
import { MACHINE_FAULTS } from "./machines.ts";
import { olderCopy } from "./older-copy.ts";
import { PAPER_FAULTS } from "./papers.ts";
import { PROCESS_FAULTS } from "./processes.ts";
import { ROW_FAULTS } from "./rows.ts";

const ALL: readonly Fault[] = [
  ...PROCESS_FAULTS,
  ...LINE_FAULTS,
  ...ROW_FAULTS,
  ...MACHINE_FAULTS,
  ...PAPER_FAULTS,
  ...CLUSTER_FAULTS,
  olderCopy,
];
const MACHINE_PARTS: readonly MachinePart[] = ["disk", "clock", "flushes"];

/** Those with the text in their names. */
export function faultsNamed(text: string): readonly Fault[] {
  return ALL.filter(({ name, losesCommits }) => name.includes(text) && (text !== "" || !losesCommits));
}

/** Those of them that can strike this house. */
export function faultsIn(
  { database: { daemons, acts }, machine, serverClocks, clientClocks }: House,
  text: string,
): readonly Fault[] {
  const there: readonly Fault["needs"][] = [
    "nothing",
    ...(daemons.length > 0 ? (["database server"] as const) : []),
    ...(daemons.length > 1 ? (["several database servers"] as const) : []),
    ...MACHINE_PARTS.filter((part) => machine?.[part]),
    ...(serverClocks.length > 0 ? (["server clocks"] as const) : []),
    ...(clientClocks.length > 0 ? (["client clocks"] as const) : []),
    ...(Object.keys(acts) as (keyof Acts)[]),
  ];
  return faultsNamed(text).filter(({ needs }) => there.includes(needs));
}
