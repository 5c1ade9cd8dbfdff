import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.SparkFiles;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.serializer.KryoRegistrator;
import scala.Tuple2;

/** What everything.py needs in the JVM: a listener, a registrator, a plugin, and tasks that look around. */
public class Checks {
  private static final List<String> EVENTS = Collections.synchronizedList(new ArrayList<>());

  public static String events() {
    return String.join("\n", EVENTS);
  }

  /** Records what the listener hears of executors. */
  public static class Watcher extends SparkListener {
    @Override
    public void onExecutorAdded(SparkListenerExecutorAdded event) {
      var executor = event.executorInfo();
      String place = executor.attributes().get("HEARTH_PLACE").getOrElse(() -> "?");
      EVENTS.add(
          String.join(
              "|",
              "added",
              event.executorId(),
              executor.executorHost(),
              "" + executor.totalCores(),
              place));
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
      EVENTS.add("removed|" + event.executorId() + "|" + event.reason().split("\n")[0]);
    }
  }

  /** No Java serialisation: only the registrator's serializer says how it came. */
  public static class Point {
    final int x;
    final String by;

    Point(int x, String by) {
      this.x = x;
      this.by = by;
    }
  }

  public static class Registrator implements KryoRegistrator {
    @Override
    public void registerClasses(Kryo kryo) {
      kryo.register(
          Point.class,
          new Serializer<Point>() {
            @Override
            public void write(Kryo k, Output out, Point point) {
              out.writeInt(point.x);
            }

            @Override
            public Point read(Kryo k, Input in, Class<Point> type) {
              return new Point(in.readInt(), "registrator");
            }
          });
    }
  }

  /** Gives the application memory outside the heap, before anybody has read its settings. */
  public static class Plugin implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
      return new DriverPlugin() {
        @Override
        public Map<String, String> init(SparkContext sc, PluginContext context) {
          context.conf().set("spark.memory.offHeap.enabled", "true");
          context.conf().set("spark.memory.offHeap.size", "64m");
          return Map.of("from", "the driver's plugin");
        }
      };
    }

    @Override
    public ExecutorPlugin executorPlugin() {
      return new ExecutorPlugin() {
        @Override
        public void init(PluginContext context, Map<String, String> extra) {
          System.setProperty("checks.plugin", extra.get("from"));
        }
      };
    }
  }

  /** What each of some tasks finds in its executor: fields separated by bars, a line each. */
  public static String inTasks(JavaSparkContext sc) {
    return String.join(
        "\n", sc.parallelize(Arrays.asList(1, 2, 3, 4, 5, 6), 6).map(n -> found()).collect());
  }

  private static String found() throws Exception {
    Thread.sleep(700);
    SparkEnv env = SparkEnv.get();
    var gpu = TaskContext.get().resources().get("gpu");
    return String.join(
        "|",
        env.executorId(),
        env.conf().get("spark.executor.id", "none"),
        env.blockManager().blockManagerId().host(),
        "" + ProcessHandle.current().pid(),
        gpu.isEmpty() ? "none" : String.join(",", gpu.get().addresses()),
        "" + (env.memoryManager().maxOffHeapStorageMemory() >> 20),
        System.getProperty("checks.plugin"),
        Files.readString(Path.of(SparkFiles.get("notes.txt"))).trim(),
        onClassPath(),
        late());
  }

  private static String onClassPath() throws Exception {
    try (InputStream in = ClassLoader.getSystemResourceAsStream("only-on-executors.txt")) {
      return in == null ? "missing" : new String(in.readAllBytes()).trim();
    }
  }

  private static String late() throws Exception {
    Class<?> late = Class.forName("Late", true, Thread.currentThread().getContextClassLoader());
    return late.getMethod("word").invoke(null).toString();
  }

  /** How points of a shuffle came back. */
  public static String kryo(JavaSparkContext sc) {
    var points =
        sc.parallelize(Arrays.asList(1, 2, 3, 4), 2)
            .mapToPair(n -> new Tuple2<>(n, new Point(n, "constructor")))
            .repartition(2)
            .map(pair -> pair._2().x + " " + pair._2().by)
            .collect();
    List<String> sorted = new ArrayList<>(points);
    Collections.sort(sorted);
    return String.join(", ", sorted);
  }
}
