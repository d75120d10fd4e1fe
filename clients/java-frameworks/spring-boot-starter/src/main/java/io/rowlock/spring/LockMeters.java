// Meters of methods with a @WithLock. Their tag `lock` is the name as the annotation has it, so that its values are few.

package io.rowlock.spring;

import io.micrometer.core.instrument.LongTaskTimer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;

final class LockMeters implements LockObserver {
  private final MeterRegistry registry;

  LockMeters(MeterRegistry registry) {
    this.registry = registry;
  }

  @Override
  public Call asked(String template) {
    return new MeteredCall(template);
  }

  private final class MeteredCall implements Call {
    private final String lock;
    private final Timer.Sample wait = Timer.start(registry);
    private final LongTaskTimer.Sample waiting;
    private Timer.Sample hold;
    private LongTaskTimer.Sample holding;

    MeteredCall(String lock) {
      this.lock = lock;
      waiting = active("rowlock.lock.waiting", "Calls that wait for their lock");
    }

    @Override
    public void granted() {
      waited("granted");
      hold = Timer.start(registry);
      holding = active("rowlock.lock.holding", "Calls that run with their lock");
    }

    @Override
    public void skipped() {
      waited("skipped");
    }

    @Override
    public void refused() {
      waited("refused");
    }

    @Override
    public void ended(boolean isLost) {
      holding.stop();
      hold.stop(timer("rowlock.lock.held", "How long locks were held", isLost ? "lost" : "released"));
    }

    private void waited(String outcome) {
      waiting.stop();
      wait.stop(timer("rowlock.lock.wait", "How long calls waited for their lock", outcome));
    }

    private LongTaskTimer.Sample active(String name, String description) {
      return LongTaskTimer.builder(name)
          .description(description)
          .tag("lock", lock)
          .register(registry)
          .start();
    }

    private Timer timer(String name, String description, String outcome) {
      return Timer.builder(name)
          .description(description)
          .tag("lock", lock)
          .tag("outcome", outcome)
          .register(registry);
    }
  }
}
