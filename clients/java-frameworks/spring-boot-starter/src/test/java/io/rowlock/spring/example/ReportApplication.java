// A job that each machine starts every second, and that runs at most once an hour on all of them together.

package io.rowlock.spring.example;

import io.rowlock.spring.CurrentLock;
import io.rowlock.spring.WhenBusy;
import io.rowlock.spring.WithLock;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

@SpringBootApplication
@EnableScheduling
class ReportApplication {
  public static void main(String[] arguments) {
    SpringApplication.run(ReportApplication.class, arguments);
  }

  private int ticks;

  @Scheduled(fixedRateString = "${report.tick:1s}")
  void tick() {
    System.out.println("tick " + ++ticks);
  }

  @Scheduled(fixedRateString = "${report.tick:1s}")
  @WithLock(value = "report", minInterval = "${report.interval:1h}", whenBusy = WhenBusy.SKIP)
  void report() {
    System.out.println("the report, with fencing token " + CurrentLock.get().token());
  }
}
