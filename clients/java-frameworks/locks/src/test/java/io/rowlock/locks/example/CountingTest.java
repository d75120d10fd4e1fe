package io.rowlock.locks.example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rowlock.frameworks.Machine;
import io.rowlock.frameworks.Repository;
import io.rowlock.testing.RowlockExtension;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class CountingTest {
  @RegisterExtension static final RowlockExtension server = Repository.server();

  @Test
  void twoProcessesGetEachNumberOnce(@TempDir Path folder) throws Exception {
    String file = folder.resolve("number").toString();
    Set<String> numbers = new HashSet<>();
    try (Machine one = Machine.start(Counting.class, server.address(), file);
        Machine two = Machine.start(Counting.class, server.address(), file)) {
      numbers.addAll(one.readUntil("the end"));
      numbers.addAll(two.readUntil("the end"));
    }
    assertEquals(100, numbers.size());
  }
}
