// Lets two observers of the engine see the same: the metrics and the log.

import type { EngineObserver } from "./lock-engine.ts";

export function bothObservers(first: EngineObserver, second: EngineObserver): EngineObserver {
  return {
    batch(commands, locks) {
      first.batch(commands, locks);
      second.batch(commands, locks);
    },
    answered(command, outcome, lockName, seconds) {
      first.answered(command, outcome, lockName, seconds);
      second.answered(command, outcome, lockName, seconds);
    },
    event(event, lockName) {
      first.event(event, lockName);
      second.event(event, lockName);
    },
    limitRuleSet(prefix, limit, version, reason, caller) {
      first.limitRuleSet(prefix, limit, version, reason, caller);
      second.limitRuleSet(prefix, limit, version, reason, caller);
    },
    retried(cause) {
      first.retried(cause);
      second.retried(cause);
    },
    clockJumped(byUs) {
      first.clockJumped(byUs);
      second.clockJumped(byUs);
    },
    failedOver(pauseUs) {
      first.failedOver(pauseUs);
      second.failedOver(pauseUs);
    },
    loopFailed(loop, error) {
      first.loopFailed(loop, error);
      second.loopFailed(loop, error);
    },
  };
}
