import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.ipc.proto.GenericRefreshProtocolProtos.GenericRefreshProtocolService;
import org.apache.hadoop.ipc.proto.GenericRefreshProtocolProtos.GenericRefreshRequestProto;
import org.apache.hadoop.ipc.proto.GenericRefreshProtocolProtos.GenericRefreshResponseCollectionProto;
import org.apache.hadoop.ipc.proto.GenericRefreshProtocolProtos.GenericRefreshResponseProto;
import org.apache.hadoop.ipc.protocolPB.GenericRefreshProtocolPB;
import org.apache.hadoop.thirdparty.protobuf.BlockingService;

/**
 * Echoes over Hadoop's RPC with the engine of the configuration on the class path.
 *
 * <p>`serve`: prints the port, and ends with its standard input. `call PORT PID MS SIZE...`: for each
 * size, after 2,000 calls that are not counted, calls one after the other, for 2 x MS or 40,000
 * calls (-Dcalls=N: or N), the first half of which is dropped;
 * prints size, p50, p99 (us), calls, and the CPU time for each of both processes (us). `crowd PORT
 * MS`: 64 threads that call with 1 KB; prints calls a second.
 */
public final class HadoopRpc {
  private static final int MOST = Integer.getInteger("calls", 40_000);

  private HadoopRpc() {}

  public static void main(String[] words) throws Exception {
    switch (words[0]) {
      case "serve" -> serve();
      case "call" -> call(words);
      case "crowd" -> crowd(Integer.parseInt(words[1]), Long.parseLong(words[2]));
      default -> throw new IllegalArgumentException(words[0]);
    }
    System.exit(0);
  }

  private static void serve() throws IOException {
    BlockingService service =
        GenericRefreshProtocolService.newReflectiveBlockingService(
            (controller, request) ->
                GenericRefreshResponseCollectionProto.newBuilder()
                    .addResponses(
                        GenericRefreshResponseProto.newBuilder()
                            .setUserMessage(request.getIdentifier()))
                    .build());
    RPC.Server server =
        new RPC.Builder(new Configuration())
            .setProtocol(GenericRefreshProtocolPB.class)
            .setInstance(service)
            .setBindAddress("127.0.0.1")
            .setPort(0)
            .setNumHandlers(10)
            .build();
    server.start();
    System.out.println(server.getPort());
    while (System.in.read() >= 0) {}
    server.stop();
  }

  private static GenericRefreshProtocolPB proxy(int port) throws IOException {
    return RPC.getProxy(
        GenericRefreshProtocolPB.class,
        RPC.getProtocolVersion(GenericRefreshProtocolPB.class),
        new InetSocketAddress("127.0.0.1", port),
        new Configuration());
  }

  private static GenericRefreshRequestProto request(int size) {
    return GenericRefreshRequestProto.newBuilder().setIdentifier("x".repeat(size)).build();
  }

  private static void call(String[] words) throws Exception {
    GenericRefreshProtocolPB proxy = proxy(Integer.parseInt(words[1]));
    long limitNs = Long.parseLong(words[3]) * 1_000_000;
    for (int warm = 0; warm < 2000; warm++) {
      proxy.refresh(null, request(1));
    }
    for (String word : Arrays.asList(words).subList(4, words.length)) {
      int size = Integer.parseInt(word);
      GenericRefreshRequestProto request = request(size);
      double[] us = new double[MOST];
      double cpu = cpuSeconds("self") + cpuSeconds(words[2]);
      long began = System.nanoTime();
      int calls = 0;
      while (calls < MOST && (calls < 2 || System.nanoTime() - began < 2 * limitNs)) {
        long before = System.nanoTime();
        String answer = proxy.refresh(null, request).getResponses(0).getUserMessage();
        us[calls++] = (System.nanoTime() - before) / 1e3;
        if (answer.length() != size) throw new IOException("an answer of " + answer.length());
      }
      cpu = cpuSeconds("self") + cpuSeconds(words[2]) - cpu;
      double[] kept = Arrays.copyOfRange(us, calls / 2, calls);
      Arrays.sort(kept);
      double p99 = kept[(int) (kept.length * 0.99)];
      System.out.printf(
          "%d %.2f %.2f %d %.1f%n", size, kept[kept.length / 2], p99, calls, cpu * 1e6 / calls);
    }
  }

  /** proc(5): utime and stime, in ticks of 10 ms. */
  private static double cpuSeconds(String pid) throws IOException {
    String stat = Files.readString(Path.of("/proc", pid, "stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / 100.0;
  }

  private static void crowd(int port, long milliseconds) throws Exception {
    GenericRefreshProtocolPB proxy = proxy(port);
    GenericRefreshRequestProto request = request(1024);
    LongAdder calls = new LongAdder();
    CountDownLatch ended = new CountDownLatch(64);
    long[] over = {Long.MAX_VALUE};
    for (int number = 0; number < 64; number++) {
      Thread caller =
          new Thread(
              () -> {
                try {
                  while (System.nanoTime() < over[0]) {
                    proxy.refresh(null, request);
                    calls.increment();
                  }
                } catch (Exception e) {
                  e.printStackTrace();
                  System.exit(1);
                }
                ended.countDown();
              });
      caller.start();
    }
    Thread.sleep(milliseconds); // warm
    long before = calls.sum();
    long began = System.nanoTime();
    Thread.sleep(milliseconds);
    System.out.printf("%.0f%n", (calls.sum() - before) / ((System.nanoTime() - began) / 1e9));
    System.exit(0);
  }
}
