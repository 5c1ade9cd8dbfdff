package io.hearth.transport;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * Times round trips between two JVMs; {@code benchmarks/transport.py} starts both.
 *
 * <p>{@code serve TRANSPORT IDLING} answers each request with its own bytes, until its input ends.
 * {@code ask TRANSPORT IDLING PORT MILLISECONDS SIZE:CALLS...} prints one line of JSON for each size, twice:
 * {@code chained}, where the next request leaves on the thread that brought the answer, and {@code waiting}, where
 * another thread waits for each answer. It ends after the calls or the time; the first half is dropped.
 */
public final class Latency {
    private static final long LIMIT_NS = 30_000_000_000L;

    private Latency() { }

    public static void main(String[] words) throws IOException, InterruptedException, ExecutionException {
        WireSettings settings = WireSettings.defaults()
                .withTransports(WireSettings.Transports.valueOf(words[1].toUpperCase(Locale.ROOT)))
                .withIdling(Idling.valueOf(words[2].toUpperCase(Locale.ROOT).replace('-', '_')));
        try (Wire wire = Wire.open(settings, System.err::println)) {
            if (words[0].equals("serve")) serve(wire);
            else ask(wire, words);
        }
    }

    private static void serve(Wire wire) throws IOException {
        InetSocketAddress where = wire.listen(new InetSocketAddress("127.0.0.1", 0), Latency::answer);
        System.out.println("port " + where.getPort());
        System.in.transferTo(OutputStream.nullOutputStream());
    }

    /** An empty request asks for the nanoseconds of CPU time that this process has used. */
    private static void answer(Request request) {
        try {
            int size = request.data().remaining();
            Buffer answer = request.buffer(size == 0 ? Long.BYTES : size);
            if (size == 0) answer.data().putLong(cpuNs());
            else answer.data().put(request.data());
            request.respond(answer);
        } catch (WireException e) {
            request.fail(e.getMessage());
        }
    }

    private static void ask(Wire wire, String[] words) throws IOException, InterruptedException, ExecutionException {
        Connection connection = wire.connect(new InetSocketAddress("127.0.0.1", Integer.parseInt(words[3]))).get();
        long limitNs = Long.parseLong(words[4]) * 1_000_000;
        for (String word : Arrays.copyOfRange(words, 5, words.length)) {
            String[] pair = word.split(":");
            int size = Integer.parseInt(pair[0]);
            for (boolean chained : new boolean[] {true, false}) {
                long[] times = new long[Integer.parseInt(pair[1])];
                long cpu = cpuNs() + serversCpuNs(connection);
                long begun = System.nanoTime();
                int calls = chained ? chain(connection, size, times, begun + limitNs)
                        : each(connection, size, times, begun + limitNs);
                long wall = System.nanoTime() - begun;
                long used = cpuNs() + serversCpuNs(connection) - cpu;
                print(size, chained ? "chained" : "waiting", Arrays.copyOf(times, calls), wall, used);
            }
        }
    }

    /** @return how many calls were made */
    private static int each(Connection connection, int size, long[] times, long endNs)
            throws WireException, InterruptedException, ExecutionException {
        int calls = 0;
        while (calls < times.length && (calls < 2 || System.nanoTime() - endNs < 0)) {
            long begun = System.nanoTime();
            connection.request(request(connection, size), LIMIT_NS).get().close();
            times[calls++] = System.nanoTime() - begun;
        }
        return calls;
    }

    private static int chain(Connection connection, int size, long[] times, long endNs)
            throws InterruptedException, ExecutionException {
        CompletableFuture<Integer> end = new CompletableFuture<>();
        next(connection, size, times, endNs, 0, end);
        return end.get();
    }

    private static void next(Connection connection, int size, long[] times, long endNs, int i,
            CompletableFuture<Integer> end) {
        if (i == times.length || i >= 2 && System.nanoTime() - endNs >= 0) {
            end.complete(i);
            return;
        }
        try {
            long begun = System.nanoTime();
            connection.request(request(connection, size), LIMIT_NS).whenComplete((answer, failure) -> {
                if (failure != null) {
                    end.completeExceptionally(failure);
                    return;
                }
                answer.close();
                times[i] = System.nanoTime() - begun;
                next(connection, size, times, endNs, i + 1, end);
            });
        } catch (WireException e) {
            end.completeExceptionally(e);
        }
    }

    /** The memory is written once: as a caller that makes its message would. */
    private static Buffer request(Connection connection, int size) throws WireException {
        Buffer buffer = connection.buffer(size);
        buffer.data().put(0, PAYLOAD, 0, size);
        return buffer;
    }

    private static final byte[] PAYLOAD = new byte[1 << 21];

    private static long serversCpuNs(Connection connection) throws WireException, InterruptedException, ExecutionException {
        try (Message answer = connection.request(connection.buffer(0), LIMIT_NS).get()) {
            return answer.data().getLong();
        }
    }

    private static long cpuNs() {
        return ProcessHandle.current().info().totalCpuDuration().orElseThrow().toNanos();
    }

    private static void print(int size, String mode, long[] times, long wallNs, long cpuNs) {
        long[] kept = Arrays.copyOfRange(times, times.length / 2, times.length);
        Arrays.sort(kept);
        System.out.println(String.format(Locale.ROOT,
                "{\"size\": %d, \"mode\": \"%s\", \"calls\": %d, \"p50_us\": %.2f, \"p99_us\": %.2f, \"cpu_us\": %.2f,"
                        + " \"wall_us\": %.2f}",
                size, mode, times.length, kept[kept.length / 2] / 1e3, kept[kept.length * 99 / 100] / 1e3,
                cpuNs / 1e3 / times.length, wallNs / 1e3 / times.length));
    }
}
