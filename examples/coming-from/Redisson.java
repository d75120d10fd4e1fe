import io.rowlock.RowlockClient;

public class Redisson {
  public static void main(String[] args) throws InterruptedException {
    String address = System.getenv().getOrDefault("ROWLOCK_ADDR", "127.0.0.1:50051");
    try (RowlockClient rowlock = RowlockClient.connect(address)) {
      rowlock.withLock("etl/load", lock -> load(lock.token()));
    }
  }

  static void load(long token) {
    System.out.println("loads, with token " + token);
  }
}
