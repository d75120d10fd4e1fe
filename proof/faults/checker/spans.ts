// Spans of time, and sets of them: sorted, and none touches the next one.

export interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

export function union(spans: readonly Span[]): Span[] {
  const all: { fromMs: number; untilMs: number }[] = [];
  for (const { fromMs, untilMs } of [...spans].sort((a, b) => a.fromMs - b.fromMs)) {
    const last = all.at(-1);
    if (last && fromMs <= last.untilMs) last.untilMs = Math.max(last.untilMs, untilMs);
    else all.push({ fromMs, untilMs });
  }
  return all;
}

/** What both sets have. */
export function common(some: readonly Span[], others: readonly Span[]): Span[] {
  return some.flatMap((one) =>
    others
      .map((other) => ({
        fromMs: Math.max(one.fromMs, other.fromMs),
        untilMs: Math.min(one.untilMs, other.untilMs),
      }))
      .filter(({ fromMs, untilMs }) => fromMs < untilMs),
  );
}

/** What the first set has and the second one has not. A span without length divides another one, too. */
export function without(some: readonly Span[], others: readonly Span[]): Span[] {
  return some.flatMap((one) => {
    const left: Span[] = [];
    let { fromMs } = one;
    for (const other of others) {
      if (other.untilMs < fromMs || other.fromMs > one.untilMs) continue;
      if (other.fromMs > fromMs) left.push({ fromMs, untilMs: other.fromMs });
      fromMs = Math.max(fromMs, other.untilMs);
    }
    if (fromMs < one.untilMs) left.push({ fromMs, untilMs: one.untilMs });
    return left;
  });
}

export function totalMs(spans: readonly Span[]): number {
  return spans.reduce((sum, { fromMs, untilMs }) => sum + untilMs - fromMs, 0);
}
