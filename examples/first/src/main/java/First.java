import io.rowlock.HeldLock;
import io.rowlock.RowlockClient;

public class First {
  public static void main(String[] args) throws InterruptedException {
    String address = System.getenv().getOrDefault("ROWLOCK_ADDR", "127.0.0.1:50051");
    try (RowlockClient rowlock = RowlockClient.connect(address);
        HeldLock lock = rowlock.lock("etl/load")) {
      System.out.println("my turn, with fencing token " + lock.token());
    }
  }
}
