import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The Java programs of the benchmarks. Arguments: workload, size, and a second number for some
 * workloads. Output: total nanoseconds (W7: nanoseconds of each sample), or "-".
 *
 * <p>Work runs in a fixed pool of threads, one a processor, whose queue is first in, first out.
 * Each node of a graph is a CompletableFuture that runs after those of its dependencies.
 */
public final class Peer {
    private static final int PROCESSORS = Runtime.getRuntime().availableProcessors();
    private static final ExecutorService POOL = Executors.newFixedThreadPool(PROCESSORS);

    private static void check(byte[] marks) {
        for (byte mark : marks) {
            if (mark != 1) {
                System.err.println("a piece of work did not run exactly once");
                System.exit(1);
            }
        }
    }

    private static int[][] chain(int count) {
        int[][] graph = new int[count][];
        for (int i = 0; i < count; i++) graph[i] = i == 0 ? new int[0] : new int[] {i - 1};
        return graph;
    }

    private static int[][] fan(int width) {
        int[][] graph = new int[width + 2][];
        graph[0] = new int[0];
        graph[width + 1] = new int[width];
        for (int i = 1; i <= width; i++) {
            graph[i] = new int[] {0};
            graph[width + 1][i - 1] = i;
        }
        return graph;
    }

    private static int[][] layered(int wanted) {
        int width = Math.min(1000, Math.max(1, wanted / 10));
        int[][] graph = new int[wanted / width * width][];
        long state = 42;
        for (int i = 0; i < graph.length; i++) {
            graph[i] = new int[i < width ? 0 : 4];
            for (int k = 0; k < graph[i].length; k++) {
                state = state * 6364136223846793005L + 1442695040888963407L;
                graph[i][k] =
                        (i / width - 1) * width + (int) Long.remainderUnsigned(state >>> 33, width);
            }
        }
        return graph;
    }

    private static int[][] wavefront(int wanted) {
        int side = (int) Math.sqrt(wanted);
        int[][] graph = new int[side * side][];
        for (int i = 0; i < graph.length; i++) {
            List<Integer> dependencies = new ArrayList<>();
            if (i >= side) dependencies.add(i - side);
            if (i % side > 0) dependencies.add(i - 1);
            graph[i] = dependencies.stream().mapToInt(Integer::intValue).toArray();
        }
        return graph;
    }

    private static long run(int[][] graph) {
        byte[] marks = new byte[graph.length];
        long start = System.nanoTime();
        CompletableFuture<?>[] nodes = new CompletableFuture<?>[graph.length];
        // Nothing runs before the whole graph is made, as with the other peers.
        CompletableFuture<Void> root = new CompletableFuture<>();
        for (int i = 0; i < graph.length; i++) {
            int node = i;
            int[] dependencies = graph[i];
            CompletableFuture<?> before;
            if (dependencies.length == 0) {
                before = root;
            } else if (dependencies.length == 1) {
                before = nodes[dependencies[0]];
            } else {
                CompletableFuture<?>[] all = new CompletableFuture<?>[dependencies.length];
                for (int k = 0; k < all.length; k++) all[k] = nodes[dependencies[k]];
                before = CompletableFuture.allOf(all);
            }
            nodes[i] = before.thenRunAsync(() -> marks[node]++, POOL);
        }
        root.complete(null);
        CompletableFuture.allOf(nodes).join();
        long duration = System.nanoTime() - start;
        check(marks);
        return duration;
    }

    private static long produced(int count, int producers, Runnable body) {
        int share = count / producers;
        byte[] marks = new byte[share * producers];
        CountDownLatch left = new CountDownLatch(marks.length);
        CountDownLatch go = new CountDownLatch(1);
        Runnable produceAlone = null;
        for (int p = 0; p < producers; p++) {
            int first = p * share;
            Runnable produce = () -> {
                for (int i = first; i < first + share; i++) {
                    int item = i;
                    POOL.execute(() -> {
                        body.run();
                        marks[item]++;
                        left.countDown();
                    });
                }
            };
            if (producers == 1) {
                produceAlone = produce;
            } else {
                new Thread(() -> {
                    await(go);
                    produce.run();
                }).start();
            }
        }
        long start = System.nanoTime();
        go.countDown();
        if (produceAlone != null) produceAlone.run();
        await(left);
        long duration = System.nanoTime() - start;
        check(marks);
        return duration;
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException exception) {
            throw new IllegalStateException(exception);
        }
    }

    private static void sleep(long milliseconds) {
        try {
            TimeUnit.MILLISECONDS.sleep(milliseconds);
        } catch (InterruptedException exception) {
            throw new IllegalStateException(exception);
        }
    }

    private static void latencies(int count) {
        StringBuilder times = new StringBuilder();
        Semaphore done = new Semaphore(0);
        for (int i = 0; i < count; i++) {
            sleep(5);
            long[] began = new long[1];
            long start = System.nanoTime();
            POOL.execute(() -> {
                began[0] = System.nanoTime();
                done.release();
            });
            done.acquireUninterruptibly();
            times.append(began[0] - start).append(' ');
        }
        System.out.println(times);
    }

    /** The first runs make the threads and compile the code; the last one is measured. */
    private static void last(LongSupplier measure) {
        for (int i = 0; i < 5; i++) measure.getAsLong();
        System.gc();
        System.out.println(measure.getAsLong());
    }

    public static void main(String[] arguments) {
        if (arguments.length < 2) System.exit(2);
        int size = Integer.parseInt(arguments[1]);
        int extra = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 1;
        switch (arguments[0]) {
            case "W1" -> last(() -> produced(size, 1, () -> { }));
            case "W2" -> lastRun(chain(size));
            case "W3" -> lastRun(fan(size));
            case "W4-layered" -> lastRun(layered(size));
            case "W4-wavefront" -> lastRun(wavefront(size));
            case "W7" -> latencies(size);
            case "W8" -> System.out.println(produced(size, 1, () -> sleep(extra)));
            case "W10" -> last(() -> produced(size, extra, () -> { }));
            default -> System.out.println("-");
        }
        POOL.shutdown();
    }

    private static void lastRun(int[][] graph) {
        last(() -> run(graph));
    }
}
