// The recipe of an approval that happens once: several clicks at once, one whose machine dies, and clicks after that.

import { expect, test } from "vitest";
import { until } from "../../support/until.ts";
import { whoDid } from "./journal.ts";
import { inEachLanguage } from "./languages.ts";
import { type Run, recipeStage, type Settings } from "./stage.ts";

const FOR_LONG = { WORK_SECONDS: 600, TTL_SECONDS: 2 };

inEachLanguage((language) => {
  const stage = recipeStage("approve-once", language);
  const status = async (transaction: string) =>
    (await stage.lock(`approve/${transaction}`)).record?.status ?? "";

  /** What happened to the transaction, in order: "pays", then "paid". */
  const done = (transaction: string) => whoDid(transaction, stage.journal());

  /**
   * The message to the user: TypeScript and Python print it; in the shell, `rowlock` prints a refusal to standard
   * error.
   */
  async function told(run: Run, line = ""): Promise<string> {
    expect(await run.ended, run.complaints).toBe(0);
    return language.name === "the shell" ? run.complaints : line;
  }

  async function click(transaction: string, settings: Settings = { WORK_SECONDS: 0 }): Promise<string> {
    const before = stage.journal().length;
    const run = stage.start("approve", [transaction], settings);
    await run.ended;
    return await told(run, stage.journal().slice(before).join("\n"));
  }

  test("one of many simultaneous clicks approves, and the others report that they came second", async () => {
    const clicks = [1, 2, 3, 4, 5].map(() => stage.start("approve", ["100"], { WORK_SECONDS: 0.5 }));
    for (const run of clicks) expect(await run.ended, run.complaints).toBe(0);
    const lines = stage.journal();
    expect(done("100")).toEqual(["pays", "paid"]);
    expect(lines.filter((line) => line === "approved")).toHaveLength(1);
    expect(lines.filter((line) => /^(in progress|already approved|refused)$/.test(line))).toHaveLength(4);
    expect(await status("100")).toBe("approved");
    // No matter how much later.
    expect(await click("100")).toMatch(/approved/);
    expect(done("100")).toEqual(["pays", "paid"]);
  });

  test("the second click is refused at once while the first one is under way", async () => {
    const first = stage.start("approve", ["101"], FOR_LONG);
    await stage.told(/^pays 101/);
    expect(await click("101")).toMatch(/in progress|busy/);
    expect(done("101")).toEqual(["pays"]);
    // A different transaction uses a different lock.
    await click("102");
    expect(await status("102")).toBe("approved");
    await stage.dies(first, "the first one dies");
  });

  test("if its machine dies, no second payment is made before a person has checked", async () => {
    const first = stage.start("approve", ["103"], FOR_LONG);
    await stage.told(/^pays 103/);
    await stage.dies(first, "the first one dies");
    await until(async () => (await status("103")) === "unclear");
    expect(await click("103")).toMatch(/unclear/);
    expect(done("103")).toEqual(["pays"]);
    // The operator has learned from the bank that nothing was paid.
    await stage.server.client.call("updateRecord", { name: "approve/103", status: "" });
    await click("103");
    expect(done("103")).toEqual(["pays", "pays", "paid"]);
    expect(await status("103")).toBe("approved");
  });

  if (language.ending === "sh")
    test("a payment that fails is unclear, because it may have been killed after it had paid", async () => {
      await stage.ran("approve", ["104"], { WORK_SECONDS: "nonsense" });
      expect(stage.journal()).toEqual(["pays 104, with token 1", "unclear"]);
      expect(await click("104")).toMatch(/unclear/);
      expect(done("104")).toEqual(["pays"]);
    });
});
