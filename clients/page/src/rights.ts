// What the caller may do, as the server says it, so that no button is there that would fail.

import { useEffect, useState } from "preact/hooks";
import { getRights, type Rights } from "./api.ts";
import { connection } from "./connection.ts";
import { useStore } from "./store.ts";

const NO_RIGHTS: Rights = { forceRelease: false, setLimit: false, updateRecord: false };
/** For a table, so many are asked for; for those after them there are no buttons. */
const ASKED_MAX = 50;

type Of = { readonly name: string } | { readonly pattern: string };

/** At a lock; nothing until the server has said it. */
export function useRights(name: string): Rights {
  return useRightsOf([{ name }])[0] ?? NO_RIGHTS;
}

/** Whether the caller may set each of these limits. */
export function useMayLimit(of: readonly Of[]): boolean[] {
  return useRightsOf(of).map(({ setLimit }) => setLimit);
}

function useRightsOf(of: readonly Of[]): readonly Rights[] {
  const { about, back } = useStore(connection);
  const [rights, setRights] = useState<readonly Rights[]>([]);
  const mayAct = about?.mayAct ?? false;
  const key = JSON.stringify(of.slice(0, ASKED_MAX));
  // Somebody else may have signed in.
  useEffect(() => {
    let isOver = false;
    setRights([]);
    if (mayAct)
      Promise.all((JSON.parse(key) as Of[]).map((each) => getRights({ ...each }))).then(
        (found) => isOver || setRights(found),
        // Without an answer there are no buttons; the view itself says what is wrong.
        () => {},
      );
    return () => {
      isOver = true;
    };
  }, [key, mayAct, back, about?.principal]);
  return rights;
}
