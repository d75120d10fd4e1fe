// Which members of a replication group may be written, by what one of them says of all.

import { describe, expect, test } from "vitest";
import { type Member, whyNotToWrite } from "../../../../server/storage/mysql/connection/standing.ts";

/** The first one is the member that is asked. */
const membersOf = (...all: string[]): Member[] =>
  all.map((each, index) => {
    const [state = "", role = ""] = each.split(" ");
    return { id: `member-${index}`, state, role };
  });
const why = (...all: string[]) => whyNotToWrite(membersOf(...all), "member-0");

describe("a member of a replication group", () => {
  test.each([
    [["ONLINE PRIMARY", "ONLINE SECONDARY", "ONLINE SECONDARY"]],
    [["ONLINE PRIMARY", "ONLINE PRIMARY", "ONLINE PRIMARY"]],
    [["ONLINE PRIMARY", "RECOVERING SECONDARY", "UNREACHABLE SECONDARY"]],
    [["ONLINE PRIMARY"]],
  ])("may be written: %s", (members) => {
    expect(why(...members)).toBeNull();
  });

  test.each([
    [["OFFLINE"], "OFFLINE"],
    [[], "OFFLINE"],
    [["ERROR", "ONLINE PRIMARY", "ONLINE SECONDARY"], "ERROR"],
    [["RECOVERING SECONDARY", "ONLINE PRIMARY", "ONLINE SECONDARY"], "RECOVERING"],
    [["ONLINE SECONDARY", "ONLINE PRIMARY", "ONLINE SECONDARY"], "not the primary"],
    [["ONLINE PRIMARY", "UNREACHABLE SECONDARY", "UNREACHABLE SECONDARY"], "1 of 3 members"],
    [["ONLINE PRIMARY", "UNREACHABLE SECONDARY"], "1 of 2 members"],
  ])("may not: %s", (members, said) => {
    expect(why(...members)).toContain(said);
  });
});
