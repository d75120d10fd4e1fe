import io.rowlock.ConnectOptions;
import io.rowlock.HeldLock;
import io.rowlock.RowlockClient;
import io.rowlock.RowlockException;
import io.rowlock.TlsOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;

/** Takes a lock, and holds it until it is lost or somebody writes to standard input. See players.ts. */
public class Hold {
  static void say(String... words) {
    StringBuilder line = new StringBuilder();
    for (String word : words) {
      String escaped = word.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n").replace("\t", "\\t");
      line.append(line.isEmpty() ? "[" : ",").append('"').append(escaped).append('"');
    }
    System.out.println(line.append(']'));
  }

  public static void main(String[] args) throws Exception {
    String ca = System.getenv("CA");
    Duration giveUpAfter = Duration.ofSeconds(Long.parseLong(System.getenv("GIVE_UP_SECONDS")));
    ConnectOptions.Builder options =
        ConnectOptions.to(System.getenv("ROWLOCK_ADDR")).giveUpAfter(giveUpAfter);
    if (ca.equals("system")) options.tls(TlsOptions.ofSystem());
    else if (!ca.isEmpty()) options.tls(TlsOptions.builder().ca(Path.of(ca)).build());
    CountDownLatch end = new CountDownLatch(1);
    Thread reader =
        new Thread(
            () -> {
              try {
                if (System.in.read() >= 0) end.countDown();
              } catch (java.io.IOException e) {
                throw new java.io.UncheckedIOException(e);
              }
            });
    reader.setDaemon(true);
    reader.start();
    RowlockClient rowlock = RowlockClient.connect(options.build());
    say("begins");
    try {
      try (HeldLock lock =
          rowlock.lock(
              System.getenv("LOCK"),
              with -> with.ttl(Duration.ofSeconds(5)).onPosition(place -> say("waiting")))) {
        lock.onLost(
            () -> {
              say("signalled");
              end.countDown();
            });
        say("held");
        end.await();
      }
      say("left");
    } catch (RowlockException e) {
      say("failed", "RowlockException, reason " + e.reasonName(), String.valueOf(e.getMessage()));
    }
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }
}
