// All pages of a listing, one after the other. Each is fetched when it is needed.

package io.rowlock;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

final class Pages<T> implements Iterator<T> {
  /** One page. {@code next} is empty at the end. */
  record Page<T>(List<T> items, String next) {}

  private final Function<String, Page<T>> fetch;
  private Iterator<T> items = List.<T>of().iterator();

  /** Null at the end. */
  private String next = "";

  private Pages(Function<String, Page<T>> fetch) {
    this.fetch = fetch;
  }

  /** @param fetch fetches a page by its token; that of the first page is empty. */
  static <T> Stream<T> stream(Function<String, Page<T>> fetch) {
    Spliterator<T> all =
        Spliterators.spliteratorUnknownSize(
            new Pages<>(fetch), Spliterator.ORDERED | Spliterator.NONNULL);
    return StreamSupport.stream(all, false);
  }

  @Override
  public boolean hasNext() {
    while (!items.hasNext() && next != null) {
      Page<T> page = fetch.apply(next);
      items = page.items().iterator();
      next = page.next().isEmpty() ? null : page.next();
    }
    return items.hasNext();
  }

  @Override
  public T next() {
    if (!hasNext()) throw new NoSuchElementException();
    return items.next();
  }
}
